/** @module Decides which runs retention archives now, and says why it leaves the others (LIFE-53, LIFE-54). Pure: the time comes in. */
import type { RetentionClass } from '../../schemas/retention.ts'

const DAY_MS = 86_400_000

/** What the list of runs says of a run. Times are RFC 3339. */
export interface RetainedRun {
  readonly runId: string
  readonly name: string
  readonly tags: readonly string[]
  readonly status: string
  readonly updatedAt: string
  readonly openCalls: number
  readonly inDoubtCalls: number
  /** Outcome of its rollback. */
  readonly compensation?: string | undefined
  /** Set if an event of it does not verify. */
  readonly seal?: string | undefined
}

/** Why a run stays. `unclassed`: no class matches it. `young`: its class keeps it longer. */
export const KEPT_BECAUSE = ['open', 'unclassed', 'young', 'held', 'in-doubt', 'damaged'] as const
export type KeptBecause = (typeof KEPT_BECAUSE)[number]

export type Retained =
  | { readonly kind: 'due'; readonly class: string; readonly since: string }
  | {
      readonly kind: 'kept'
      readonly why: KeptBecause
      readonly class?: string
      readonly dueAt?: string
      readonly hold?: string
    }

export interface RetentionAt {
  readonly tenant: string
  readonly classes: readonly RetentionClass[]
  readonly nowMs: number
  /** Id of the legal hold that covers a run; undefined if none does. */
  readonly holdOn: (runId: string) => string | undefined
}

/** The first class that matches decides. A hold, a call in doubt and damage win over every class. */
export function judgeRetention(run: RetainedRun, { tenant, classes, nowMs, holdOn }: RetentionAt): Retained {
  if (run.status === 'open') return { kind: 'kept', why: 'open' }
  const found = classes.find((each) => matches(each, tenant, run))
  if (found === undefined) return { kind: 'kept', why: 'unclassed' }
  const of = { class: found.class }
  const dueMs = Date.parse(run.updatedAt) + found.keep.atMost * DAY_MS
  // A time that cannot be read makes nothing due.
  if (!(dueMs <= nowMs))
    return {
      kind: 'kept',
      why: 'young',
      ...of,
      ...(Number.isNaN(dueMs) ? {} : { dueAt: new Date(dueMs).toISOString() }),
    }
  const hold = holdOn(run.runId)
  if (hold !== undefined) return { kind: 'kept', why: 'held', ...of, hold }
  if (run.openCalls > 0 || run.inDoubtCalls > 0 || run.compensation === 'IN_DOUBT')
    return { kind: 'kept', why: 'in-doubt', ...of }
  if (run.seal === 'invalid') return { kind: 'kept', why: 'damaged', ...of }
  return { kind: 'due', ...of, since: new Date(dueMs).toISOString() }
}

/** The class that still keeps a run, and until when at least; undefined if none does. Open runs count, from their last event so far. */
export function retentionFloor(
  run: Pick<RetainedRun, 'name' | 'tags' | 'status' | 'updatedAt'>,
  { tenant, classes, nowMs }: FloorAt,
): Floor | undefined {
  return floorOf(
    classes.find((each) => matches(each, tenant, run)),
    run.updatedAt,
    nowMs,
  )
}

/** The floor of a run of which only the time of its last event is known: of the classes that may apply to it, that of the one that keeps it longest. */
export function longestFloor(updatedAt: string, { tenant, classes, nowMs }: FloorAt): Floor | undefined {
  const own = classes.filter((each) => each.tenant === undefined || each.tenant === tenant)
  const [longest] = own.toSorted((one, other) => (other.keep.atLeast ?? 0) - (one.keep.atLeast ?? 0))
  return floorOf(longest, updatedAt, nowMs)
}

export type FloorAt = Pick<RetentionAt, 'tenant' | 'classes' | 'nowMs'>

export interface Floor {
  readonly class: string
  readonly until: string
}

function floorOf(found: RetentionClass | undefined, updatedAt: string, nowMs: number): Floor | undefined {
  const atLeast = found?.keep.atLeast
  if (found === undefined || atLeast === undefined) return undefined
  const untilMs = Date.parse(updatedAt) + atLeast * DAY_MS
  if (untilMs <= nowMs) return undefined
  // A time that cannot be read ends no term.
  return { class: found.class, until: Number.isNaN(untilMs) ? '' : new Date(untilMs).toISOString() }
}

function matches(
  { tenant: of, match = {} }: RetentionClass,
  tenant: string,
  run: Pick<RetainedRun, 'name' | 'tags' | 'status'>,
): boolean {
  const { name, tag, status } = match
  if (of !== undefined && of !== tenant) return false
  if (name !== undefined && name !== run.name) return false
  return (tag === undefined || run.tags.includes(tag)) && (status === undefined || status === run.status)
}
