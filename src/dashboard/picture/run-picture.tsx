/** @module The picture as SVG. Every mark and bar is a link to its event; the table below the picture has the same content in words. */

import { count, money } from '../format.ts'
import type { RunPlace } from '../paths.ts'
import { visibleText } from '../visible.ts'
import type { BudgetStrip } from './budget-strip.ts'
import { ClippedText } from './clipped-text.tsx'
import { Bar } from './draw-bar.tsx'
import { MARK_RADIUS_PX, MarkLink } from './draw-mark.tsx'
import type { Arc, Lane, Picture, Undo } from './layout.ts'
import type { Line } from './placed.ts'
import { TICK_PX } from './scale.ts'

const LABELS_PX = 148

export interface PictureProps {
  readonly run: RunPlace
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
          <g class="lanes-on-paper" transform={`translate(${-LABELS_PX} 0)`} aria-hidden="true">
            <LaneTexts picture={picture} currency={currency} />
          </g>
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
              <ClippedText x={x - TICK_PX / 2} y={axisY - 22} width={TICK_PX} height={16} text={label} kind="tick" />
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

/** Outside the scrolling part, so that each lane's name is always visible. */
function LaneLabels({ picture, currency }: Pick<PictureProps, 'picture' | 'currency'>) {
  const { height } = picture
  return (
    <svg
      class="lane-labels"
      width={LABELS_PX}
      height={height}
      viewBox={`0 0 ${LABELS_PX} ${height}`}
      aria-hidden="true"
    >
      <LaneTexts picture={picture} currency={currency} />
    </svg>
  )
}

function LaneTexts({ picture: { lanes, budget }, currency }: Pick<PictureProps, 'picture' | 'currency'>) {
  return (
    <>
      {lanes.map((lane: Lane) => (
        <g>
          <line class="lane-edge" x1={0} y1={lane.y} x2={LABELS_PX} y2={lane.y} />
          <LaneText
            y={lane.y + 10}
            text={lane.name === '' ? 'the run' : visibleText(lane.name)}
            muted={lane.name === ''}
          />
        </g>
      ))}
      {budget !== undefined && <BudgetLabels strip={budget} currency={currency} />}
    </>
  )
}

function BudgetLabels({ strip, currency }: { readonly strip: BudgetStrip; readonly currency: string | undefined }) {
  const { y, spent, held, cap, overshot } = strip
  const shown = (amount: string) =>
    strip.unit === 'cost' ? money(amount, currency) : `${count(Number(amount))} tokens`
  return (
    <g>
      <LaneText y={y} text={`spent ${shown(spent)}`} muted />
      <LaneText y={y + 18} text={`reserved ${shown(held)}`} muted />
      <LaneText y={y + 36} text={cap === undefined ? 'no cap' : `cap ${shown(cap)}`} muted />
      {overshot && <LaneText y={y + 54} text="overshot" kind="lane-bad" />}
    </g>
  )
}

interface LaneTextProps {
  readonly y: number
  readonly text: string
  readonly muted?: boolean
  readonly kind?: string
}

function LaneText({ y, text, muted = false, kind = muted ? 'lane-muted' : 'lane' }: LaneTextProps) {
  return <ClippedText x={12} y={y} width={LABELS_PX - 18} height={18} text={text} kind={kind} />
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
