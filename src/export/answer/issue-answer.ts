/**
 * @module The whole answer to a query of auditors as a file, from asking to trailer: every page of it as of one size of the log. It is on
 * record like every export, and each of its pages as the read that it is.
 */
import { randomUUID } from 'node:crypto'
import {
  ANSWER_PAYLOAD_TYPE,
  type AnswerFacts,
  type AnswerTrailer,
  signedAnswerText,
} from '../../../schemas/answer-trailer.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { refusal } from '../../domain/refusal.ts'
import { restsOn } from '../../ledger/audit/answer-question.ts'
import type { AuditQuestion, AuditReads, AuditRefusal, PlannedQuestion } from '../../ledger/audit/audit-reads.ts'
import type { Caller, Ledger, PinnedTree } from '../../ledger/ledger.ts'
import { type Making, NOTHING_MADE, type Portions, portionsOf } from '../export-body.ts'
import { type Refused, refusedBy } from '../export-refusal.ts'
import { type ExportRecord, exportedBy, exportRecord } from '../on-record.ts'
import { orUnbegun } from '../or-unbegun.ts'
import { type AnswerBodyMaker, type AnswerPortion, answerPortions, answerWriter, questionOf } from './answer-body.ts'
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

/** `elsewhere`: a thread of its own for what is read and formatted. */
export async function prepareAnswer(
  ledger: Ledger,
  caller: Caller,
  request: AnswerRequest,
  elsewhere?: AnswerBodyMaker,
): Promise<AnswerPrepared> {
  const { audit } = ledger
  if (audit === undefined || ledger.logs === undefined)
    return { ok: false, code: 'not-found', detail: 'an answer needs the index of the audit and the log to sign it' }
  const { format, question, newestFirst = false, treeSize: wanted } = request
  const page = { ...(wanted !== undefined && { treeSize: wanted }), limit: PAGE_ROWS, newestFirst }
  const planned = await audit.plan(caller, question, page)
  if ('code' in planned) return refusedQuestion(planned)
  const { treeSize, eventId } = planned.asOf
  // Follows the store as far as the index did.
  await ledger.exports.pin(caller)
  const { root } = await ledger.exports.edgeAt(caller, treeSize)
  const tree = { size: treeSize, root, eventId }
  const record = exportRecord(ledger, caller, {
    ...{ exportId: randomUUID(), format: `answer-${format}`, run: question.filter.run, tree },
    filter: questionOf(planned) as unknown as JsonObject,
  })
  const inHand: AnswerInHand = { ledger, audit, caller, format, planned, tree, record, elsewhere }
  return {
    ok: true,
    value: {
      format: ANSWER_FORMATS[format],
      start: () => record.start(),
      chunks: (signal) => chunksOf(inHand, signal),
    },
  }
}

interface AnswerInHand {
  readonly ledger: Ledger
  readonly audit: AuditReads
  readonly caller: Caller
  readonly format: AnswerFormatName
  readonly planned: PlannedQuestion
  readonly tree: PinnedTree
  readonly record: ExportRecord
  readonly elsewhere: AnswerBodyMaker | undefined
}

export function refusedQuestion({ code, detail }: AuditRefusal): Refused {
  if (code === 'invalid-query' || code === 'cursor-gone') return { ok: false, code: 'invalid-query', detail }
  return refusedBy(refusal(code, detail))
}

function chunksOf(inHand: AnswerInHand, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void> {
  const made = { ...NOTHING_MADE }
  const cut = (): Promise<void> => inHand.record.cut(made)
  return orUnbegun(fileChunks(inHand, made, { signal, cut }), cut)
}

function bodyFor({ audit, caller, format, planned, elsewhere }: AnswerInHand): Portions<AnswerPortion> {
  const { tenant, actor } = caller
  if (elsewhere !== undefined) return elsewhere.answerBody({ tenant, caller: actor, format, planned })
  return portionsOf(answerPortions({ format, planned }, (page) => audit.page(caller, page)))
}

async function* fileChunks(
  inHand: AnswerInHand,
  made: Making,
  { signal, cut }: { readonly signal: AbortSignal | undefined; readonly cut: () => Promise<void> },
): AsyncGenerator<Uint8Array, void> {
  const { audit, caller, format, planned } = inHand
  const body = bodyFor(inHand)
  let complete = false
  const leave = (): void => body.leave()
  signal?.addEventListener('abort', leave)
  try {
    for (let portion = await body.next(); portion !== undefined; portion = await body.next()) {
      const { chunk, rows, events, bytes, digest } = portion
      await audit.recordPage(caller, planned, rows)
      Object.assign(made, { events, bytes, digest })
      signal?.throwIfAborted()
      yield chunk
    }
    await inHand.record.complete(made)
    complete = true
    yield Buffer.from(answerWriter(format, planned).trailer(trailerOf(inHand, made)))
  } finally {
    signal?.removeEventListener('abort', leave)
    await body.close()
    if (!complete) await cut()
  }
}

function trailerOf({ ledger, caller, planned, tree }: AnswerInHand, { events, digest }: Making): AnswerTrailer {
  const facts: AnswerFacts = {
    v: 1,
    ledgerId: ledger.ledgerId,
    tenant: caller.tenant,
    question: questionOf(planned),
    rows: events,
    digest,
    asOf: tree.eventId,
    treeSize: tree.size,
    root: tree.root,
    restsOn: restsOn(planned.question),
    exportedBy: exportedBy(caller),
    time: ledger.exports.now(),
  }
  const signed = ledger.exports.sign(caller, ANSWER_PAYLOAD_TYPE, Buffer.from(signedAnswerText(facts)))?.signatures[0]
  if (signed === undefined) throw new TypeError('an answer is signed with the key of a log')
  return { ...facts, signature: { key: signed.keyid, type: ANSWER_PAYLOAD_TYPE, sig: signed.sig } }
}
