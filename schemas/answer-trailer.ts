/**
 * @module The trailer of an exported answer: the question, the size of the log, the number of rows and the recipient, signed with the key
 * of the tenant's log. It attests what the ledger answered, not that no other event matches the question.
 */
import { z } from 'zod'
import { EventQuery } from './event-query.ts'
import type { JsonObject } from './json.ts'
import { Losses } from './loss-schema.ts'
import { Digest } from './names.ts'

/** DSSE payload type; it keeps any other signature of the log's key from being valid for an answer trailer. */
export const ANSWER_PAYLOAD_TYPE = 'application/vnd.countersign.answer-trailer+json'

const NAME_MAX_CHARS = 1_024

/** Parts that no search covers: large values, which are stored outside the events and named there by digest, and encrypted values. */
export const NOT_SEARCHED: readonly string[] = ['large-values', 'encrypted-values']

/** The question. Its period is `since` and `until` of the filter. */
export const AnswerQuestion = z.strictObject({
  query: z.string().max(NAME_MAX_CHARS),
  filter: EventQuery,
  /** For the query `spend` only. */
  by: z.string().max(NAME_MAX_CHARS).optional(),
  /** For the query `sample` only. */
  seed: z.string().max(NAME_MAX_CHARS).optional(),
  order: z.enum(['asc', 'desc']).optional(),
  /** For a text search: version of the rule by which texts are searched; absent for the first rule. */
  words: z.literal(2).optional(),
  /** For `spend`: rows say which part was reported and which was estimated; absent in answers of earlier versions. */
  estimates: z.literal(true).optional(),
  /** For `open-calls`: version of the rule by which calls are open and in doubt; absent for the first rule, by which a call that is being undone is open, and one of a model may be in doubt. */
  doubts: z.literal(2).optional(),
  /** For a bundle: the answer covers this many leading events of its log. For a file, `treeSize` states this. */
  asOf: z.int().min(0).optional(),
})

export const AnswerTrailer = z.strictObject({
  /** Version 2 names losses. */
  v: z.union([z.literal(1), z.literal(2)]),
  ledgerId: z.string(),
  tenant: z.string(),
  question: AnswerQuestion,
  rows: z.int().min(0),
  /** Over all bytes of the preceding lines, including their line feeds. */
  digest: Digest,
  /** Id of the last event that the answer takes into account; null in an empty log. */
  asOf: z.string().nullable(),
  /** Number of leaves of the log that the answer covers, followed by their root. */
  treeSize: z.int().min(0),
  root: Digest,
  /**
   * Basis of the rows. `events`: the events of the log, each read and checked by its seal and its leaf. `sealed-index`: an index under a
   * MAC of the ledger. `word-index`, in files of earlier versions: a word index decided which events were found. `ledger-record`: the
   * ledger's own record, which is in no log of the tenant; `asOf`, `treeSize` and `root` then give the state of the tenant's log.
   */
  restsOn: z.enum(['events', 'sealed-index', 'word-index', 'ledger-record']),
  /** For a search: the parts that were not searched. */
  notSearched: z.array(z.string().max(NAME_MAX_CHARS)).max(20).optional(),
  exportedBy: z.strictObject({
    actor: z.string(),
    principal: z.string().optional(),
    via: z.array(z.string()).optional(),
  }),
  /** RFC 3339. */
  time: z.string(),
  /** Parts of the question's events that are lost or cannot be proven, so that rows may be missing. */
  losses: Losses.optional(),
  signature: z.strictObject({
    /** `<name of the log>+<8 hex digits>`, the form in which signed notes name a key. */
    key: z.string().max(NAME_MAX_CHARS),
    type: z.literal(ANSWER_PAYLOAD_TYPE),
    sig: z.string().regex(/^[A-Za-z0-9+/]{86}==$/),
  }),
})

export type AnswerQuestion = z.infer<typeof AnswerQuestion>
export type AnswerTrailer = z.infer<typeof AnswerTrailer>
export type AnswerFacts = Omit<AnswerTrailer, 'signature'>

/** The signed text: JSON without spaces, members in the order of the file. */
export function signedAnswerText(facts: AnswerFacts | AnswerTrailer): string {
  const { signature: _, ...signed } = facts as AnswerFacts & { readonly signature?: unknown }
  return JSON.stringify(signed)
}

/** The first line of an answer in JSONL. */
export function answerHead(question: AnswerQuestion): string {
  return `${JSON.stringify({ answer: question } as unknown as JsonObject)}\n`
}
