/** @module The answer in a bundle: its rows, produced from the events of the log alone, by the same code with which a verifier produces them again. */
import { type AnswerQuestion, answerHead } from '../../../schemas/answer-trailer.ts'
import { BoundedList, type Listed } from '../../verify/bundle/bounded-lists.ts'
import type { Row } from '../../verify/bundle/event-rows.ts'
import { type LogAgain, madeRows } from '../answer/made-rows.ts'
import { type BundleFile, linesFile, Measure } from './bundle-file.ts'

const ANSWER = 'answer.jsonl'

export interface MeasuredAnswer {
  readonly file: BundleFile
  /** The first rows, and the number of all rows. */
  readonly listed: Listed<Row>
}

/** Throws if the answer needs more memory than the limit. */
export async function measuredAnswer(log: LogAgain, question: AnswerQuestion, tenant: string): Promise<MeasuredAnswer> {
  const listed = new BoundedList<Row>()
  const measure = new Measure()
  measure.add(answerHead(question))
  for await (const row of madeRows(log, question, tenant)) {
    listed.add(row)
    measure.add(lineOf(row))
  }
  const file = linesFile(ANSWER, measure.result(), async function* () {
    yield answerHead(question)
    for await (const row of madeRows(log, question, tenant)) yield lineOf(row)
  })
  return { file, listed }
}

const lineOf = (row: Row): string => `${JSON.stringify(row)}\n`
