/** @module What is found in a bundle, and how bad it is. */
import type { BundlePredicate, BundleProof, BundleQuery } from './predicate.ts'

/** The worst that was found. */
export type BundleWord = FaultWord | 'VERIFIED'
export type FaultWord = 'CONSISTENT, NOT AUTHENTICATED' | 'UNVERIFIABLE' | 'INCOMPLETE' | 'TAMPERED'

export interface BundleFault {
  readonly verdict: FaultWord
  readonly code: string
  readonly message: string
}

/** Takes what is wrong. */
export type Fail = (verdict: FaultWord, code: string, message: string) => void

/** What is found so far. */
export interface Found {
  verdict: BundleWord
  faults: BundleFault[]
  notes: string[]
  events: number
  leaves: number
  /** Events that answer the whole query. */
  matching: number
  /** Events that name a large value, and of these such whose value is here as it was named. */
  named: number
  values: number
  macs: number
  witnesses: { readonly name: string; readonly key: string; readonly seconds: number }[]
  keyGiven?: boolean
  /** What shows that nothing was left out; absent where the manifest could not be read. */
  proof?: BundleProof
  /** What the verdict is about; absent where the manifest could not be read. */
  about?: About
}

export interface About {
  readonly log: string
  readonly key: string
  readonly ledgerId: string
  readonly tenant: string
  readonly query: BundleQuery
  readonly size: number
  readonly root: string
  readonly exportedBy: BundlePredicate['exportedBy']
  readonly time: string
  readonly exportId: string
  /** Size of the checkpoint that was kept. */
  kept?: number
  /** Times of the first and the last event. */
  period?: readonly [first: string, last: string] | undefined
  answer?: NonNullable<BundlePredicate['answer']>
  /** The key that follows the one of the bundle, since when, and what shows that the checkpoint is of before. */
  succession?: { readonly by: string; readonly time?: string; readonly shownBy: string[] }
  /** `signedBy`: only where somebody checked the signature, too. */
  timestamp?: { readonly size: number; readonly time: string; signedBy?: string }
}

/** What was found in a bundle. */
export type BundleVerdict = Readonly<Found>

export const CONSISTENT = 'CONSISTENT, NOT AUTHENTICATED'
export const SEVERITY: readonly BundleWord[] = ['VERIFIED', CONSISTENT, 'UNVERIFIABLE', 'INCOMPLETE', 'TAMPERED']

/** Nothing behind this can be checked. */
export class Stop extends Error {
  declare readonly verdict: FaultWord
  declare readonly code: string

  constructor(verdict: FaultWord, code: string, message: string) {
    super(message)
    Object.assign(this, { verdict, code })
  }
}
