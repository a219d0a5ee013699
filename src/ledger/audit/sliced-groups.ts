/**
 * @module Aggregates many events into groups, one range of the log at a time: the duration of a statement does not depend on the size of the log,
 * other work runs in between, and the work stops when the reader has left. Only one page is held in memory.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { hasPart } from '../../../schemas/one-case.ts'
import { ScanWindow } from '../../resources/scan-window.ts'
import type { Pace } from '../../resources/work-queue.ts'
import type { AuditFilter, AuditIndex, AuditView, LeafWindow, RunGroup } from '../../store/audit-index.ts'

/** Maximum number of rows per statement: half a millisecond. */
export const STRETCH_ROWS = 500
/** Maximum number of runs per statement: about a millisecond. */
const STRETCH_RUNS = 250

type StartFilter = Pick<AuditFilter, 'since' | 'until' | 'run' | 'runContains'>

/**
 * The names of all runs that began within the period, in their order, regardless of their events. Throws `ReaderLeftError` if the reader of `pace`
 * has left.
 */
export async function* runNames(
  index: Pick<AuditIndex, 'runStarts' | 'runPart'>,
  view: AuditView,
  {
    filter,
    pace,
    openOnly = false,
  }: { readonly filter: StartFilter; readonly pace: Pace | undefined; readonly openOnly?: boolean },
): AsyncGenerator<readonly string[], void> {
  const { run, runContains = '', since, until } = filter
  const isWanted = (time: string): boolean =>
    (since === undefined || time >= since) && (until === undefined || time < until)
  if (run !== undefined) {
    const group = await runGroup(index, view, { run, pace })
    const exists =
      group !== undefined &&
      isWanted(group.firstTime) &&
      !(openOnly && group.end !== undefined) &&
      hasPart(run, runContains)
    return yield exists ? [run] : []
  }
  for (let after: string | undefined = ''; after !== undefined; ) {
    await (pace === undefined ? nextTurn() : pace.turn())
    const { starts, next } = index.runStarts(view, { after, runs: STRETCH_RUNS, openOnly })
    yield starts.filter(({ run, time }) => isWanted(time) && hasPart(run, runContains)).map((start) => start.run)
    after = next
  }
}

/** Aggregate of the events of a run; undefined if there are none. */
export async function runGroup(
  index: Pick<AuditIndex, 'runPart'>,
  view: AuditView,
  { run, pace }: { readonly run: string; readonly pace: Pace | undefined },
): Promise<RunGroup | undefined> {
  let whole: RunGroup | undefined
  for (let after: number | undefined = -1; after !== undefined; ) {
    const wait = pace?.turn()
    if (wait !== undefined) await wait
    const { group, next } = index.runPart(view, run, { after, rows: STRETCH_ROWS })
    if (group !== undefined) whole = whole === undefined ? group : joined(whole, group)
    after = next
    if (pace === undefined && after !== undefined) await nextTurn()
  }
  return whole
}

/** The first `limit` missing revisions of a run. Throws `ReaderLeftError`. */
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

/** Joins two parts of one run; `first` has the earlier revisions. */
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

export interface Summing<T> {
  readonly add: (a: T, b: T) => T
  readonly compare: (a: T, b: T) => number
  readonly limit: number
}

interface Summed<T> extends Summing<T> {
  /** Groups of one window, in the order of their keys, at most `limit`. */
  readonly groupsOf: (window: LeafWindow) => readonly T[]
}

/**
 * The first `limit` groups of the first `size` leaves. A group that is among the first overall is among the first of every window in which it occurs,
 * so groups after the first `limit` can be dropped.
 */
export async function summedGroups<T>(
  summed: Summed<T>,
  {
    size,
    pace,
    window = new ScanWindow(),
  }: { readonly size: number; readonly pace: Pace | undefined; readonly window?: ScanWindow },
): Promise<readonly T[]> {
  let sums: readonly T[] = []
  for (let after = -1; after < size - 1; ) {
    const wait = pace?.turn()
    if (wait !== undefined) await wait
    const upTo = after + window.width
    sums = mergedGroups(
      sums,
      window.measure(() => summed.groupsOf({ after, upTo })),
      summed,
    )
    after = upTo
    if (pace === undefined) await nextTurn()
  }
  return sums
}

/** Merges two lists in the order of their keys; returns the first `limit` groups. */
export function mergedGroups<T>(a: readonly T[], b: readonly T[], summing: Summing<T>): readonly T[] {
  return merged(a, b, summing).slice(0, summing.limit)
}

/** The order of keys in the index: by the bytes of their texts. */
export function compareBytes(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b))
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
