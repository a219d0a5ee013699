/**
 * @module The whole answer to a query of auditors as a file, from asking to trailer: every page of it as of one size of the log. It is on
 * record like every export, and each of its pages as the read that it is.
 */
import { createHash, randomUUID } from 'node:crypto'
import {
  ANSWER_PAYLOAD_TYPE,
  type AnswerFacts,
  type AnswerQuestion,
  type AnswerTrailer,
  signedAnswerText,
} from '../../../schemas/answer-trailer.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { refusal } from '../../domain/refusal.ts'
import { AUDIT_QUERIES } from '../../ledger/audit/audit-queries.ts'
import type { AuditPage, AuditQuestion, AuditReads, AuditRefusal } from '../../ledger/audit/audit-reads.ts'
import type { Caller, Ledger, PinnedTree } from '../../ledger/ledger.ts'
import { type Making, NOTHING_MADE } from '../export-body.ts'
import { type Refused, refusedBy } from '../export-refusal.ts'
import { type ExportRecord, exportedBy, exportRecord } from '../on-record.ts'
import { orUnbegun } from '../or-unbegun.ts'
import { ANSWER_FORMATS, type AnswerFormat, type AnswerFormatName } from './answer-formats.ts'

const PAGE_ROWS = 500

export interface AnswerRequest {
  readonly format: AnswerFormatName
  readonly question: AuditQuestion
  readonly newestFirst?: boolean | undefined
  /** The log as it was with so many events; absent: as it is. */
  readonly treeSize?: number | undefined
}

export interface PreparedAnswer {
  readonly format: AnswerFormat
  /** To be awaited before the first byte leaves. Throws `StoreUnavailableError`. */
  readonly start: () => Promise<void>
  /** The file. Throws what asking throws, and the signal's reason at the next page: then it has no trailer. */
  readonly chunks: (signal?: AbortSignal) => AsyncGenerator<Uint8Array, void>
}

export type AnswerPrepared = { readonly ok: true; readonly value: PreparedAnswer } | Refused

export async function prepareAnswer(ledger: Ledger, caller: Caller, request: AnswerRequest): Promise<AnswerPrepared> {
  const { audit } = ledger
  if (audit === undefined || ledger.logs === undefined)
    return { ok: false, code: 'not-found', detail: 'an answer needs the index of the audit and the log to sign it' }
  const first = await ask(audit, caller, request)
  if (!first.ok) return refused(first)
  const { treeSize, eventId } = first.asOf
  // Follows the store as far as the index did.
  await ledger.exports.pin(caller)
  const { root } = await ledger.exports.edgeAt(caller, treeSize)
  const tree = { size: treeSize, root, eventId }
  const record = exportRecord(ledger, caller, {
    ...{ exportId: randomUUID(), format: `answer-${request.format}`, run: request.question.filter.run, tree },
    filter: questionOf(request) as unknown as JsonObject,
  })
  const inHand: AnswerInHand = { ledger, audit, caller, request, first, tree, record }
  return {
    ok: true,
    value: {
      format: ANSWER_FORMATS[request.format],
      start: () => record.start(),
      chunks: (signal) => chunksOf(inHand, signal),
    },
  }
}

interface AnswerInHand {
  readonly ledger: Ledger
  readonly audit: AuditReads
  readonly caller: Caller
  readonly request: AnswerRequest
  readonly first: AuditPage
  readonly tree: PinnedTree
  readonly record: ExportRecord
}

/** The page behind `before`, as of the same log; the first one where there is none. */
function ask(
  audit: AuditReads,
  caller: Caller,
  { question, newestFirst = false, treeSize }: AnswerRequest,
  before?: AuditPage,
): Promise<AuditPage | AuditRefusal> {
  if (before === undefined) {
    const size = treeSize === undefined ? {} : { treeSize }
    return audit.ask(caller, question, { ...size, limit: PAGE_ROWS, newestFirst })
  }
  const { next, asOf } = before
  const pin = { treeSize: asOf.treeSize, ...(asOf.eventId !== null && { eventId: asOf.eventId }) }
  return audit.ask(caller, question, { ...pin, ...(next && { after: next }), limit: PAGE_ROWS, newestFirst })
}

function refused({ code, detail }: AuditRefusal): Refused {
  if (code === 'invalid-query' || code === 'cursor-gone') return { ok: false, code: 'invalid-query', detail }
  return refusedBy(refusal(code, detail))
}

function questionOf({ question: { name, filter, by, seed }, newestFirst }: AnswerRequest): AnswerQuestion {
  return {
    query: name,
    filter,
    ...(by !== undefined && { by }),
    ...(seed !== undefined && { seed }),
    ...(newestFirst === true && { order: 'desc' as const }),
  }
}

function chunksOf(inHand: AnswerInHand, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void> {
  const made = { ...NOTHING_MADE }
  const cut = (): Promise<void> => inHand.record.cut(made)
  return orUnbegun(fileChunks(inHand, made, { signal, cut }), cut)
}

async function* fileChunks(
  inHand: AnswerInHand,
  made: Making,
  { signal, cut }: { readonly signal: AbortSignal | undefined; readonly cut: () => Promise<void> },
): AsyncGenerator<Uint8Array, void> {
  const { caller, audit, request } = inHand
  const writer = ANSWER_FORMATS[request.format].open(questionOf(request), AUDIT_QUERIES[request.question.name].columns)
  const hash = createHash('sha256')
  let complete = false
  try {
    let head = writer.head
    for (let page: AuditPage = inHand.first; ; ) {
      const bytes = Buffer.from(head + page.items.map(writer.row).join(''))
      head = ''
      hash.update(bytes)
      Object.assign(made, {
        events: made.events + page.items.length,
        bytes: made.bytes + bytes.length,
        digest: `sha256:${hash.copy().digest('hex')}`,
      })
      signal?.throwIfAborted()
      yield bytes
      if (page.next === undefined) break
      const next = await ask(audit, caller, request, page)
      if (!next.ok) throw new TypeError(next.detail)
      page = next
    }
    await inHand.record.complete(made)
    complete = true
    yield Buffer.from(writer.trailer(trailerOf(inHand, made)))
  } finally {
    if (!complete) await cut()
  }
}

function trailerOf({ ledger, caller, request, first, tree }: AnswerInHand, { events, digest }: Making): AnswerTrailer {
  const facts: AnswerFacts = {
    v: 1,
    ledgerId: ledger.ledgerId,
    tenant: caller.tenant,
    question: questionOf(request),
    rows: events,
    digest,
    asOf: tree.eventId,
    treeSize: tree.size,
    root: tree.root,
    restsOn: first.restsOn,
    exportedBy: exportedBy(caller),
    time: ledger.exports.now(),
  }
  const signed = ledger.exports.sign(caller, ANSWER_PAYLOAD_TYPE, Buffer.from(signedAnswerText(facts)))?.signatures[0]
  if (signed === undefined) throw new TypeError('an answer is signed with the key of a log')
  return { ...facts, signature: { key: signed.keyid, type: ANSWER_PAYLOAD_TYPE, sig: signed.sig } }
}
