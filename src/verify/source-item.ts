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

/** Sealed for the place where it stands, of a known type, its body within the rules; what it continues is still to be judged. */
export interface SoundFacts {
  readonly stream: string
  readonly revision: number
  readonly position: string
  readonly tenant: string
  readonly id: string
  readonly time: string
  /** Its writer's clock was behind. */
  readonly behindClock: boolean
  readonly ringIndex: number
  readonly prev: string | undefined
  readonly digest: string
}

/** What the source itself found wrong where a record should be. With a place, the record there counts as seen. */
export interface SourceFault {
  readonly fault: VerifyFault
}

/** A record that was looked at before, and how to come by it where that does not suffice. */
export interface SoundRecord extends SoundFacts {
  readonly sound: true
  readonly reread: () => PlacedRecord | SourceFault
}

export type SourceItem = PlacedRecord | SourceFault | SoundRecord
export type SourcePages = AsyncIterable<readonly SourceItem[]> | Iterable<readonly SourceItem[]>
