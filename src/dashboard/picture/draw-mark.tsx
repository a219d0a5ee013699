/** @module A notable event as a sign, linked to the event. */
import { eventPath, type RunPlace, refusalPath } from '../paths.ts'
import { markLabel } from './labels.ts'
import type { PlacedMark } from './placed.ts'

export const MARK_RADIUS_PX = 12

export function MarkLink({
  run,
  placed,
  currency,
}: {
  run: RunPlace
  placed: PlacedMark
  currency: string | undefined
}) {
  const { x, y, mark } = placed
  const label = markLabel(mark, currency)
  const href = mark.kind === 'rejected' ? refusalPath(run, mark.revision) : eventPath(run, mark.revision)
  return (
    <a
      class={`item mark mark-${mark.kind}${mark.cause === undefined ? '' : ` cause-${mark.cause}`}`}
      href={href}
      aria-label={label}
      data-revision={mark.revision}
    >
      <title>{label}</title>
      <MarkShape x={x} y={y} mark={mark} />
    </a>
  )
}

/** Signs that open something are round and those that end it are square; for a rollback it is the reverse. */
const ROUND: ReadonlySet<string> = new Set(['start', 'undone', 'approval', 'wait'])

export type MarkShapeProps = Pick<PlacedMark, 'x' | 'y'> & {
  readonly mark: Pick<PlacedMark['mark'], 'kind' | 'step' | 'findings' | 'supersedes'>
}

export function MarkShape({ x, y, mark }: MarkShapeProps) {
  switch (mark.kind) {
    case 'accepted':
      return (
        <>
          <StepSign x={x} y={y} step={mark.step} />
          {mark.findings !== undefined && <circle class="warned" cx={x + 9} cy={y - 9} r={4} />}
          {mark.supersedes !== undefined && <circle class="superseded" cx={x - 9} cy={y - 9} r={4} />}
        </>
      )
    case 'rejected':
      return (
        <>
          <path d={`M${x} ${y - 13}l13 13-13 13-13-13z`} />
          <path class="cross" d={`M${x - 4} ${y - 4}l8 8m0-8-8 8`} />
        </>
      )
    case 'rewind':
      return (
        <>
          <circle cx={x} cy={y} r={9} />
          <path class="glyph" d={`M${x + 4} ${y}h-8m3-3-3 3 3 3`} />
        </>
      )
    default:
      return (
        <>
          <rect x={x - 9} y={y - 9} width={18} height={18} rx={ROUND.has(mark.kind) ? 9 : 4} />
          <path class="glyph" d={glyph(mark.kind, x, y)} />
        </>
      )
  }
}

/** Width of the sign by the number of digits of its step; the number is fitted to it, whatever the font. */
const STEP_PX = [24, 24, 24, 28, 32] as const
const STEP_MOST_PX = 34

function StepSign({ x, y, step }: { readonly x: number; readonly y: number; readonly step: number | undefined }) {
  const digits = String(step ?? '')
  const width = STEP_PX[digits.length] ?? STEP_MOST_PX
  const fit =
    digits.length < 2 ? {} : { textLength: Math.min(digits.length * 7, width - 8), lengthAdjust: 'spacingAndGlyphs' }
  return (
    <>
      <rect
        class="step"
        x={x - width / 2}
        y={y - MARK_RADIUS_PX}
        width={width}
        height={2 * MARK_RADIUS_PX}
        rx={MARK_RADIUS_PX}
      />
      <text x={x} y={y + 4} text-anchor="middle" {...fit}>
        {digits}
      </text>
    </>
  )
}

function glyph(kind: string, x: number, y: number): string {
  switch (kind) {
    case 'start':
      return `M${x - 2.5} ${y - 4}l6 4-6 4z`
    case 'completed':
      return `M${x - 4.5} ${y}l3.5 3.5 6-7`
    case 'failed':
      return `M${x - 4} ${y - 4}l8 8m0-8-8 8`
    case 'refused':
      return `M${x - 4.5} ${y}h9`
    case 'offer':
      return `M${x} ${y + 4}v-8m-3.5 3.5 3.5-3.5 3.5 3.5`
    case 'branch':
      return `M${x - 4} ${y}h8`
    case 'fork':
      return `M${x - 5} ${y}h3l4-4h3m-7 4 4 4h3`
    case 'join':
      return `M${x + 5} ${y}h-3l-4-4h-3m7 4-4 4h-3`
    case 'undo':
    case 'undone':
      return `M${x + 4} ${y + 3}c0-7-8-7-8 0m0 0-2-3.5m2 3.5 3-2`
    case 'approval':
      return `M${x - 2.5} ${y - 2.5}c0-3.5 5-3.5 5 0 0 2-2.5 2-2.5 4m0 3v.1`
    case 'granted':
      return `M${x - 4.5} ${y}l3.5 3.5 6-7`
    case 'denied':
      return `M${x - 4} ${y - 4}l8 8m0-8-8 8`
    case 'lapsed':
      return `M${x} ${y - 4.5}v5l3.5 2`
    case 'wait':
      return `M${x - 2.5} ${y - 4}v8m5-8v8`
    case 'woken':
      return `M${x - 4} ${y - 4}v8m3-8 5 4-5 4z`
    case 'signal':
      return `M${x + 0.5} ${y - 5.5}l-4 6h6l-4 6`
    case 'unheard':
      return `M${x - 4.5} ${y + 4.5}l9-9m-5 0h5v5`
    case 'judged':
      return `M${x} ${y - 5}v9.5m-3 0h6m-8.5-7h11m-11 0-1 4h4l-1.5-4m8 0-1.5 4h4l-1-4`
    case 'bounds':
      return `M${x - 5} ${y - 2}v-3h3m4 0h3v3m0 4v3h-3m-4 0h-3v-3`
    case 'related':
      return `M${x - 4} ${y - 5}v5c0 3 2 4 4 4h4m-3-3 3 3-3 3`
    case 'resumed':
      return `M${x - 4.5} ${y}a4.5 4.5 0 1 1 1.5 3.4m-1.6-3.4 0 3.6 3.2-.2`
    case 'left':
      return `M${x + 4.5} ${y}h-9m3.5-3.5-3.5 3.5 3.5 3.5`
    case 'withheld':
      return `M${x - 5} ${y}h10m-10-3.5h4m2 0h4m-10 7h6`
    default:
      return `M${x - 3} ${y}h6`
  }
}
