/** @module How many suspects of each listed handoff were open at the size of the log that a query is answered for (JUD-96). */
import { foldReview, foldSuspects, rewindSuspects, type SuspectFold } from '../../../projections/run-suspects.ts'
import { countSuspects } from '../../../projections/suspect-state.ts'
import type { EventBody, EventType } from '../../../schemas/events.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { SUSPECT_STATUSES } from '../../../schemas/marks.ts'
import { isOfItsType } from '../read/parse-record.ts'
import { type AuditEvent, eventsOf } from './audit-events.ts'
import type { GroupAnswer, GroupAsk, GroupDeps } from './audit-groups.ts'

/** Events that raise suspects, close them, or roll them back. */
const CHANGES = ['EnvelopeAccepted', 'SuspectReviewed', 'RunRewound'] satisfies EventType[]
const EVENTS_AT_ONCE = 128

interface Raised {
  readonly step: number
  readonly suspects: number
  isRolledBack: boolean
}

interface OfRun extends SuspectFold {
  /** Handoffs with suspects, by the leaf of their event. */
  readonly raised: Map<number, Raised>
}

/** Throws `DamagedIndexError`, and `ReaderLeftError` if the reader of `pace` has left. */
export async function withSuspects(
  deps: GroupDeps,
  ask: Pick<GroupAsk, 'view' | 'pace'>,
  answer: GroupAnswer,
): Promise<GroupAnswer> {
  const runs = new Map<string, OfRun>()
  for (const run of new Set(answer.items.map((item) => String(item.run)))) {
    runs.set(run, await suspectsOf(deps, ask, run))
  }
  const items = answer.items.map((item) => ({ ...item, ...statusOf(runs.get(String(item.run)), Number(item.leaf)) }))
  return { ...answer, items }
}

function statusOf(run: OfRun | undefined, leaf: number): JsonObject {
  const raised = run?.raised.get(leaf)
  if (run === undefined || raised === undefined) return { status: 'closed', suspects: 0, open: 0 }
  const { step, suspects, isRolledBack } = raised
  const open = countSuspects(run.suspects.filter((each) => each.step === step && each.closed === undefined))
  const status: (typeof SUSPECT_STATUSES)[number] = isRolledBack ? 'rolled-back' : open > 0 ? 'open' : 'closed'
  return { status, suspects, open }
}

/** Reads the handoffs of a run from the first one that raised suspects on. */
async function suspectsOf(
  deps: GroupDeps,
  { view, pace }: Pick<GroupAsk, 'view' | 'pace'>,
  run: string,
): Promise<OfRun> {
  const state: OfRun = { suspects: [], context: {}, raised: new Map() }
  const [first] = deps.index.rows(view, { run, mark: 'suspect' }, { after: undefined, limit: 1 })
  for (let after = (first?.leaf ?? view.size) - 1; ; ) {
    await pace?.turn()
    const rows = deps.index.rows(view, { run, types: CHANGES }, { after, limit: EVENTS_AT_ONCE })
    for (const event of await eventsOf(deps, rows, pace)) foldEvent(state, event)
    const last = rows.at(-1)
    if (last === undefined || rows.length < EVENTS_AT_ONCE) return state
    after = last.leaf
  }
}

/** A body that does not match the schema of its type changes nothing. */
function foldEvent(state: OfRun, { header, data, leaf }: AuditEvent): void {
  if (!isOfItsType(header.type, data)) return
  if (header.type === 'SuspectReviewed') foldReview(state, data as EventBody<'SuspectReviewed'>, header)
  else if (header.type === 'RunRewound') rewind(state, (data as EventBody<'RunRewound'>).toStep)
  else {
    const accepted = data as EventBody<'EnvelopeAccepted'>
    foldSuspects(state, accepted, header)
    const { step } = accepted
    const suspects = countSuspects(state.suspects.filter((each) => each.step === step))
    if (suspects > 0) state.raised.set(leaf, { step, suspects, isRolledBack: false })
  }
}

function rewind(state: OfRun, toStep: number): void {
  rewindSuspects(state, toStep)
  for (const raised of state.raised.values()) if (raised.step > toStep) raised.isRolledBack = true
}
