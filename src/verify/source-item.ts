/** @module What sources of records hand over to be verified: records, what was found of them before, and faults. */
import type { RecordBytes } from '../../schemas/header.ts'
import type { VerifyFault } from './fault.ts'

/** A record as a store or an export holds it; `stream`, `revision` and `requestId` are the store's own columns. */
export interface PlacedRecord {
  readonly stream: string
  readonly revision: number
  readonly header: string
  readonly salt: Uint8Array
  readonly data: string
  /** The same as bytes, where it was read so. */
  readonly bytes?: RecordBytes
  /** Absent in exports. */
  readonly position?: string
  readonly requestId?: string | undefined
  /** Place and request id are columns of a store, beside the header; else they are the header's own. */
  readonly hasColumns?: boolean
  /** Its neighbours were left out on purpose, as in the answer to a query: its place and seal are checked, its links are not. */
  readonly alone?: boolean
  /** Of a part of a log: its stream may have begun before it. */
  readonly inPart?: boolean
}

/** Of one record: sealed for the place where it stands, of a known type, its body within the rules; what it continues is still to be judged. */
export interface SoundFacts {
  readonly stream: string
  readonly revision: number
  readonly tenant: string
  readonly id: string
  readonly time: string
  /** Its writer's clock was behind. */
  readonly behindClock: boolean
  readonly ringIndex: number
  readonly prev: string | undefined
  readonly digest: string
}

/** Sound records of one stream, each of which continues the one before it: what they continue, and what the next one is held to. */
export interface SoundLink {
  readonly stream: string
  readonly tenant: string
  readonly events: number
  /** Of them, those whose writer's clock was behind. */
  readonly behindClock: number
  /** Of the first. */
  readonly revision: number
  readonly prev: string | undefined
  readonly time: string
  readonly ringIndex: number
  /** Of the last. Ring indexes never fall in between. */
  readonly lastTime: string
  readonly lastRingIndex: number
  readonly digest: string
}

/** Records at positions without a gap that are sound, and follow one another within these. */
export interface SoundRows {
  readonly sound: true
  /** Of the first. */
  readonly position: number
  readonly count: number
  readonly links: readonly SoundLink[]
  /** Of each record: place of its link. */
  readonly places: Uint32Array
  /** Of each record: 32 bytes. */
  readonly digests: Uint8Array
  /** Of each record: the 36 characters of its id. */
  readonly ids: Uint8Array
  /** Each as it lies there, where what was looked at does not suffice. */
  readonly reread: () => Iterable<PlacedRecord | SourceFault>
}

/** What the source itself found wrong where a record should be. With a place, the record there counts as seen. */
export interface SourceFault {
  readonly fault: VerifyFault
}

export type SourceItem = PlacedRecord | SourceFault | SoundRows
export type SourcePages = AsyncIterable<readonly SourceItem[]> | Iterable<readonly SourceItem[]>
