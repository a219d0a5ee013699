/** @module The question, in the form in which the file of an answer states it. */
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import type { PlannedQuestion } from '../../ledger/audit/audit-reads.ts'

/** Rows per portion, each of which is recorded as a read. */
export const PAGE_ROWS = 500

export function questionOf({ question, newestFirst }: PlannedQuestion): AnswerQuestion {
  const { name, filter, by, seed } = question
  return {
    query: name,
    filter,
    ...(by !== undefined && { by }),
    ...(seed !== undefined && { seed }),
    ...(newestFirst && { order: 'desc' as const }),
    ...(name === 'spend' && { estimates: true as const }),
    ...(name === 'open-calls' && { doubts: 2 as const }),
    ...(filter.text !== undefined && { words: 2 as const }),
  }
}
