/** @module The rows of an answer, produced from the events of a log while they are read, by the same code that verifies a bundle. */
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import type { Row } from '../../verify/bundle/event-rows.ts'
import type { LoggedEvent } from '../../verify/bundle/gathered.ts'
import { AuditAnswer } from '../../verify/bundle/questions.ts'

/** The whole log from its first event on, for each call: each event with its leaf index. */
export type LogAgain = () => AsyncIterable<readonly [event: LoggedEvent, leaf: number]>

/**
 * Bytes that a row maker may keep per leaf: 24 for a call and for an open one, three times that while their table grows. A call has at least two events, and
 * tables are not full.
 */
const BYTES_PER_LEAF = 72
/** Limit for the tables of one answer: all calls, and open ones. */
const ANSWER_MAX_BYTES = 96 * 1024 * 1024

/** Bytes that an answer over this many leaves may use, in addition to pages and buffers. */
export function answerBytes(leaves: number): number {
  return Math.min(leaves * BYTES_PER_LEAF, ANSWER_MAX_BYTES)
}

/** Rows in the order of the answer. Throws if the answer needs more memory than the limit. */
export async function* madeRows(log: LogAgain, question: AnswerQuestion, tenant: string): AsyncGenerator<Row, void> {
  const answer = new AuditAnswer(question, tenant)
  if (answer.gathers) {
    do for await (const [event, leaf] of log()) answer.gather(event, leaf)
    while (answer.nextPass())
  }
  for await (const [event, leaf] of log()) yield* answer.rows(event, leaf)
  yield* answer.rest()
}
