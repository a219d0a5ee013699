/**
 * @module Groups of many events, requested a stretch of the log at a time: no statement is longer for a larger log, other work goes on in
 * between, and whoever has left is asked for nothing more. What is kept meanwhile is a page.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Stretch } from '../../resources/stretch.ts'
import type { Pace } from '../../resources/work-queue.ts'
import type { AuditFilter, AuditIndex, AuditView, LeafWindow, RunGroup, RunPlace } from '../../store/audit-index.ts'

/** Rows of one statement: half a millisecond. */
const STRETCH_ROWS = 500

type RunFilter = Pick<AuditFilter, 'since' | 'until' | 'run'>

/** Every run in the order of their names, whole. Throws `ReaderLeftError` where the reader of `pace` has left. */
export async function* runGroups(
  index: Pick<AuditIndex, 'runStretch'>,
  view: AuditView,
  ask: {
    readonly filter: RunFilter
    readonly pace: Pace | undefined
    readonly openOnly?: boolean
    readonly after?: string
  },
): AsyncGenerator<RunGroup, void> {
  const { filter, pace, openOnly = false } = ask
  const isWanted = ({ firstTime, end }: RunGroup): boolean =>
    (filter.since === undefined || firstTime >= filter.since) &&
    (filter.until === undefined || firstTime < filter.until) &&
    !(openOnly && end !== undefined)
  // Behind all revisions of the run that came last.
  let after: RunPlace | undefined =
    ask.after === undefined ? undefined : { run: ask.after, revision: Number.MAX_SAFE_INTEGER }
  let begun: RunGroup | undefined
  for (;;) {
    const wait = pace?.turn()
    if (wait !== undefined) await wait
    const { groups, next } = index.runStretch(view, filter, { after, rows: STRETCH_ROWS })
    for (const group of groups) {
      if (begun !== undefined && begun.run !== group.run && isWanted(begun)) yield begun
      begun = begun?.run === group.run ? joined(begun, group) : group
    }
    if (next === undefined) break
    after = next
    if (pace === undefined) await nextTurn()
  }
  if (begun !== undefined && isWanted(begun)) yield begun
}

/** The first `limit` revisions of a run that are not there. Throws `ReaderLeftError`. */
export async function missingRevisions(
  index: Pick<AuditIndex, 'missingRevisions'>,
  view: AuditView,
  { run, limit, pace }: { readonly run: string; readonly limit: number; readonly pace: Pace | undefined },
): Promise<readonly number[]> {
  const found: number[] = []
  for (let from: number | undefined = 0; from !== undefined; ) {
    await (pace === undefined ? nextTurn() : pace.turn())
    const walk = { from, rows: STRETCH_ROWS, limit: limit - found.length }
    const { missing, next } = index.missingRevisions(view, run, walk)
    found.push(...missing)
    from = next
  }
  return found
}

/** Two parts of one run, the earlier revisions first. */
function joined(first: RunGroup, then: RunGroup): RunGroup {
  const end = (then.end?.leaf ?? -1) > (first.end?.leaf ?? -1) ? then.end : first.end
  return {
    run: first.run,
    events: first.events + then.events,
    firstRevision: first.firstRevision,
    lastRevision: then.lastRevision,
    ...spanOf(first, then),
    rejections: first.rejections + then.rejections,
    ...(end && { end }),
  }
}

type Span = Pick<RunGroup, 'firstTime' | 'lastTime'>

export function spanOf(a: Span, b: Span): Span {
  const [firstTime = a.firstTime] = [a.firstTime, b.firstTime].sort()
  const [, lastTime = a.lastTime] = [a.lastTime, b.lastTime].sort()
  return { firstTime, lastTime }
}

interface Summed<T> {
  /** Groups of one window, in the order of their keys, at most `limit`. */
  readonly groupsOf: (window: LeafWindow) => readonly T[]
  readonly add: (a: T, b: T) => T
  readonly compare: (a: T, b: T) => number
  readonly limit: number
}

/**
 * The first `limit` groups of the first `size` leaves. A group among the first of all is among the first of every window that it occurs in,
 * so that what comes after `limit` others may be forgotten.
 */
export async function summedGroups<T>(
  { groupsOf, add, compare, limit }: Summed<T>,
  {
    size,
    pace,
    stretch = new Stretch(),
  }: { readonly size: number; readonly pace: Pace | undefined; readonly stretch?: Stretch },
): Promise<readonly T[]> {
  let sums: readonly T[] = []
  for (let after = -1; after < size - 1; ) {
    const wait = pace?.turn()
    if (wait !== undefined) await wait
    const upTo = after + stretch.width
    const groups = stretch.measure(() => groupsOf({ after, upTo }))
    sums = merged(sums, groups, { add, compare }).slice(0, limit)
    after = upTo
    if (pace === undefined) await nextTurn()
  }
  return sums
}

function merged<T>(
  a: readonly T[],
  b: readonly T[],
  { add, compare }: Pick<Summed<T>, 'add' | 'compare'>,
): readonly T[] {
  if (b.length === 0) return a
  const all: T[] = []
  for (let [i, j] = [0, 0]; i < a.length || j < b.length; ) {
    const [left, right] = [a[i], b[j]]
    const order = left === undefined ? 1 : right === undefined ? -1 : compare(left, right)
    all.push(order === 0 ? add(left as T, right as T) : ((order < 0 ? left : right) as T))
    if (order <= 0) i += 1
    if (order >= 0) j += 1
  }
  return all
}
