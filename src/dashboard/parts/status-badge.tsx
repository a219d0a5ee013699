/** @module How a run stands, as a mark: a rollback by its verdict, and what is in doubt or overdue in words of its own. */
import { plural } from '../format.ts'
import { verdictMark } from '../verdict-marks.ts'
import { Badge } from './data.tsx'

export interface StatusBadgeProps {
  readonly status: string
  readonly compensation?: string | undefined
  readonly inDoubtCalls?: number
  readonly overdue?: boolean | undefined
  /** An event of the run is on record as broken. */
  readonly seal?: 'invalid' | undefined
}

export function StatusBadge({ status, compensation, inDoubtCalls = 0, overdue = false, seal }: StatusBadgeProps) {
  const { kind, text } = verdictMark(compensation) ?? { kind: status, text: compensation ?? status }
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
