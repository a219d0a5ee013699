/** @module Runs as list items: aggregated from their rows in the index, with the outcome of a rollback, which only its event contains. */
import { declarationOf, type EventType } from '../../../schemas/events.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { ROLLBACK_VERDICTS } from '../../../schemas/run-status.ts'
import type { Pace } from '../../resources/work-queue.ts'
import type { AuditView, ReadableIndex, RunGroup } from '../../store/audit-index.ts'
import { type EventDeps, eventsOf } from './audit-events.ts'
import { missingRevisions, runGroup } from './sliced-groups.ts'

/** Maximum number of missing revisions that an item names; their count is complete. */
const MISSING_SHOWN = 20
const ROLLED_BACK = 'RunCompensated' satisfies EventType

interface RunDeps extends EventDeps {
  readonly index: ReadableIndex
}

interface RunAsk {
  readonly view: AuditView
  readonly pace: Pace | undefined
}

type FoundRun = RunGroup & { readonly missing: readonly number[] }

/** Items in the order of `names`. Throws `DamagedIndexError`, and `ReaderLeftError` if the reader of `pace` has left. */
export async function runBodies(deps: RunDeps, names: readonly string[], ask: RunAsk): Promise<readonly JsonObject[]> {
  const groups: FoundRun[] = []
  for (const name of names) groups.push(await foundRun(deps, name, ask))
  const rollbacks = await rollbacksOf(deps, groups, ask)
  return groups.map((group) => runBody(group, rollbacks.get(group.end?.leaf ?? -1)))
}

async function foundRun({ index }: RunDeps, name: string, { view, pace }: RunAsk): Promise<FoundRun> {
  const group = await runGroup(index, view, { run: name, pace })
  if (group === undefined) throw new TypeError(`the index lists ${name} and has no event of it`)
  const isComplete = group.lastRevision + 1 === group.events
  return {
    ...group,
    missing: isComplete ? [] : await missingRevisions(index, view, { run: name, limit: MISSING_SHOWN, pace }),
  }
}

/** By the leaf of the end event: the verdict of the rollback, and `seal` if that event does not verify. */
async function rollbacksOf(
  deps: RunDeps,
  groups: readonly RunGroup[],
  { view: { tenant }, pace }: RunAsk,
): Promise<ReadonlyMap<number, JsonObject>> {
  const rows = groups.flatMap(({ run, end }) => {
    if (end?.type !== ROLLED_BACK) return []
    const row = deps.index.row(tenant, end.leaf)
    if (row === undefined) throw new TypeError(`the index ends ${run} with event ${end.leaf} and has no row of it`)
    return [row]
  })
  const events = await eventsOf(deps, rows, pace)
  return new Map(
    events.map(({ leaf, data, seal }) => {
      const verdict = ROLLBACK_VERDICTS.find((each) => each === data.status)
      return [leaf, { ...(verdict !== undefined && { compensation: verdict }), ...(seal === 'invalid' && { seal }) }]
    }),
  )
}

function runBody(group: FoundRun, rollback: JsonObject | undefined): JsonObject {
  const { run, events, firstRevision, lastRevision, firstTime, lastTime, missing, rejections, end } = group
  const missingCount = lastRevision + 1 - events
  return {
    run,
    started: firstTime,
    last: lastTime,
    ...{ events, firstRevision, lastRevision, missingCount, missing },
    status: end === undefined ? 'open' : (declarationOf(end.type)?.changes.run ?? end.type),
    ...rollback,
    rejections,
    links: { run: `/v1/runs/${run}`, events: `/v1/runs/${run}/events` },
  }
}
