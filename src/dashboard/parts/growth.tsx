/** @module The growth of the log, checkpoint by checkpoint; a table on the page has the same data. */
import { count, plural } from '../format.ts'
import { Time } from './data.tsx'

export interface GrowthPoint {
  readonly time: string
  readonly size: number
  readonly root: string
}

const WIDTH = 1_200
const HEIGHT = 180
const PAD = { left: 6, right: 6, top: 8, bottom: 8 }

export function Growth({ points }: { readonly points: readonly GrowthPoint[] }) {
  const placed = placedPoints(points)
  const last = points.at(-1)
  const first = points[0]
  if (last === undefined || first === undefined) return null
  const bottom = HEIGHT - PAD.bottom
  const line = placed.map(({ x, y }) => `${x},${y}`).join(' ')
  const area = `${placed[0]?.x},${bottom} ${line} ${placed.at(-1)?.x},${bottom}`
  const label = `The log grew from ${count(first.size)} to ${count(last.size)} events between ${first.time} and ${last.time}.`
  return (
    <figure class="growth card">
      <p>{plural(last.size, 'event')} at the top, 0 at the bottom; a dot is a checkpoint</p>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
        <line class="growth-axis" x1={PAD.left} y1={bottom} x2={WIDTH - PAD.right} y2={bottom} />
        <polygon class="growth-area" points={area} />
        <polyline class="growth-line" points={line} />
        {placed.map(({ x, y }) => (
          <line class="growth-point" x1={x} y1={y} x2={x} y2={y} />
        ))}
      </svg>
      <figcaption>
        <Time time={first.time} />
        <Time time={last.time} />
      </figcaption>
    </figure>
  )
}

/** By time from left to right; a single moment is at the left. */
function placedPoints(points: readonly GrowthPoint[]): readonly { readonly x: number; readonly y: number }[] {
  const times = points.map(({ time }) => Date.parse(time))
  const start = times[0] ?? 0
  const lengthMs = Math.max(1, (times.at(-1) ?? 0) - start)
  const most = Math.max(1, points.at(-1)?.size ?? 1)
  const [width, height] = [WIDTH - PAD.left - PAD.right, HEIGHT - PAD.top - PAD.bottom]
  return points.map(({ size }, index) => ({
    x: Math.round(PAD.left + (width * ((times[index] ?? start) - start)) / lengthMs),
    y: Math.round(PAD.top + height * (1 - size / most)),
  }))
}
