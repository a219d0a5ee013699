/** @module The picture of a run as geometry: lanes, marks, bars, arcs and the budget line, placed by pure arithmetic. Rendering and links are separate. */
import { lanesOf } from '../story/run-story.ts'
import type { BudgetPoint, Mark, RunStory, Span } from '../story/story-parts.ts'
import { type BudgetStrip, type Limits, layoutBudget } from './budget-strip.ts'
import { packRows } from './pack-rows.ts'
import type { Line, PlacedMark } from './placed.ts'
import { createScale, type Scale, type ScaleKind } from './scale.ts'

const AXIS_PX = 26
/** Room for arcs above the lanes, if there are any. */
const ARCS_PX = 46
const NO_ARCS_PX = 6
const MARK_ROW_PX = 38
/** Height of a bar's label, which is above the bar. */
export const BAR_LABEL_PX = 16
export const BAR_PX = 9
const BAR_ROW_PX = BAR_LABEL_PX + BAR_PX + 5
const LANE_PAD_PX = 8
const BUDGET_PX = 78
const GAP_PX = 14

export interface Window {
  /** First and last revision, both included. */
  readonly from: number
  readonly to: number
}

export interface PlacedBar {
  readonly x: number
  readonly y: number
  readonly width: number
  /** Space reserved for the name above the bar; a longer name is clipped. */
  readonly label: { readonly x: number; readonly width: number }
  readonly span: Span
  /** Whether it began before the window; `cutRight`: whether it continues after it. */
  readonly cutLeft: boolean
  readonly cutRight: boolean
}

export interface Lane {
  readonly name: string
  readonly y: number
  readonly height: number
}

export interface Arc extends Line {
  readonly mark: Mark
  /** Highest point of the arc. */
  readonly top: number
}

export interface Undo extends Line {
  readonly callId: string
}

export interface Picture {
  readonly width: number
  readonly height: number
  readonly lanes: readonly Lane[]
  readonly marks: readonly PlacedMark[]
  readonly bars: readonly PlacedBar[]
  /** Lines from each accepted handoff to the next. */
  readonly handoffs: readonly Line[]
  readonly forks: readonly ForkLine[]
  readonly rewinds: readonly Arc[]
  /** Lines from a compensation back to the call that it undoes. */
  readonly undos: readonly Undo[]
  readonly ticks: readonly { readonly x: number; readonly label: string }[]
  readonly axisY: number
  readonly budget?: BudgetStrip
}

export interface PictureOptions {
  readonly window: Window
  readonly scale: ScaleKind
  readonly limits: Limits
}

export function layoutPicture(story: RunStory, { window, scale: kind, limits }: PictureOptions): Picture {
  const marks = story.marks.filter(({ revision }) => isWithin(window, revision))
  const spans = story.spans.filter(
    ({ from, to }) => from <= window.to && (to ?? Number.POSITIVE_INFINITY) >= window.from,
  )
  const scale = createScale(kind, pointsOf({ marks, spans, window }))
  const bars = spans.map((span) => extentOf(span, window, scale))
  const rows = packLanes(lanesOf(marks, spans), bars)
  const top = AXIS_PX + (marks.some(({ kind }) => kind === 'rewind') ? ARCS_PX : NO_ARCS_PX)
  const lanes = placeLanes(rows, top)
  const laneY = new Map(lanes.map(({ name, y }) => [name, y]))
  const placedMarks = marks.map((mark) => ({
    mark,
    x: scale.x(mark),
    y: (laneY.get(mark.lane) ?? top) + MARK_ROW_PX / 2,
  }))
  const placedBars = rows.flatMap(({ name, placed }) => placed.map((each) => barAt(each, laneY.get(name) ?? top)))
  const bottom = lanes.at(-1)
  const under = (bottom === undefined ? top : bottom.y + bottom.height) + GAP_PX
  const points = story.budgetPoints.filter(({ revision }) => revision <= window.to)
  const budget = layoutBudget(visible(points, window), { limits, y: under, height: BUDGET_PX, scale })
  return {
    width: scale.width,
    height: under + (budget === undefined ? 0 : BUDGET_PX + GAP_PX),
    lanes,
    marks: placedMarks,
    bars: placedBars,
    handoffs: handoffLines(placedMarks),
    forks: forkLines(placedMarks),
    rewinds: rewindArcs(placedMarks),
    undos: undoLines(placedBars),
    ticks: scale.ticks,
    axisY: AXIS_PX,
    ...(budget === undefined ? {} : { budget }),
  }
}

const isWithin = ({ from, to }: Window, revision: number): boolean => revision >= from && revision <= to

/** The last point before the window gives the level at which the line enters. */
function visible(points: readonly BudgetPoint[], { from }: Window): readonly BudgetPoint[] {
  const first = points.findIndex(({ revision }) => revision >= from)
  if (first < 0) return points.slice(-1)
  return points.slice(Math.max(0, first - 1))
}

interface Shown {
  readonly marks: readonly Mark[]
  readonly spans: readonly Span[]
  readonly window: Window
}

/** All revisions with a column, and their times. */
function pointsOf({ marks, spans, window }: Shown): readonly { revision: number; time: string }[] {
  const points = new Map<number, string>()
  for (const { revision, time } of marks) points.set(revision, time)
  for (const { from, fromTime, to, toTime } of spans) {
    if (isWithin(window, from)) points.set(from, fromTime)
    if (to !== undefined && isWithin(window, to)) points.set(to, toTime ?? fromTime)
  }
  return [...points].map(([revision, time]) => ({ revision, time })).sort((a, b) => a.revision - b.revision)
}

interface Extent {
  readonly label: PlacedBar['label']
  readonly x: number
  readonly width: number
  readonly span: Span
  readonly cutLeft: boolean
  readonly cutRight: boolean
}

const BAR_PAD_PX = 9
/** Typical width of a letter of a label; a label is clipped if a font needs more. */
const CHAR_PX = 7
const LABEL_MAX_PX = 200

function extentOf(span: Span, window: Window, scale: Scale): Extent {
  const cutLeft = span.from < window.from
  const cutRight = span.to === undefined || span.to > window.to
  const x1 = cutLeft ? 0 : scale.x({ revision: span.from, time: span.fromTime }) - BAR_PAD_PX
  const end = span.to === undefined || cutRight ? scale.width : scale.x({ revision: span.to, time: span.toTime ?? '' })
  const x2 = Math.min(scale.width, cutRight ? end : end + BAR_PAD_PX)
  const x = Math.max(0, x1)
  const width = Math.max(2 * BAR_PAD_PX, x2 - x)
  const room = Math.max(width, Math.min(LABEL_MAX_PX, span.tool.length * CHAR_PX + BAR_PAD_PX))
  const label = { x: Math.max(0, Math.min(x, scale.width - room)), width: room }
  return { x, width, label, span, cutLeft, cutRight }
}

interface PackedLane {
  readonly name: string
  readonly rows: number
  readonly placed: readonly { readonly item: Extent; readonly row: number }[]
}

/** A label may be longer than its bar: its space is kept free, too. */
function packLanes(names: readonly string[], bars: readonly Extent[]): readonly PackedLane[] {
  return names.map((name) => {
    const own = bars.filter(({ span }) => span.lane === name)
    const placed = packRows(own, ({ x, width, label }) => ({
      from: Math.min(x, label.x),
      to: Math.max(x + width, label.x + label.width),
    }))
    return { name, placed, rows: placed.reduce((most, { row }) => Math.max(most, row + 1), 0) }
  })
}

function placeLanes(packed: readonly PackedLane[], top: number): readonly Lane[] {
  let y = top
  return packed.map(({ name, rows }) => {
    const height = MARK_ROW_PX + rows * BAR_ROW_PX + LANE_PAD_PX
    const lane = { name, y, height }
    y += height
    return lane
  })
}

function barAt({ item, row }: { readonly item: Extent; readonly row: number }, laneTop: number): PlacedBar {
  return { ...item, y: laneTop + MARK_ROW_PX + row * BAR_ROW_PX }
}

/** Handoffs start at the last established one; after a rewind, at the restored one. */
function handoffLines(marks: readonly PlacedMark[]): readonly Line[] {
  const lines: Line[] = []
  const byRevision = new Map(marks.map((placed) => [placed.mark.revision, placed]))
  let last: PlacedMark | undefined
  for (const placed of marks) {
    const { mark, x, y } = placed
    if (mark.kind === 'rewind') last = byRevision.get(mark.restores ?? -1) ?? undefined
    if (mark.kind === 'start' || (mark.kind === 'join' && mark.cause === 'joined')) last = placed
    if (mark.kind === 'fork') {
      if (last !== undefined) lines.push({ x1: last.x, y1: last.y, x2: x, y2: y })
      last = placed
    }
    if (mark.kind !== 'accepted' && mark.kind !== 'rejected') continue
    if (last !== undefined) lines.push({ x1: last.x, y1: last.y, x2: x, y2: y })
    if (mark.kind === 'accepted') last = placed
  }
  return lines
}

/** A rewind to an event before the window leaves it on the left. */
function rewindArcs(marks: readonly PlacedMark[]): readonly Arc[] {
  const byRevision = new Map(marks.map((placed) => [placed.mark.revision, placed]))
  return marks.flatMap(({ mark, x, y }) => {
    if (mark.kind !== 'rewind') return []
    const target = byRevision.get(mark.restores ?? -1)
    const [x2, y2] = target === undefined ? [0, y] : [target.x, target.y]
    const top = Math.max(AXIS_PX + 2, AXIS_PX + ARCS_PX - 10 - Math.sqrt(Math.max(0, x - x2)) * 2)
    return [{ mark, x1: x, y1: y, x2, y2, top }]
  })
}

function undoLines(bars: readonly PlacedBar[]): readonly Undo[] {
  const byCall = new Map(bars.map((bar) => [bar.span.callId, bar]))
  return bars.flatMap((bar) => {
    const forward = bar.span.compensates === undefined ? undefined : byCall.get(bar.span.compensates)
    if (forward === undefined) return []
    const middle = BAR_LABEL_PX + BAR_PX / 2
    return [
      { callId: bar.span.callId, x1: bar.x, y1: bar.y + middle, x2: forward.x + forward.width, y2: forward.y + middle },
    ]
  })
}

// The lines of forks: from the start of a fork to each branch, and from the merged branches to the join.

interface ForkLine extends Line {
  readonly merged: boolean
}

function forkLines(marks: readonly PlacedMark[]): readonly ForkLine[] {
  const opened = new Map<string, PlacedMark>()
  /** The last report of each branch. */
  const reports = new Map<string, PlacedMark>()
  const lines: ForkLine[] = []
  for (const placed of marks) {
    const { kind, fork = '', branches = [] } = placed.mark
    if (kind === 'fork') opened.set(fork, placed)
    if (kind === 'offer' || kind === 'branch') {
      const name = `${fork} ${branches[0] ?? ''}`
      const from = reports.get(name) ?? opened.get(fork)
      if (from !== undefined)
        lines.push({ ...between(from, placed), merged: kind === 'offer' || placed.mark.cause === 'merged' })
      reports.set(name, placed)
    }
    if (kind !== 'join') continue
    for (const branch of branches) {
      const from = reports.get(`${fork} ${branch}`)
      if (from !== undefined) lines.push({ ...between(from, placed), merged: true })
    }
  }
  return lines
}

function between(from: PlacedMark, to: PlacedMark): Line {
  return { x1: from.x, y1: from.y, x2: to.x, y2: to.y }
}
