/** @module The status of a run as badges: a rollback is shown by its verdict, and calls in doubt or overdue have separate badges. */
import { plural } from '../format.ts'
import { verdictMark } from '../verdict-marks.ts'
import { Badge } from './data.tsx'

export interface StatusBadgeProps {
  readonly status: string
  readonly compensation?: string | undefined
  readonly inDoubtCalls?: number
  readonly overdue?: boolean | undefined
  /** The code of its worker cannot carry it on. */
  readonly stuck?: object | undefined
  /** An event of the run is recorded as broken. */
  readonly seal?: 'invalid' | undefined
  /** Every loss that is known of the run is acknowledged. */
  readonly lost?: boolean
}

export function StatusBadge({
  status,
  compensation,
  inDoubtCalls = 0,
  overdue = false,
  stuck,
  seal,
  lost = false,
}: StatusBadgeProps) {
  const { kind, text } = verdictMark(compensation) ?? { kind: status, text: compensation ?? status }
  return (
    <span class="badges">
      {seal === 'invalid' && (
        <>
          <Badge {...(lost ? { kind: 'open', text: 'lost for good' } : { kind: 'bad', text: 'seal broken' })} />{' '}
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
      {stuck !== undefined && (
        <>
          {' '}
          <Badge kind="warn" text="stuck" />
        </>
      )}
    </span>
  )
}
