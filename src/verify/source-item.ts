/** @module Items that sources pass to a verification: records, results of earlier checks, and faults. */
import type { ArchivePlace, RecordBytes } from '../../schemas/header.ts'
import type { VerifyFault } from './fault.ts'

/** A record as stored or exported; `stream`, `revision` and `requestId` are the store's own columns. */
export interface PlacedRecord {
  readonly stream: string
  readonly revision: number
  readonly header: string
  readonly salt: Uint8Array
  readonly data: string
  /** Where salt and body came from, if they are not in the store. */
  readonly archive?: ArchivePlace
  /** The same record as bytes, if it was read in that form. */
  readonly bytes?: RecordBytes
  /** Absent in exports. */
  readonly position?: string
  readonly requestId?: string | undefined
  /** Whether place and request id are columns of a store, next to the header; otherwise they come from the header. */
  readonly hasColumns?: boolean
  /** Whether its neighbours were left out on purpose, as in the answer to a query: its place and seal are checked, but not its links. */
  readonly alone?: boolean
  /** Whether it comes from a part of a log: its stream may have begun before the part. */
  readonly inPart?: boolean
}

/** Facts about a sound record: its seal is valid for its place, its type is known and its body valid; its link to the previous event is not judged yet. */
export interface SoundFacts {
  readonly stream: string
  readonly revision: number
  readonly tenant: string
  readonly id: string
  readonly time: string
  /** Whether its writer's clock was behind. */
  readonly behindClock: boolean
  readonly ringIndex: number
  readonly prev: string | undefined
  readonly digest: string
}

/** Consecutive sound records of one stream: what the first one continues, and what the next one must continue. */
export interface SoundLink {
  readonly stream: string
  readonly tenant: string
  readonly events: number
  /** Number of these events whose writer's clock was behind. */
  readonly behindClock: number
  /** Members of the first record. */
  readonly revision: number
  readonly prev: string | undefined
  readonly time: string
  readonly ringIndex: number
  /** Members of the last record. Ring indexes never decrease in between. */
  readonly lastTime: string
  readonly lastRingIndex: number
  readonly digest: string
}

/** Sound records at consecutive positions, which continue one another within these rows. */
export interface SoundRows {
  readonly sound: true
  /** Position of the first record. */
  readonly position: number
  readonly count: number
  readonly links: readonly SoundLink[]
  /** For each record, the index of its link. */
  readonly places: Uint32Array
  /** For each record, 32 bytes. */
  readonly digests: Uint8Array
  /** For each record, the 36 characters of its id. */
  readonly ids: Uint8Array
  /** Reads each record again from the store, for cases in which these facts do not suffice. */
  readonly reread: () => Iterable<PlacedRecord | SourceFault>
}

/** A fault that the source itself found in place of a record. If it has a place, the record there counts as seen. */
export interface SourceFault {
  readonly fault: VerifyFault
}

export type SourceItem = PlacedRecord | SourceFault | SoundRows
export type SourcePages = AsyncIterable<readonly SourceItem[]> | Iterable<readonly SourceItem[]>
