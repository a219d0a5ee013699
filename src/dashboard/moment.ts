/** @module The moment at which a run's pages are shown: a size of the tenant's log, a time, or an event of the run. */
import { z } from 'zod'
import type { RunAt } from '../ledger/run-at.ts'
import { orRefused, Refused, type View } from './page.ts'
import { auditOf } from './pages/audit-query.ts'
import { type Run, runOf } from './run-row.ts'
import { instantOf, isZone } from './when.ts'

const EVENT = /^event-(\d{1,15})$/
const SIZE = /^[1-9]\d{0,14}$/
const MOMENTS_TAKEN =
  'give a number of events of the log, a time such as 2026-01-31 12:00, or an event of the run such as event-12'

/** Query parameters of every page of a run. */
export const MomentQuery = z.object({
  asOf: z.string().max(64).refine(isMoment, MOMENTS_TAKEN).optional(),
  zone: z.string().max(64).refine(isZone, 'give a zone such as UTC, Europe/Berlin or +02:00').optional(),
})

export type MomentQuery = z.output<typeof MomentQuery>

export interface Moment extends RunAt {
  /** The moment as written in addresses: it always denotes the same moment. */
  readonly asOf: string
  readonly treeSize?: number
  /** Time of the last event of the log at that moment. */
  readonly time?: string
}

function isMoment(text: string): boolean {
  return EVENT.test(text) || SIZE.test(text) || instantOf(text, { nowMs: 0, zone: 'UTC' }) !== undefined
}

/** Undefined if the page shows the present. Throws `Refused` for a moment that this run or this log does not have. */
export async function momentOf(view: View<MomentQuery>): Promise<Moment | undefined> {
  const { caller, deps, query, run } = view
  const { asOf, zone = 'UTC' } = query
  if (asOf === undefined) return undefined
  const [, event] = EVENT.exec(asOf) ?? []
  if (event !== undefined) return ofEvent(view, asOf, Number(event))
  const time = SIZE.test(asOf) ? undefined : instantOf(asOf, { nowMs: deps.now(), zone })
  const at = time === undefined ? { treeSize: Number(asOf) } : { time }
  const found = await auditOf(view).runMoment(caller, run, at)
  if (!found.ok) throw new Refused({ code: found.code, detail: found.detail })
  const { treeSize } = found.asOf
  return {
    asOf: String(treeSize),
    treeSize,
    revision: found.revision,
    time: found.time,
    timeMs: Date.parse(found.time),
  }
}

async function ofEvent({ caller, deps, run }: View, asOf: string, revision: number): Promise<Moment> {
  const last = orRefused(await deps.ledger.run(caller, run)).revision
  if (revision <= last) return { asOf, revision }
  throw new Refused({ code: 'invalid-query', detail: `The run has no event ${revision}: its last one is ${last}.` })
}

export interface RunThen {
  readonly run: Run
  readonly moment: Moment | undefined
  /** Revision of its last event now. */
  readonly last: number
}

/** The run at the moment of the page. */
export async function runThen(view: View<MomentQuery>): Promise<RunThen> {
  const { caller, deps } = view
  const now = await deps.ledger.run(caller, view.run)
  const state = runOf(orRefused(now))
  const moment = await momentOf(view)
  if (moment === undefined) return { run: state, moment, last: state.revision }
  const then = orRefused(await deps.ledger.run(caller, view.run, moment))
  return { run: runOf(then, moment.asOf), moment, last: state.revision }
}

/** Throws `Refused` for an event after the moment. */
export function within(moment: Moment | undefined, revision: number): void {
  if (moment === undefined || revision <= moment.revision) return
  const detail = `Event ${revision} came later than the moment that you look at: its last event is ${moment.revision}. Look at the run as it is now.`
  throw new Refused({ code: 'invalid-query', detail })
}
