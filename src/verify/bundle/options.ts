/** @module What a reader brings along to check a bundle with. */
import type { KeyObject } from 'node:crypto'

export interface RunKeyFile {
  readonly stream: string
  readonly keys: readonly { readonly kid: string; readonly key: string }[]
}

export interface BundleOptions {
  /** Verifier key of the log, or what says it of the one in the bundle; undefined: the one in the bundle, which authenticates nothing. */
  readonly key?: string | ((bundled: string) => string | undefined) | undefined
  /** All verifier keys that the reader has; of one log in the order in which they followed each other. */
  readonly pinned?: readonly string[] | undefined
  /** Signed notes by which the reader knows which key followed which, and when. */
  readonly successions?: readonly string[] | undefined
  /** Text of a checkpoint that was kept. */
  readonly checkpoint?: string | undefined
  /** Verifier keys of witnesses (C2SP cosignatures). */
  readonly witnesses?: readonly string[] | undefined
  /** How many of them must have cosigned; all of them by default. */
  readonly quorum?: number | undefined
  readonly runKey?: RunKeyFile | undefined
  /** Takes the time-stamped text and the authority's answer, which fit each other: whether the signature does is not checked here. */
  readonly onTimestamp?: (stamp: { readonly text: Uint8Array; readonly reply: Uint8Array }) => void
  /** Instead of `runKey`: undefined where nothing is to be checked, null where there must be a key and is none. */
  readonly keyFor?: (header: {
    readonly kid: string
    readonly tenant: string
    readonly stream: string
  }) => KeyObject | Uint8Array | null | undefined
}
