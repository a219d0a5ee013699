/** @module The horizontal position of a revision: one column each, or by time. */

export type ScaleKind = 'steps' | 'time'

export interface Point {
  readonly revision: number
  readonly time: string
}

export interface Scale {
  readonly width: number
  readonly x: (point: Point) => number
  readonly ticks: readonly { readonly x: number; readonly label: string }[]
}

const PAD_PX = 40
const COLUMN_PX = 36
const WIDTH_MIN_PX = 1_160
/** Width of a tick's label, centred on its line. */
export const TICK_PX = 2 * PAD_PX
/** Number of columns between two ticks. */
const TICK_COLUMNS = 4

/** `points`: the revisions that have a position, in order; any other revision gets that of the nearest one before it. */
export function createScale(kind: ScaleKind, points: readonly Point[]): Scale {
  const width = Math.max(WIDTH_MIN_PX, 2 * PAD_PX + Math.max(0, points.length - 1) * COLUMN_PX)
  return kind === 'steps' ? byColumn(points, width) : byClock(points, width)
}

function byColumn(points: readonly Point[], width: number): Scale {
  const revisions = points.map(({ revision }) => revision)
  const at = (index: number): number => PAD_PX + Math.max(0, index) * COLUMN_PX
  return {
    width,
    x: ({ revision }) => at(lastAtMost(revisions, revision)),
    ticks: points.flatMap(({ time }, index) =>
      index % TICK_COLUMNS === 0 ? [{ x: at(index), label: time.slice(11, 19) }] : [],
    ),
  }
}

function byClock(points: readonly Point[], width: number): Scale {
  const start = Date.parse(points[0]?.time ?? '') || 0
  const lengthMs = Math.max(1, (Date.parse(points.at(-1)?.time ?? '') || 0) - start)
  const room = width - 2 * PAD_PX
  const steps = Math.max(2, Math.floor(room / (COLUMN_PX * TICK_COLUMNS)))
  const ticks = Array.from({ length: steps + 1 }, (_, index) => ({
    x: PAD_PX + (room * index) / steps,
    label: new Date(start + (lengthMs * index) / steps).toISOString().slice(11, lengthMs < 10_000 ? 23 : 19),
  }))
  return {
    width,
    x: ({ time }) => PAD_PX + (room * Math.min(lengthMs, Math.max(0, (Date.parse(time) || start) - start))) / lengthMs,
    ticks,
  }
}

/** Index of the last number that is at most `value`; -1 if there is none. */
function lastAtMost(sorted: readonly number[], value: number): number {
  let low = 0
  let high = sorted.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sorted[middle] ?? Number.POSITIVE_INFINITY) <= value) low = middle + 1
    else high = middle
  }
  return low - 1
}
