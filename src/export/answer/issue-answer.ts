/**
 * @module The whole answer to an auditor's query as a file, from request to trailer: all pages as of one size of the log. It is recorded like any export, and
 * each of its pages is recorded as a read.
 */
import { randomUUID } from 'node:crypto'
import {
  ANSWER_PAYLOAD_TYPE,
  type AnswerFacts,
  type AnswerQuestion,
  type AnswerTrailer,
  NOT_SEARCHED,
  signedAnswerText,
} from '../../../schemas/answer-trailer.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { type Loss, lossesMember } from '../../../schemas/loss.ts'
import { refusal } from '../../domain/refusal.ts'
import { restsOn } from '../../ledger/audit/answer-question.ts'
import { AUDIT_QUERIES, followsFromLog } from '../../ledger/audit/audit-queries.ts'
import type { AuditQuestion, AuditRefusal, PlannedQuestion } from '../../ledger/audit/audit-reads.ts'
import type { Caller, ExportPin, Ledger, PinnedTree } from '../../ledger/ledger.ts'
import { digestText } from '../../signing/digests.ts'
import { type ExportRecord, exportedBy, exportRecord } from '../audit-trail.ts'
import { type Making, NOTHING_MADE, type Portions, portionsOf } from '../export-body.ts'
import { type Refused, refusedBy } from '../export-refusal.ts'
import { orUnbegun } from '../or-unbegun.ts'
import {
  type AnswerBodyMaker,
  type AnsweredLog,
  type AnswerPortion,
  answerPortions,
  answerWriter,
  eventPortions,
} from './answer-body.ts'
import { ANSWER_FORMATS, type AnswerFormat, type AnswerFormatName } from './answer-formats.ts'
import { PAGE_ROWS, questionOf } from './answer-question.ts'
import type { JudgedHistory } from './event-answer.ts'
import { answerBytes } from './made-rows.ts'

export interface AnswerRequest {
  readonly format: AnswerFormatName
  readonly question: AuditQuestion
  readonly newestFirst?: boolean | undefined
  /** Size of the log that the answer is based on; absent for the current size. */
  readonly treeSize?: number | undefined
}

export interface PreparedAnswer {
  readonly format: AnswerFormat
  /** Memory that it may use in addition to pages and buffers. */
  readonly heldBytes: number
  /** To be awaited before the first byte is sent. Throws `StoreUnavailableError`. */
  readonly start: () => Promise<void>
  /** The file. Throws what the query throws, and the signal's reason at the next page; the file then has no trailer. */
  readonly chunks: (signal?: AbortSignal) => AsyncGenerator<Uint8Array, void>
}

export type AnswerPrepared = { readonly ok: true; readonly value: PreparedAnswer } | Refused

/** `elsewhere`: a separate thread for reading and formatting. */
export async function prepareAnswer(
  ledger: Ledger,
  caller: Caller,
  request: AnswerRequest,
  elsewhere?: AnswerBodyMaker,
): Promise<AnswerPrepared> {
  const { audit } = ledger
  if (audit === undefined || ledger.logs === undefined)
    return { ok: false, code: 'not-found', detail: 'an answer needs the index of the audit and the log to sign it' }
  const { format } = request
  const found = await plannedAnswer(ledger, audit, caller, request)
  if (!found.ok) return found
  const { planned, pin } = found
  const { treeSize, eventId } = planned.asOf
  const root = digestText(ledger.logs.edgeAt(caller.tenant, treeSize).root)
  const { tenant, actor } = caller
  const made = { ledger, caller, format, question: questionOf(planned), tree: { size: treeSize, root, eventId } }
  const log = answeredLog(planned, pin)
  const localBody = (): AsyncGenerator<AnswerPortion, void> =>
    log === undefined
      ? answerPortions({ format, planned }, (page) => audit.page(caller, page))
      : eventPortions({ format, planned }, () => historyHere(ledger, caller, log))
  return preparedAnswer({
    ...made,
    restsOn: log === undefined ? restsOn(planned.question) : 'events',
    losses: pin.losses,
    heldBytes: log === undefined ? 0 : answerBytes(log.size),
    body: () => elsewhere?.answerBody({ tenant, caller: actor, format, planned, log }) ?? portionsOf(localBody()),
    recordPage: (rows) => audit.recordPage(caller, planned, rows),
  })
}

type Planned = { readonly ok: true; readonly planned: PlannedQuestion; readonly pin: ExportPin } | Refused

/** A log that has stopped ends before the index does: the answer is as of a size that both have. */
async function plannedAnswer(
  ledger: Ledger,
  audit: NonNullable<Ledger['audit']>,
  caller: Caller,
  { question, newestFirst = false, treeSize: requestedSize }: AnswerRequest,
): Promise<Planned> {
  const page = { ...(requestedSize !== undefined && { treeSize: requestedSize }), limit: PAGE_ROWS, newestFirst }
  const planned = await audit.plan(caller, question, page)
  if ('code' in planned) return refusedQuestion(planned)
  // The pin follows the store up to the position of the index.
  const pin = await ledger.exports.pin(caller, { run: question.filter.run, isSigned: true })
  const size = ledger.logs?.state(caller.tenant).size ?? 0
  if (planned.asOf.treeSize <= size) return { ok: true, planned, pin }
  if (requestedSize !== undefined)
    return { ok: false, code: 'invalid-query', detail: `the log has stopped behind ${size} events` }
  const asOfLog = await audit.plan(caller, question, { ...page, treeSize: size })
  return 'code' in asOfLog ? refusedQuestion(asOfLog) : { ok: true, planned: asOfLog, pin }
}

/** Up to the pin, since a row may name later events; undefined if the answer does not follow from the log. */
function answeredLog({ question, asOf }: PlannedQuestion, { until, tree }: ExportPin): AnsweredLog | undefined {
  if (!followsFromLog(AUDIT_QUERIES[question.name].shape)) return undefined
  if (asOf.treeSize === 0) return { size: 0, until: undefined }
  // A log that has stopped contains only what came before; the answer covers no more.
  return tree === null || tree.size < asOf.treeSize
    ? { size: asOf.treeSize, until: asOf.position ?? undefined }
    : { size: tree.size, until }
}

function historyHere(ledger: Ledger, caller: Caller, { size, until }: AnsweredLog): JudgedHistory | undefined {
  if (until === undefined) return undefined
  const reading = ledger.exports.leafReading(caller, { size, until, after: undefined })
  return { pages: ledger.tenantEvents(caller, { until }), reading }
}

export interface PendingAnswer {
  readonly ledger: Ledger
  readonly caller: Caller
  readonly format: AnswerFormatName
  readonly question: AnswerQuestion
  readonly tree: PinnedTree
  readonly restsOn: AnswerFacts['restsOn']
  readonly losses: readonly Loss[]
  readonly heldBytes?: number
  /** Everything before the trailer, one portion per page. */
  readonly body: () => Portions<AnswerPortion>
  /** Records a page of this many rows as a read. */
  readonly recordPage: (rows: number) => Promise<void>
}

export function preparedAnswer(pending: PendingAnswer): AnswerPrepared {
  const { ledger, caller, format, question, tree, heldBytes = 0 } = pending
  const record = exportRecord(ledger, caller, {
    ...{ exportId: randomUUID(), format: `answer-${format}`, run: question.filter.run, tree },
    filter: question as unknown as JsonObject,
  })
  return {
    ok: true,
    value: {
      format: ANSWER_FORMATS[format],
      heldBytes,
      start: () => record.start(),
      chunks: (signal) => chunksOf({ ...pending, record }, signal),
    },
  }
}

type Recorded = PendingAnswer & { readonly record: ExportRecord }

export function refusedQuestion({ code, detail }: AuditRefusal): Refused {
  if (code === 'invalid-query' || code === 'cursor-gone') return { ok: false, code: 'invalid-query', detail }
  return refusedBy(refusal(code, detail))
}

function chunksOf(pending: Recorded, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void> {
  const made = { ...NOTHING_MADE }
  const cut = (): Promise<void> => pending.record.cut(made)
  return orUnbegun(fileChunks(pending, made, { signal, cut }), cut)
}

async function* fileChunks(
  pending: Recorded,
  made: Making,
  { signal, cut }: { readonly signal: AbortSignal | undefined; readonly cut: () => Promise<void> },
): AsyncGenerator<Uint8Array, void> {
  const { format, question } = pending
  const body = pending.body()
  let found: readonly Loss[] = []
  let complete = false
  const leave = (): void => body.leave()
  signal?.addEventListener('abort', leave)
  try {
    for (let portion = await body.next(); portion !== undefined; portion = await body.next()) {
      const { chunk, rows, events, bytes, digest } = portion
      found = portion.losses
      await pending.recordPage(rows)
      Object.assign(made, { events, bytes, digest })
      signal?.throwIfAborted()
      yield chunk
    }
    await pending.record.complete(made)
    complete = true
    yield Buffer.from(answerWriter(format, question).trailer(trailerOf(pending, made, found)))
  } finally {
    signal?.removeEventListener('abort', leave)
    await body.close()
    if (!complete) await cut()
  }
}

function trailerOf(
  { ledger, caller, question, tree, restsOn, losses: known }: PendingAnswer,
  { events, digest }: Making,
  found: readonly Loss[],
): AnswerTrailer {
  // Losses found by reading come first, as in an export.
  const losses = lossesMember([...found, ...known])
  const facts: AnswerFacts = {
    v: losses === undefined ? 1 : 2,
    ledgerId: ledger.ledgerId,
    tenant: caller.tenant,
    question,
    rows: events,
    digest,
    asOf: tree.eventId,
    treeSize: tree.size,
    root: tree.root,
    restsOn,
    ...(question.filter.text !== undefined && { notSearched: [...NOT_SEARCHED] }),
    exportedBy: exportedBy(caller),
    time: ledger.exports.now(),
    ...(losses && { losses: [...losses] }),
  }
  const signed = ledger.exports.sign(caller, ANSWER_PAYLOAD_TYPE, Buffer.from(signedAnswerText(facts)))?.signatures[0]
  if (signed === undefined) throw new TypeError('an answer is signed with the key of a log')
  return { ...facts, signature: { key: signed.keyid, type: ANSWER_PAYLOAD_TYPE, sig: signed.sig } }
}
