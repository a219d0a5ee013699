/** @module How the log grew, checkpoint by checkpoint; the table beside it says the same. */
import { count } from '../format.ts'

export interface GrowthPoint {
  readonly time: string
  readonly size: number
  readonly root: string
}

const WIDTH = 1_200
const HEIGHT = 180
const PAD = { left: 70, right: 20, top: 14, bottom: 26 }

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
    <svg class="growth card" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <line class="growth-axis" x1={PAD.left} y1={bottom} x2={WIDTH - PAD.right} y2={bottom} />
      <text x={PAD.left - 10} y={PAD.top + 6} text-anchor="end">
        {count(last.size)}
      </text>
      <text x={PAD.left - 10} y={bottom} text-anchor="end">
        0
      </text>
      <text x={PAD.left} y={HEIGHT - 6}>
        {first.time.slice(0, 16).replace('T', ' ')}
      </text>
      <text x={WIDTH - PAD.right} y={HEIGHT - 6} text-anchor="end">
        {last.time.slice(0, 16).replace('T', ' ')}
      </text>
      <polygon class="growth-area" points={area} />
      <polyline class="growth-line" points={line} />
      {placed.map(({ x, y }) => (
        <circle class="growth-point" cx={x} cy={y} r={3} />
      ))}
    </svg>
  )
}

/** By time from left to right; one moment alone stands on the left. */
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
