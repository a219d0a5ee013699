/**
 * @module The trailer of an exported answer: which question it answers, as of which size of the log, how many rows it has, and who was given
 * it, under the key of the tenant's log. It says what the ledger answered, not that no other event would answer it.
 */
import { z } from 'zod'
import { EventQuery } from './event-query.ts'
import type { JsonObject } from './json.ts'
import { Losses } from './loss-schema.ts'
import { Digest } from './names.ts'

/** DSSE payload type: no other signature of the log's key is ever good for such a trailer. */
export const ANSWER_PAYLOAD_TYPE = 'application/vnd.countersign.answer-trailer+json'

const NAME_MAX_CHARS = 1_024

/** What no search looks into: values that are kept beside the events, which name them by their digests, and values that are encrypted. */
export const NOT_SEARCHED: readonly string[] = ['large-values', 'encrypted-values']

/** What was asked. The period is `since` and `until` of the filter. */
export const AnswerQuestion = z.strictObject({
  query: z.string().max(NAME_MAX_CHARS),
  filter: EventQuery,
  /** Of `spend` alone. */
  by: z.string().max(NAME_MAX_CHARS).optional(),
  /** Of `sample` alone. */
  seed: z.string().max(NAME_MAX_CHARS).optional(),
  order: z.enum(['asc', 'desc']).optional(),
  /** Of a search: the rule by which texts are searched, since the second one. */
  words: z.literal(2).optional(),
  /** Of a bundle: the answer is that of the first so many events of its log. Of a file, `treeSize` says so. */
  asOf: z.int().min(0).optional(),
})

export const AnswerTrailer = z.strictObject({
  /** 2: it names losses. */
  v: z.union([z.literal(1), z.literal(2)]),
  ledgerId: z.string(),
  tenant: z.string(),
  question: AnswerQuestion,
  rows: z.int().min(0),
  /** Over all bytes of the lines before, their line feeds included. */
  digest: Digest,
  /** Id of the last event that the answer takes into account; null in an empty log. */
  asOf: z.string().nullable(),
  /** The first so many leaves of the log were asked, and their root. */
  treeSize: z.int().min(0),
  root: Digest,
  /**
   * `events`: the rows are made from the events of the log, each of which was read and judged by its seal and its leaf. `sealed-index`: from an index
   * under a mac of the ledger. `word-index`, in files of earlier versions: which events were found rested on an index of words. `ledger-record`: the rows are of the ledger's own
   * record, which is in no log of the tenant; `asOf`, `treeSize` and `root` say where that log was.
   */
  restsOn: z.enum(['events', 'sealed-index', 'word-index', 'ledger-record']),
  /** Of a search: what was not searched. */
  notSearched: z.array(z.string().max(NAME_MAX_CHARS)).max(20).optional(),
  exportedBy: z.strictObject({
    actor: z.string(),
    principal: z.string().optional(),
    via: z.array(z.string()).optional(),
  }),
  /** RFC 3339. */
  time: z.string(),
  /** What is lost of what was asked, or cannot be proven: then rows may be missing. */
  losses: Losses.optional(),
  signature: z.strictObject({
    /** `<name of the log>+<8 hex digits>`, as signed notes name a key. */
    key: z.string().max(NAME_MAX_CHARS),
    type: z.literal(ANSWER_PAYLOAD_TYPE),
    sig: z.string().regex(/^[A-Za-z0-9+/]{86}==$/),
  }),
})

export type AnswerQuestion = z.infer<typeof AnswerQuestion>
export type AnswerTrailer = z.infer<typeof AnswerTrailer>
export type AnswerFacts = Omit<AnswerTrailer, 'signature'>

/** The text that is signed: JSON without spaces, members in the order of the file. */
export function signedAnswerText(facts: AnswerFacts | AnswerTrailer): string {
  const { signature: _, ...signed } = facts as AnswerFacts & { readonly signature?: unknown }
  return JSON.stringify(signed)
}

/** The first line of an answer as JSONL. */
export function answerHead(question: AnswerQuestion): string {
  return `${JSON.stringify({ answer: question } as unknown as JsonObject)}\n`
}
