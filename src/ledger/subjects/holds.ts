/** @module Legal holds as callers of the ledger see them: placed and released by a person, and recorded (LIFE-20 to LIFE-23). */
import type { HoldAnswer, HoldsAnswer } from '../../../schemas/answers/holds.ts'
import type { EventBody } from '../../../schemas/events.ts'
import type { PlaceHold, ReleaseHold } from '../../../schemas/hold.ts'
import type { Json } from '../../../schemas/json.ts'
import type { Caller } from '../../access/caller.ts'
import { ofWholeTenant } from '../../access/check-access.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import type { EventStore } from '../../store/event-store.ts'
import type { LedgerFacts } from '../identity/ledger-facts.ts'
import type { Queries } from '../read/queries.ts'
import { loadRefusal } from '../write/write-refusals.ts'
import type { HoldRecords, Holds as Recorded } from './hold-records.ts'
import type { Answered, Holds } from './subjects.ts'

/** Active holds of a tenant. */
export const HOLDS_MAX = 1_000
const RELEASED_LISTED = 1_000

export interface HoldsDeps {
  readonly records: HoldRecords
  readonly store: EventStore
  readonly facts: LedgerFacts
  readonly queries: Pick<Queries, 'read'>
  readonly newId: () => string
  /** Waits for a running erasure, and holds up the next one meanwhile. */
  readonly alone: <T>(work: () => Promise<T>) => Promise<T>
  /** Ids of the existing keys of a subject; undefined if this ledger keeps none. */
  readonly keysOf: ((tenant: string, subject: string) => readonly string[]) | undefined
}

export function openHolds(deps: HoldsDeps): Holds {
  const within = async <T>(caller: Caller, work: () => Promise<Answered<T>>): Promise<Answered<T>> => {
    const outside = ofWholeTenant(caller)
    if (outside !== undefined) return refused(outside)
    return work().catch((error: unknown) => refused(loadRefusal(error, deps.store)))
  }
  const { records, alone } = deps
  return {
    place: (caller, asked) => within(caller, () => alone(() => placed(deps, caller, asked))),
    release: (caller, hold, asked) => within(caller, () => alone(() => released(deps, caller, { hold, asked }))),
    list: (caller) => within(caller, async () => ({ ok: true, value: listed(await records.of(caller.tenant)) })),
  }
}

const refused = (reason: Refusal): { readonly ok: false; readonly refusal: Refusal } => ({ ok: false, refusal: reason })

function listed(holds: Recorded): HoldsAnswer {
  const newest = [...holds.values()].reverse()
  const ended = newest.filter(({ state }) => state === 'released')
  return { items: [...newest.filter(({ state }) => state === 'active'), ...ended.slice(0, RELEASED_LISTED)] }
}

type Target = Pick<EventBody<'HoldPlaced'>, 'scope' | 'run' | 'keyIds'>

async function placed(deps: HoldsDeps, caller: Caller, asked: PlaceHold): Promise<Answered<HoldAnswer>> {
  const target = await targetOf(deps, caller, asked)
  if ('code' in target) return refused(target)
  const hold = deps.newId()
  const data: EventBody<'HoldPlaced'> = { v: 1, hold, ...target, reason: asked.reason }
  const { tenant } = caller
  let isFull = false
  const exists = async (): Promise<boolean> => {
    const active = [...(await deps.records.of(tenant)).values()].filter(({ state }) => state === 'active')
    isFull = active.length >= HOLDS_MAX
    return isFull
  }
  await deps.facts.record({ tenant, type: 'HoldPlaced', data: data as unknown as Json, by: caller }, exists)
  if (isFull)
    return refused(
      refusal('holds-full', `${HOLDS_MAX} holds are active: release those that have ended, or hold the tenant`),
    )
  return answered(deps, tenant, hold)
}

async function targetOf({ queries, keysOf }: HoldsDeps, caller: Caller, asked: PlaceHold): Promise<Target | Refusal> {
  if (asked.run !== undefined) {
    // A run whose record is damaged can be held: it is evidence all the same.
    const found = await queries.read(caller, asked.run, (state) => state.status)
    if (!found.ok && found.refusal.code === 'run-not-found') return found.refusal
    return { scope: 'run', run: asked.run }
  }
  if (asked.subject === undefined) return { scope: 'tenant' }
  if (keysOf === undefined)
    return refusal('keep-unavailable', 'this ledger keeps nothing of a subject encrypted: hold the run, or the tenant')
  const keyIds = keysOf(caller.tenant, asked.subject)
  if (keyIds.length === 0)
    return refusal(
      'subject-unknown',
      'nothing is kept of this subject, so there is nothing to hold: hold the run, or the tenant',
    )
  return { scope: 'subject', keyIds: [...keyIds] }
}

async function released(
  deps: HoldsDeps,
  caller: Caller,
  { hold, asked }: { readonly hold: string; readonly asked: ReleaseHold },
): Promise<Answered<HoldAnswer>> {
  const { tenant } = caller
  if (!(await deps.records.of(tenant)).has(hold))
    return refused(
      refusal('hold-not-found', `there is no hold ${hold}: "countersign holds list" names those there are`),
    )
  const data: EventBody<'HoldReleased'> = { v: 1, hold, reason: asked.reason }
  const exists = async () => (await deps.records.of(tenant)).get(hold)?.state === 'released'
  await deps.facts.record({ tenant, type: 'HoldReleased', data: data as unknown as Json, by: caller }, exists)
  return answered(deps, tenant, hold)
}

async function answered({ records }: HoldsDeps, tenant: string, hold: string): Promise<Answered<HoldAnswer>> {
  const found = (await records.of(tenant)).get(hold)
  if (found === undefined) throw new Error(`the hold ${hold} was recorded and cannot be read`)
  return { ok: true, value: found }
}
