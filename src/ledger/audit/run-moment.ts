/** @module Points in the past of a tenant's log: its size at a time, and the last event of a run at that point. */
import type { Caller } from '../../access/caller.ts'
import { ofWholeTenant } from '../../access/check-access.ts'
import type { AuditIndex } from '../../store/audit-index.ts'
import { againIfRenewed } from '../../store/derived-file.ts'
import type { AuditReads, AuditRefusal, LogMoment, RunMoment, RunMomentRefusal } from './audit-reads.ts'
import { beyondLog, wholeTenantOnly } from './question-fault.ts'
import { asOfPin, type ReachDeps, reachSize } from './reach-size.ts'

export interface RunMomentDeps extends ReachDeps {
  readonly index: Pick<AuditIndex, 'rows' | 'row' | 'pin' | 'size'>
}

/** The state of a log at a point in its past never changes, so the result may be passed on as a size. */
export function runMoment(deps: RunMomentDeps): AuditReads['runMoment'] {
  return async (caller, runId, at) => {
    if (ofWholeTenant(caller) !== undefined) return wholeTenantOnly(caller)
    return againIfRenewed(async () => {
      await reachSize(deps, caller.tenant, 'treeSize' in at ? at.treeSize : undefined)
      const moment = momentOf(deps, caller, at)
      return moment.ok ? ofRun(deps, caller, { runId, moment }) : moment
    })
  }
}

function momentOf(
  { index }: RunMomentDeps,
  { tenant }: Caller,
  at: Parameters<AuditReads['runMoment']>[2],
): LogMoment | AuditRefusal {
  const size = 'treeSize' in at ? at.treeSize : sizeAt(index, tenant, at.time)
  if (size === 0) return invalid('the log had no event then: ask as of a later time')
  const pin = index.pin(tenant, size)
  if (pin === undefined) return beyondLog(index.size(tenant))
  return { ok: true, asOf: asOfPin(pin), time: timeAt(index, tenant, size - 1) }
}

/**
 * Number of events up to the last one written at or before that time. Times increase along a log; if a clock was set back, the result is one of the
 * places where that time was passed.
 */
function sizeAt(index: RunMomentDeps['index'], tenant: string, time: string): number {
  let [low, high] = [0, index.size(tenant)]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (timeAt(index, tenant, middle) <= time) low = middle + 1
    else high = middle
  }
  return low
}

const timeAt = (index: RunMomentDeps['index'], tenant: string, leaf: number): string =>
  index.row(tenant, leaf)?.time ?? ''

function ofRun(
  { index }: RunMomentDeps,
  { tenant }: Caller,
  { runId, moment }: { readonly runId: string; readonly moment: LogMoment },
): RunMoment | RunMomentRefusal {
  const edge = (size: number, newestFirst: boolean) =>
    index.rows({ tenant, size }, { run: runId }, { after: undefined, limit: 1, newestFirst })[0]
  const { treeSize } = moment.asOf
  const last = edge(treeSize, true)
  if (last !== undefined) return { ...moment, revision: last.revision }
  const first = edge(index.size(tenant), false)
  if (first === undefined) return { ok: false, code: 'run-not-found', detail: `there is no run ${runId}` }
  const begun = `it began with event ${first.leaf + 1} of the log, at ${first.time}`
  return invalid(`the run had not begun when the log had ${treeSize} events: ${begun}`)
}

const invalid = (detail: string): AuditRefusal => ({ ok: false, code: 'invalid-query', detail })
