/** @module The verdicts of rollbacks as text: one table for badges, event lines, picture labels and filters. */
import { ROLLBACK_VERDICTS, type RollbackVerdict } from '../../schemas/run-status.ts'

/** A rollback that left a call undone does not count as good. */
export const VERDICT_MARKS: Readonly<Record<RollbackVerdict, { readonly kind: string; readonly text: string }>> = {
  COMPENSATED: { kind: 'compensated', text: 'compensated' },
  PARTLY_COMPENSATED: { kind: 'warn', text: 'partly compensated' },
  COMPENSATION_FAILED: { kind: 'bad', text: 'compensation failed' },
  IN_DOUBT: { kind: 'warn', text: 'compensation in doubt' },
}

/** Undefined for a text that is not a rollback verdict. */
export function verdictMark(text: string | undefined): { readonly kind: string; readonly text: string } | undefined {
  const verdict = ROLLBACK_VERDICTS.find((each) => each === text)
  return verdict && VERDICT_MARKS[verdict]
}

/** For an unknown verdict, the text itself. */
export const verdictWords = (text: string): string => verdictMark(text)?.text ?? text
