/** @module The manifest of a bundle: an in-toto Statement whose subjects are the bundle's files, signed as a DSSE envelope. */
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { BundleFile } from './bundle-file.ts'

export const STATEMENT_PAYLOAD_TYPE = 'application/vnd.in-toto+json'
const STATEMENT_TYPE = 'https://in-toto.io/Statement/v1'
/** Known to `verify.mjs`; another version has another name. */
const PREDICATE_TYPES = {
  /** Completeness rests on the headers of the whole log. */
  log: 'urn:countersign:evidence-bundle:v1',
  /** On the tree of streams that the checkpoint names. */
  stream: 'urn:countersign:evidence-bundle:v2',
} as const
/** On the headers of the whole log; its rows are the answer to a question. */
const OF_ANSWER = 'urn:countersign:evidence-bundle:v3'

/** What shows that nothing was left out of a bundle. */
export type BundleProof = keyof typeof PREDICATE_TYPES

/** `also`: events of these types besides, whatever else is asked: what the rows of an answer follow from. */
export type BundleQuery = EventQuery & { readonly also?: readonly string[] }

export interface BundlePredicate {
  readonly exportId: string
  readonly ledgerId: string
  /** Name of the log and of its key. */
  readonly origin: string
  readonly tenant: string
  /** What was requested. */
  readonly query: BundleQuery
  /** The part of it that headers answer: every event of the log that fits it is in the bundle. */
  readonly complete: BundleQuery
  readonly exportedBy: { readonly actor: string; readonly principal?: string; readonly via?: readonly string[] }
  /** RFC 3339. */
  readonly time: string
  readonly timeZone: 'UTC'
  readonly checkpoint: { readonly size: number; readonly root: string }
  readonly counts: { readonly events: number; readonly matching: number; readonly leaves: number }
  /** Which events have a proof file of their own; the headers of the whole log prove every one. */
  readonly proofs: 'every event' | 'first and last event' | 'none'
  /** Of the answer to an auditors' question. */
  readonly answer?: { readonly question: AnswerQuestion; readonly rows: number }
}

/** The text that is signed. It does not end in a line feed. */
export function statementText(
  files: readonly BundleFile[],
  predicate: BundlePredicate,
  proof: BundleProof = 'log',
): string {
  const subject = files.map(({ name, sha256 }) => ({ name, digest: { sha256 } }))
  const predicateType = predicate.answer === undefined ? PREDICATE_TYPES[proof] : OF_ANSWER
  const statement = { _type: STATEMENT_TYPE, subject, predicateType, predicate }
  return JSON.stringify(statement, null, 2)
}
