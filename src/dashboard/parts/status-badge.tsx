/** @module How a run stands, as a mark: a rollback by its verdict, and what is in doubt or overdue in words of its own. */
import { ROLLBACK_VERDICTS, type RollbackVerdict } from '../../../schemas/run-status.ts'
import { plural } from '../format.ts'
import { Badge } from './data.tsx'

/** A rollback that left something undone is no good news. */
export const VERDICT_MARKS: Readonly<Record<RollbackVerdict, { readonly kind: string; readonly text: string }>> = {
  COMPENSATED: { kind: 'compensated', text: 'compensated' },
  PARTLY_COMPENSATED: { kind: 'warn', text: 'partly compensated' },
  COMPENSATION_FAILED: { kind: 'bad', text: 'compensation failed' },
  IN_DOUBT: { kind: 'warn', text: 'compensation in doubt' },
}

export interface StatusBadgeProps {
  readonly status: string
  readonly compensation?: string | undefined
  readonly inDoubtCalls?: number
  readonly overdue?: boolean | undefined
  /** An event of the run is on record as broken. */
  readonly seal?: 'invalid' | undefined
}

export function StatusBadge({ status, compensation, inDoubtCalls = 0, overdue = false, seal }: StatusBadgeProps) {
  const verdict = ROLLBACK_VERDICTS.find((each) => each === compensation)
  const { kind, text } = verdict === undefined ? { kind: status, text: compensation ?? status } : VERDICT_MARKS[verdict]
  return (
    <span class="badges">
      {seal === 'invalid' && (
        <>
          <Badge kind="bad" text="seal broken" />{' '}
        </>
      )}
      <Badge kind={kind} text={text} />
      {inDoubtCalls > 0 && (
        <>
          {' '}
          <Badge kind="warn" text={`${plural(inDoubtCalls, 'call')} in doubt`} />
        </>
      )}
      {overdue && (
        <>
          {' '}
          <Badge kind="warn" text="overdue" />
        </>
      )}
    </span>
  )
}
