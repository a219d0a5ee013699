/** @module The rows of an answer, made from the events of a log as they are read, by the code with which a bundle is verified. */
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import type { Row } from '../../verify/bundle/event-rows.ts'
import type { LoggedEvent } from '../../verify/bundle/gathered.ts'
import { AuditAnswer } from '../../verify/bundle/questions.ts'

/** The whole log from its first event on, whenever it is called: each event with its leaf. */
export type LogAgain = () => AsyncIterable<readonly [event: LoggedEvent, leaf: number]>

/** What a row maker may remember of each leaf: of a call, and of what is open, 24 bytes, thrice while their table grows. A call has two events at least, and less than full tables. */
const BYTES_PER_LEAF = 72
/** The tables for one answer: of all calls, and of what is open. */
const ANSWER_MAX_BYTES = 96 * 1024 * 1024

/** Bytes that an answer of so many leaves may take while it is made, beyond pages and buffers. */
export function answerBytes(leaves: number): number {
  return Math.min(leaves * BYTES_PER_LEAF, ANSWER_MAX_BYTES)
}

/** In the order of the answer. Throws where it rests on more than can be remembered at once. */
export async function* madeRows(log: LogAgain, question: AnswerQuestion, tenant: string): AsyncGenerator<Row, void> {
  const answer = new AuditAnswer(question, tenant)
  if (answer.gathers) {
    do for await (const [event, leaf] of log()) answer.gather(event, leaf)
    while (answer.nextPass())
  }
  for await (const [event, leaf] of log()) yield* answer.rows(event, leaf)
  yield* answer.rest()
}
