/** @module How a rollback ended, in words: the one table for badges, lines of events, labels of pictures and filters. */
import { ROLLBACK_VERDICTS, type RollbackVerdict } from '../../schemas/run-status.ts'

/** A rollback that left something undone is no good news. */
export const VERDICT_MARKS: Readonly<Record<RollbackVerdict, { readonly kind: string; readonly text: string }>> = {
  COMPENSATED: { kind: 'compensated', text: 'compensated' },
  PARTLY_COMPENSATED: { kind: 'warn', text: 'partly compensated' },
  COMPENSATION_FAILED: { kind: 'bad', text: 'compensation failed' },
  IN_DOUBT: { kind: 'warn', text: 'compensation in doubt' },
}

/** Undefined for a text that is no verdict of a rollback. */
export function verdictMark(text: string | undefined): { readonly kind: string; readonly text: string } | undefined {
  const verdict = ROLLBACK_VERDICTS.find((each) => each === text)
  return verdict && VERDICT_MARKS[verdict]
}

/** Of what this build does not know, the text itself. */
export const verdictWords = (text: string): string => verdictMark(text)?.text ?? text
