/** @module `verify.mjs`, which stands by itself in every bundle, with its types: the ledger says what the bundle says of itself. */
import type { KeyObject } from 'node:crypto'

export interface BundleFault {
  readonly verdict: 'TAMPERED' | 'INCOMPLETE' | 'UNVERIFIABLE'
  readonly code: string
  readonly message: string
}

export interface RunKeyFile {
  readonly stream: string
  readonly keys: readonly { readonly kid: string; readonly key: string }[]
}

export interface BundleOptions {
  /** Verifier key of the log, or what says it of the one in the bundle; undefined: the one in the bundle. */
  readonly key?: string | ((bundled: string) => string | undefined) | undefined
  /** Text of a checkpoint that was kept. */
  readonly checkpoint?: string | undefined
  readonly runKey?: RunKeyFile | undefined
  /** Instead of `runKey`: undefined where nothing is to be checked, null where there must be a key and is none. */
  readonly keyFor?: (header: {
    readonly kid: string
    readonly tenant: string
    readonly stream: string
  }) => KeyObject | null | undefined
}

export interface BundleVerdict {
  readonly verdict: 'VERIFIED' | BundleFault['verdict']
  readonly faults: readonly BundleFault[]
  readonly notes: readonly string[]
  readonly events: number
  readonly leaves: number
  /** Events that answer the whole query. */
  readonly matching: number
  readonly keyGiven?: boolean
}

type VerifyBundle = (path: string, options?: BundleOptions) => BundleVerdict

/** Reads the bundle at once and synchronously. Throws for what the system says of the path, never for what the bundle holds. */
export const { verifyBundle } = (await import(new URL('./verify.mjs', import.meta.url).href)) as {
  readonly verifyBundle: VerifyBundle
}
