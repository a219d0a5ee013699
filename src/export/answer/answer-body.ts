/** @module All rows of an answer in portions, one a page of the query, counted and digested as they are made. */
import { createHash } from 'node:crypto'
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import { AUDIT_QUERIES } from '../../ledger/audit/audit-queries.ts'
import type { AuditPage, PlannedQuestion } from '../../ledger/audit/audit-reads.ts'
import type { MadeSoFar, Portions } from '../export-body.ts'
import { ANSWER_FORMATS, type AnswerFormatName, type AnswerWriter } from './answer-formats.ts'

export interface AnswerBodyRequest {
  readonly tenant: string
  /** Whose share of the readers' time it takes. */
  readonly caller: string
  readonly format: AnswerFormatName
  /** Its first page. */
  readonly planned: PlannedQuestion
}

export interface AnswerPortion extends MadeSoFar {
  readonly chunk: Uint8Array
  /** Of this page: `events` counts those of all so far. */
  readonly rows: number
}

/** Makes answers elsewhere than in the thread that writes. */
export interface AnswerBodyMaker {
  answerBody(request: AnswerBodyRequest): Portions<AnswerPortion>
}

export function questionOf({ question, newestFirst }: PlannedQuestion): AnswerQuestion {
  const { name, filter, by, seed } = question
  return {
    query: name,
    filter,
    ...(by !== undefined && { by }),
    ...(seed !== undefined && { seed }),
    ...(newestFirst && { order: 'desc' as const }),
  }
}

export function answerWriter(format: AnswerFormatName, planned: PlannedQuestion): AnswerWriter {
  return ANSWER_FORMATS[format].open(questionOf(planned), AUDIT_QUERIES[planned.question.name].columns)
}

/** Everything before the trailer. */
export async function* answerPortions(
  { format, planned }: Pick<AnswerBodyRequest, 'format' | 'planned'>,
  pageOf: (planned: PlannedQuestion) => Promise<AuditPage>,
): AsyncGenerator<AnswerPortion, void> {
  const writer = answerWriter(format, planned)
  const hash = createHash('sha256')
  let { head } = writer
  let [events, bytes] = [0, 0]
  for (let question: PlannedQuestion | undefined = planned; question !== undefined; ) {
    const { items, next }: AuditPage = await pageOf(question)
    const chunk = Buffer.from(head + items.map(writer.row).join(''))
    head = ''
    hash.update(chunk)
    events += items.length
    bytes += chunk.length
    yield { chunk, rows: items.length, events, bytes, digest: `sha256:${hash.copy().digest('hex')}` }
    question = next === undefined ? undefined : { ...planned, after: next }
  }
}
