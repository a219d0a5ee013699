/** @module Paging through a run by windows of events, and the choice of the time scale. */
import { count } from '../format.ts'
import { runPath } from '../paths.ts'
import type { Run } from '../run-row.ts'

export interface PagerProps {
  readonly run: Run
  readonly window: { readonly from: number; readonly to: number }
  readonly scale: 'steps' | 'time'
  readonly size: number
  /** Accessible name: the page has one pager above its events and one below. */
  readonly label?: string
}

export function Pager({ run, window: { from, to }, scale, size, label = 'Events shown' }: PagerProps) {
  const at = (start: number): string => runPath(run, { from: start, scale: scale === 'steps' ? undefined : scale })
  const other = scale === 'steps' ? 'time' : undefined
  return (
    <nav class="pager" aria-label={label}>
      {from > 0 && (
        <a href={at(Math.max(0, from - size))} rel="prev">
          Earlier
        </a>
      )}
      <span class="muted">
        {from === to ? `Event ${count(from)}` : `Events ${count(from)} to ${count(to)}`} of {count(run.revision + 1)}
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
