/** @module What a verification can find, and what it means for the verdict (LOG-18). */
import type { FaultCode as RecordFaultCode } from '../signing/check.ts'

export type Verdict = 'VERIFIED' | 'TAMPERED' | 'INCOMPLETE' | 'UNVERIFIABLE'

export const VERDICT_EXIT_CODES = {
  VERIFIED: 0,
  TAMPERED: 1,
  INCOMPLETE: 3,
  UNVERIFIABLE: 3,
} as const satisfies Record<Verdict, number>

export type VerifyFaultCode =
  | RecordFaultCode
  /** Events of a stream are gone, with later ones of it there. */
  | 'missing'
  /** Events are gone, and no later event of their streams says which. */
  | 'position-gap'
  /** Events are gone from the end of a store that says where its last append ended. */
  | 'end-missing'
  | 'position-order'
  /** What the writers of a store on PostgreSQL attest of their groups of events is gone or altered, or other events lie there. */
  | 'group-notes'
  | 'out-of-order'
  | 'request-column'
  /** What a server shows beside the header differs from it. */
  | 'metadata-copy'
  /** The server deleted a stream, or holds a limit that lets it drop events of it. */
  | 'server-forgets'
  | 'duplicate-id'
  | 'first-event'
  | 'key-rotation'
  /** A key of a subject is gone, and no erasure on record names it. */
  | 'erasure-unrecorded'
  /** A key is gone on a request that is on record, and that it is gone is not: a crash came between. */
  | 'erasure-unfinished'
  /** An erasure is on record, and the key is there. */
  | 'erasure-undone'
  | 'key-not-announced'
  /** Stands behind the event that put the disclosure of its run's keys on record. */
  | 'after-disclosure'
  | 'founding-event'
  | 'foreign-verifier-key'
  | 'stream-without-events'
  | 'stream-row-missing'
  | 'row-type'
  | 'not-utf8'
  | 'schema-altered'
  /** What protects the events of a store on PostgreSQL is not as this build makes it: all that is there may be whole, and an end may be gone. */
  | 'protection-altered'
  | 'structure'
  /** The store's log holds whole frames that cannot be read any more. */
  | 'wal-damaged'
  | 'unreadable'
  | 'empty'
  | 'unknown-type'
  | 'body-version'
  | 'body-schema'
  /** Sealed with a key that the ledger announced and the supplied ring lacks: an older copy of the key file. */
  | 'key-missing'
  /** No event at all was sealed with the supplied keys. */
  | 'foreign-keys'
  | 'no-keys'
  | 'line-not-json'
  | 'line-not-canonical'
  | 'no-trailer'
  | 'trailer-count'
  | 'trailer-digest'
  | 'trailer-scope'
  /** A part of the log begins with a tree that its own hashes do not make. */
  | 'part-head'
  /** Parts that were checked together leave out leaves between them. */
  | 'part-gap'
  /** Parts that were checked together have leaves in common. */
  | 'part-overlap'
  /** What was checked together is not all of one log. */
  | 'part-scope'
  /** A part goes on from another tree than the one before it ended with. */
  | 'part-root'
  /** The trailer's signature is not that of the log's key. */
  | 'trailer-signature'
  /** Sound as far as it goes, and nothing shows that it is all there is. */
  | 'completeness-unproven'
  /** A tenant's export makes another tree than its trailer names. */
  | 'trailer-root'
  /** The ledger itself says what is lost, or cannot be proven any more. */
  | 'losses'
  /** An event is gone or damaged for good, and the ledger says so on record. */
  | 'loss-acknowledged'
  /** An acknowledgement of a loss names another event than lies there. */
  | 'acknowledged-other'
  /** A format that holds nothing which verify could check against a seal. */
  | 'view'
  | 'after-trailer'
  /** A large value that an event names is gone, or is another than it was. */
  | 'value-missing'
  | 'value-altered'
  /** A checkpoint on record is not the log's, or not of the events before it. */
  | 'recorded-checkpoint'
  /** The file of checkpoints beside the store is damaged or altered. */
  | 'kept-checkpoint'
  /** A checkpoint beside the store is not signed with the supplied keys. */
  | 'kept-checkpoint-key'
  /** The store lacks an event that a file beside it has seen in it. */
  | 'seen-beside'
  /** Fewer events than a checkpoint covers. */
  | 'log-behind-checkpoint'
  /** Other events than a checkpoint covers. */
  | 'checkpoint-mismatch'

/** Faults not named here mean TAMPERED: whoever alters a record must not choose a milder word by how it is altered. */
const MILDER: Readonly<Partial<Record<VerifyFaultCode, Verdict>>> = {
  unreadable: 'INCOMPLETE',
  'wal-damaged': 'INCOMPLETE',
  empty: 'INCOMPLETE',
  'server-forgets': 'INCOMPLETE',
  'protection-altered': 'INCOMPLETE',
  'no-trailer': 'INCOMPLETE',
  'log-behind-checkpoint': 'INCOMPLETE',
  'seen-beside': 'INCOMPLETE',
  'end-missing': 'INCOMPLETE',
  'completeness-unproven': 'INCOMPLETE',
  losses: 'INCOMPLETE',
  'loss-acknowledged': 'INCOMPLETE',
  'part-gap': 'INCOMPLETE',
  'part-overlap': 'INCOMPLETE',
  'part-scope': 'INCOMPLETE',
  'unknown-type': 'UNVERIFIABLE',
  'body-version': 'UNVERIFIABLE',
  'body-schema': 'UNVERIFIABLE',
  'erasure-undone': 'INCOMPLETE',
  'erasure-unfinished': 'INCOMPLETE',
  'key-missing': 'UNVERIFIABLE',
  'foreign-keys': 'UNVERIFIABLE',
  'foreign-verifier-key': 'UNVERIFIABLE',
  'no-keys': 'UNVERIFIABLE',
  'kept-checkpoint-key': 'UNVERIFIABLE',
  view: 'UNVERIFIABLE',
}

export interface VerifyFault {
  readonly code: VerifyFaultCode
  readonly message: string
  readonly stream?: string
  readonly revision?: number
  readonly position?: string
  readonly eventId?: string
}

export function verdictOf(code: VerifyFaultCode): Verdict {
  return MILDER[code] ?? 'TAMPERED'
}

const SEVERITY: readonly Verdict[] = ['VERIFIED', 'UNVERIFIABLE', 'INCOMPLETE', 'TAMPERED']

export function worse(a: Verdict, b: Verdict): Verdict {
  return SEVERITY.indexOf(a) >= SEVERITY.indexOf(b) ? a : b
}
