/** @module The faults that a verification can find, and their verdicts (LOG-18). */
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
  /** Events of a stream are missing before a later one. */
  | 'missing'
  /** Events are missing, and no later event of their streams shows which. */
  | 'position-gap'
  /** Events are missing at the end of a store that records the end of its last append. */
  | 'end-missing'
  | 'position-order'
  /** The writers' attestations for groups of events in a PostgreSQL store are missing or altered, or the events differ from them. */
  | 'group-notes'
  | 'out-of-order'
  | 'request-column'
  /** Data that a server shows next to the header differs from the header. */
  | 'metadata-copy'
  /** The server deleted a stream, or has a limit that allows it to drop events of the stream. */
  | 'server-forgets'
  | 'duplicate-id'
  | 'first-event'
  | 'key-rotation'
  /** A subject's key is missing, and no recorded erasure names it. */
  | 'erasure-unrecorded'
  /** A key is missing after a recorded erasure request, but its destruction is not recorded: a crash came between. */
  | 'erasure-unfinished'
  /** An erasure is recorded, but the key still exists. */
  | 'erasure-undone'
  /** A row says that its body is in an archive, and no recorded archive names it. */
  | 'archive-unrecorded'
  /** Like `archive-unrecorded`, but an event that may have been that record is acknowledged as lost. */
  | 'archive-record-lost'
  | 'key-not-announced'
  /** An event follows the one that recorded the disclosure of its run's keys. */
  | 'after-disclosure'
  | 'founding-event'
  | 'foreign-verifier-key'
  | 'stream-without-events'
  | 'stream-row-missing'
  | 'row-type'
  | 'not-utf8'
  | 'schema-altered'
  /** The protection of the events in a PostgreSQL store differs from what this build creates: the existing events may be sound, but the end may be missing. */
  | 'protection-altered'
  | 'structure'
  /** The store's WAL contains complete frames that can no longer be read. */
  | 'wal-damaged'
  | 'unreadable'
  | 'empty'
  | 'unknown-type'
  | 'body-version'
  | 'body-schema'
  /** Sealed with a key that the ledger announced but the supplied ring lacks: the key file is an older copy. */
  | 'key-missing'
  /** No event was sealed with the supplied keys. */
  | 'foreign-keys'
  | 'no-keys'
  | 'line-not-json'
  | 'line-not-canonical'
  | 'no-trailer'
  | 'trailer-count'
  | 'trailer-digest'
  | 'trailer-scope'
  /** The hashes in the head of a part do not yield the tree that it names. */
  | 'part-head'
  /** Leaves are missing between parts that were checked together. */
  | 'part-gap'
  /** Parts that were checked together have leaves in common. */
  | 'part-overlap'
  /** The files that were checked together are not all parts of one log. */
  | 'part-scope'
  /** A part continues a different tree than the one that the previous part ended with. */
  | 'part-root'
  /** The trailer's signature is not by the log's key. */
  | 'trailer-signature'
  /** The events are sound, but nothing proves that they are complete. */
  | 'completeness-unproven'
  /** A tenant's export yields a different tree than its trailer names. */
  | 'trailer-root'
  /** The ledger itself states events that are lost, or that can no longer be proved. */
  | 'losses'
  /** An event is permanently missing or damaged, and a recorded acknowledgement says so. */
  | 'loss-acknowledged'
  /** An acknowledgement of a loss names a different event than the one at that place. */
  | 'acknowledged-other'
  /** The format contains nothing that can be checked against a seal. */
  | 'view'
  | 'after-trailer'
  /** A large value that an event names is missing or altered. */
  | 'value-missing'
  | 'value-altered'
  /** A recorded checkpoint is not the log's, or does not match the events before it. */
  | 'recorded-checkpoint'
  /** The file of checkpoints next to the store is damaged or altered. */
  | 'kept-checkpoint'
  /** A checkpoint next to the store is not signed with the supplied keys. */
  | 'kept-checkpoint-key'
  /** The store lacks an event that a file next to it has recorded as seen. */
  | 'seen-beside'
  /** There are fewer events than a checkpoint covers. */
  | 'log-behind-checkpoint'
  /** The events differ from those that a checkpoint covers. */
  | 'checkpoint-mismatch'

/** Faults that are not listed here mean TAMPERED: an attacker must not be able to get a milder verdict by the way in which a record is altered. */
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
  'archive-missing': 'INCOMPLETE',
  'archive-record-lost': 'INCOMPLETE',
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
