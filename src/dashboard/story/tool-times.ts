/** @module The calls of a run by tool: their number, outcomes and durations. */
import type { Span } from './story-parts.ts'

export interface ToolTimes {
  readonly tool: string
  readonly calls: number
  readonly failed: number
  readonly inDoubt: number
  readonly undone: number
  readonly open: number
  /** Milliseconds, over calls that ended; undefined if none did. */
  readonly medianMs: number | undefined
  readonly longest: { readonly ms: number; readonly revision: number } | undefined
}

/** Ordered by total duration, longest first. A call in doubt has no known end and adds no duration. */
export function toolTimes(spans: readonly Span[]): readonly ToolTimes[] {
  const byTool = new Map<string, Span[]>()
  for (const span of spans) {
    const known = byTool.get(span.tool)
    if (known === undefined) byTool.set(span.tool, [span])
    else known.push(span)
  }
  const rows = [...byTool].map(([tool, calls]) => ({ row: timesOf(tool, calls), allMs: sum(calls.flatMap(tookMs)) }))
  return rows.sort((a, b) => b.allMs - a.allMs).map(({ row }) => row)
}

function timesOf(tool: string, spans: readonly Span[]): ToolTimes {
  const counted = (status: Span['status']): number => spans.filter((span) => span.status === status).length
  const ended = spans.flatMap((span) => tookMs(span).map((ms) => ({ ms, revision: span.from })))
  ended.sort((a, b) => a.ms - b.ms)
  return {
    tool,
    calls: spans.length,
    failed: counted('failed'),
    inDoubt: counted('in-doubt'),
    undone: counted('undone'),
    open: counted('open'),
    // For an even number, the lower of the two middle values: a duration that actually occurred.
    medianMs: ended[Math.floor((ended.length - 1) / 2)]?.ms,
    longest: ended.at(-1),
  }
}

function tookMs({ fromTime, toTime, status }: Span): readonly number[] {
  if (toTime === undefined || status === 'in-doubt') return []
  const ms = Date.parse(toTime) - Date.parse(fromTime)
  return Number.isNaN(ms) ? [] : [Math.max(0, ms)]
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
