/** @module Going through a run window by window, and choosing how time is drawn. */
import { count } from '../format.ts'
import { runPath } from '../paths.ts'
import type { Run } from '../run-row.ts'

export interface PagerProps {
  readonly run: Run
  readonly window: { readonly from: number; readonly to: number }
  readonly scale: 'steps' | 'time'
  readonly size: number
}

export function Pager({ run, window: { from, to }, scale, size }: PagerProps) {
  const at = (start: number): string => runPath(run, { from: start, scale: scale === 'steps' ? undefined : scale })
  const other = scale === 'steps' ? 'time' : undefined
  return (
    <nav class="pager" aria-label="Events shown">
      {from > 0 && (
        <a href={at(Math.max(0, from - size))} rel="prev">
          Earlier
        </a>
      )}
      <span class="muted">
        Events {count(from)} to {count(to)} of {count(run.revision + 1)}
      </span>
      {to < run.revision && (
        <a href={at(to + 1)} rel="next">
          Later
        </a>
      )}
      <a href={runPath(run, { from, scale: other })}>
        {scale === 'steps' ? 'Draw by the clock' : 'Draw event by event'}
      </a>
    </nav>
  )
}
