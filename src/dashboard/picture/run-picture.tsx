/** @module The picture as SVG. Every mark and bar is a link to its event; the table below the picture says the same in words. */

import { eventPath, refusalPath } from '../paths.ts'
import { clipped, visibleText } from '../visible.ts'
import type { BudgetStrip } from './budget-strip.ts'
import { barLabel, markLabel } from './labels.ts'
import type { Arc, Lane, Picture, PlacedBar, Undo } from './layout.ts'
import type { Line, PlacedMark } from './placed.ts'

export const LABELS_PX = 148
const LABEL_CHARS = 20

export interface PictureProps {
  readonly run: string
  readonly picture: Picture
  readonly currency: string | undefined
}

export function RunPicture({ run, picture, currency }: PictureProps) {
  const { width, height, lanes, axisY, ticks } = picture
  return (
    <div class="picture">
      <LaneLabels picture={picture} currency={currency} />
      <section
        class="picture-scroll"
        tabindex={0}
        aria-label="Picture of the run; the table below holds the same events"
      >
        <svg
          class="run-picture"
          width={width}
          height={height}
          viewBox={`0 0 ${width} ${height}`}
          role="group"
          aria-label="Handoffs, calls, rewinds and spending, left to right"
        >
          <Definitions />
          {lanes.map((lane, index) => (
            <rect
              class={`lane ${index % 2 === 0 ? 'lane-even' : 'lane-odd'}`}
              x={0}
              y={lane.y}
              width={width}
              height={lane.height}
            />
          ))}
          {ticks.map(({ x, label }) => (
            <g class="tick" aria-hidden="true">
              <line x1={x} y1={axisY - 6} x2={x} y2={height} />
              <text x={x} y={axisY - 11} text-anchor="middle">
                {label}
              </text>
            </g>
          ))}
          {picture.budget !== undefined && <BudgetLine strip={picture.budget} width={width} />}
          {picture.handoffs.map((line) => (
            <path class="handoff" d={curve(line)} />
          ))}
          {picture.forks.map((line) => (
            <path class={line.merged ? 'fork-line' : 'fork-line fork-lost'} d={curve(line)} />
          ))}
          {picture.undos.map((undo) => (
            <UndoLine undo={undo} />
          ))}
          {picture.rewinds.map((arc) => (
            <path class="rewind" d={rewindPath(arc)} marker-end="url(#arrow)" />
          ))}
          {picture.bars.map((bar) => (
            <Bar run={run} bar={bar} />
          ))}
          {picture.marks.map((placed) => (
            <MarkLink run={run} placed={placed} currency={currency} />
          ))}
        </svg>
      </section>
    </div>
  )
}

/** Beside the part that scrolls, so that a lane always says whose it is. */
function LaneLabels({ picture, currency }: Pick<PictureProps, 'picture' | 'currency'>) {
  const { lanes, height, budget } = picture
  return (
    <svg
      class="lane-labels"
      width={LABELS_PX}
      height={height}
      viewBox={`0 0 ${LABELS_PX} ${height}`}
      aria-hidden="true"
    >
      {lanes.map((lane: Lane) => (
        <g>
          <title>{visibleText(lane.name)}</title>
          <line class="lane-edge" x1={0} y1={lane.y} x2={LABELS_PX} y2={lane.y} />
          <text x={12} y={lane.y + 24} class={lane.name === '' ? 'lane-run' : ''}>
            {lane.name === '' ? 'the run' : clipped(visibleText(lane.name), LABEL_CHARS)}
          </text>
        </g>
      ))}
      {budget !== undefined && (
        <g>
          <text x={12} y={budget.y + 14} class="lane-run">
            {budget.kind === 'left' ? 'budget left' : 'spent'}
          </text>
          <text x={12} y={budget.y + 32} class="small">
            {`of ${budget.top}${budget.unit === 'cost' ? ` ${currency ?? ''}` : ' tokens'}`.replace(
              /^of /,
              budget.kind === 'left' ? 'of ' : '',
            )}
          </text>
          {budget.overshot && (
            <text x={12} y={budget.y + 50} class="small bad">
              overshot
            </text>
          )}
        </g>
      )}
    </svg>
  )
}

function Definitions() {
  return (
    <defs>
      <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">
        <path class="arrow-head" d="M0 0 8 4 0 8z" />
      </marker>
      <marker id="arrow-undo" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
        <path class="arrow-undo" d="M0 0 8 4 0 8z" />
      </marker>
      <pattern id="stripes" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
        <rect class="stripe-ground" width="7" height="7" />
        <rect class="stripe" width="2.5" height="7" />
      </pattern>
    </defs>
  )
}

function curve({ x1, y1, x2, y2 }: Line): string {
  if (y1 === y2) return `M${x1} ${y1}H${x2}`
  const middle = x1 + (x2 - x1) / 2
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`
}

const MARK_RADIUS_PX = 12

function rewindPath({ x1, y1, x2, y2, top }: Arc): string {
  const down = y2 - MARK_RADIUS_PX - 3
  return `M${x1} ${y1 - MARK_RADIUS_PX}C${x1} ${top} ${x2} ${top} ${x2} ${down}`
}

function UndoLine({ undo: { x1, y1, x2, y2 } }: { readonly undo: Undo }) {
  const middle = x1 - Math.max(12, (x1 - x2) / 2)
  return (
    <path
      class="undo"
      d={`M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2 + 2} ${y2}`}
      marker-end="url(#arrow-undo)"
    />
  )
}

const BAR_PX = 17

function Bar({ run, bar }: { readonly run: string; readonly bar: PlacedBar }) {
  const { x, y, width, span, cutLeft, cutRight } = bar
  const label = barLabel(span)
  const kind = span.compensates === undefined ? span.phase : 'compensation'
  return (
    <a class="item" href={eventPath(run, span.from)} aria-label={label} data-revision={span.from}>
      <title>{label}</title>
      <rect class={`bar bar-${kind} bar-${span.status}`} x={x} y={y} width={width} height={BAR_PX} rx={4} />
      {span.status === 'undone' && (
        <line class="struck" x1={x + 4} y1={y + BAR_PX / 2} x2={x + width - 4} y2={y + BAR_PX / 2} />
      )}
      {cutLeft && <path class="cut" d={`M${x} ${y}v${BAR_PX}`} />}
      {cutRight && span.to === undefined && <path class="open-end" d={`M${x + width - 1} ${y}v${BAR_PX}`} />}
      <text class="bar-text" x={x + 7} y={y + 12.5}>
        {clipped(visibleText(span.tool), 40)}
      </text>
    </a>
  )
}

function MarkLink({ run, placed, currency }: { run: string; placed: PlacedMark; currency: string | undefined }) {
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

function MarkShape({ x, y, mark }: PlacedMark) {
  switch (mark.kind) {
    case 'accepted':
      return (
        <>
          <circle cx={x} cy={y} r={MARK_RADIUS_PX} />
          <text x={x} y={y + 4} text-anchor="middle">
            {mark.step}
          </text>
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
          <rect x={x - 9} y={y - 9} width={18} height={18} rx={mark.kind === 'start' ? 9 : 4} />
          <path class="glyph" d={glyph(mark.kind, x, y)} />
        </>
      )
  }
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
    default:
      return `M${x - 3} ${y}h6`
  }
}

const points = (line: BudgetStrip['line']): string => line.map(({ x, y }) => `${round(x)},${round(y)}`).join(' ')
const round = (value: number): number => Math.round(value * 10) / 10

function BudgetLine({ strip, width }: { readonly strip: BudgetStrip; readonly width: number }) {
  const bottom = strip.y + strip.height
  const first = strip.line[0]
  const last = strip.line.at(-1)
  if (first === undefined || last === undefined) return null
  const area = `${round(first.x)},${bottom} ${points(strip.line)} ${round(last.x)},${bottom}`
  return (
    <g class={`budget budget-${strip.kind}`} aria-hidden="true">
      <rect class="budget-ground" x={0} y={strip.y} width={width} height={strip.height} />
      <polygon class="budget-area" points={area} />
      <polyline class="budget-reserved" points={points(strip.reserved)} />
      <polyline class="budget-line" points={points(strip.line)} />
    </g>
  )
}
