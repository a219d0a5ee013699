/** @module All rows of an answer in portions, one per page of the query, counted and hashed as they are produced. */
import { createHash } from 'node:crypto'
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Loss } from '../../../schemas/loss.ts'
import { AUDIT_QUERIES, type AuditQueryName } from '../../ledger/audit/audit-queries.ts'
import type { AuditPage, PlannedQuestion } from '../../ledger/audit/audit-reads.ts'
import { SERVICE_QUERIES, type ServiceQueryName } from '../../ledger/audit/service-queries.ts'
import type { Position } from '../../store/event-store.ts'
import type { MadeSoFar, Portions } from '../export-body.ts'
import { ANSWER_FORMATS, type AnswerFormatName, type AnswerWriter } from './answer-formats.ts'
import { questionOf } from './answer-question.ts'
import { eventAnswer, type JudgedHistory } from './event-answer.ts'

export interface AnswerBodyRequest {
  readonly tenant: string
  /** The caller to whose share of read time the work is charged. */
  readonly caller: string
  readonly format: AnswerFormatName
  /** The question, planned from its first page on. */
  readonly planned: PlannedQuestion
  /** The part of the log whose events yield the rows; absent if the index answers. */
  readonly log?: AnsweredLog | undefined
}

export interface AnsweredLog {
  readonly size: number
  /** Undefined for an empty log. */
  readonly until: Position | undefined
}

export interface AnswerPortion extends MadeSoFar {
  readonly chunk: Uint8Array
  /** Rows of this page; `events` is the number of rows so far. */
  readonly rows: number
  /** Lost events that were found so far. */
  readonly losses: readonly Loss[]
}

/** Produces answers outside the thread that writes. */
export interface AnswerBodyMaker {
  answerBody(request: AnswerBodyRequest): Portions<AnswerPortion>
}

/** Everything before the trailer of an answer, produced from events. */
export function eventPortions(
  { format, planned }: Pick<AnswerBodyRequest, 'format' | 'planned'>,
  history: () => JudgedHistory | undefined,
): AsyncGenerator<AnswerPortion, void> {
  const { pages, losses } = eventAnswer(history, planned)
  return rowPortions(answerWriter(format, questionOf(planned)), pages, losses)
}

/** Everything before the trailer of an answer, produced from the index. */
export function answerPortions(
  { format, planned }: Pick<AnswerBodyRequest, 'format' | 'planned'>,
  pageOf: (planned: PlannedQuestion) => Promise<AuditPage>,
): AsyncGenerator<AnswerPortion, void> {
  const pages = async function* (): AsyncGenerator<readonly JsonObject[], void> {
    for (let question: PlannedQuestion | undefined = planned; question !== undefined; ) {
      const { items, next }: AuditPage = await pageOf(question)
      yield items
      question = next === undefined ? undefined : { ...planned, after: next }
    }
  }
  return rowPortions(answerWriter(format, questionOf(planned)), pages())
}

export function answerWriter(format: AnswerFormatName, question: AnswerQuestion): AnswerWriter {
  const { columns } = { ...AUDIT_QUERIES, ...SERVICE_QUERIES }[question.query as AuditQueryName | ServiceQueryName]
  return ANSWER_FORMATS[format].open(question, columns)
}

/** One portion per page. */
export async function* rowPortions(
  writer: AnswerWriter,
  pages: AsyncIterable<readonly JsonObject[]>,
  losses: () => readonly Loss[] = () => [],
): AsyncGenerator<AnswerPortion, void> {
  const hash = createHash('sha256')
  let { head } = writer
  let [events, bytes] = [0, 0]
  for await (const items of pages) {
    const chunk = Buffer.from(head + items.map(writer.row).join(''))
    head = ''
    hash.update(chunk)
    events += items.length
    bytes += chunk.length
    const made = { events, bytes, digest: `sha256:${hash.copy().digest('hex')}` }
    yield { chunk, rows: items.length, losses: losses(), ...made }
  }
}
