/** @module Seals and appends one event of the ledger's own facts: founding, rotations, checkpoints, exports. */
import type { Json } from '../../../schemas/json.ts'
import type { Expectation } from '../../signing/check.ts'
import { sealEvents } from '../../signing/seal.ts'
import { type Append, type AppendResult, type EventStore, NO_STREAM } from '../../store/event-store.ts'
import type { Caller } from '../ledger.ts'
import type { Effects } from '../ports.ts'
import type { Sealer } from './sealer.ts'

/** Actor of the ledger's own facts. */
const LEDGER_ACTOR = 'countersign'

export interface FactDeps {
  readonly store: EventStore
  readonly sealer: Sealer
  readonly effects: Effects
}

export interface Fact {
  readonly tenant: string
  readonly type: string
  readonly data: Json
  /** The actor in whose name it is written; if absent, the ledger itself. */
  readonly by?: Pick<Caller, 'actor' | 'principal' | 'via'>
  /** Where the fact is appended: the stream, and the state of the stream before it. */
  readonly at: Expectation
}

export function appendFact(deps: FactDeps, fact: Fact): Promise<AppendResult> {
  return deps.store.append(sealFact(deps, fact).append)
}

/** The append of one fact, and the expectation for the next event of its stream. */
export function sealFact(
  { sealer, effects }: Omit<FactDeps, 'store'>,
  { tenant, type, data, by, at }: Fact,
): { readonly append: Append; readonly next: Expectation } {
  const { stream, revision } = at
  const [event] = sealEvents([{ type, data }], {
    stream,
    tenant,
    actor: by?.actor ?? LEDGER_ACTOR,
    principal: by?.principal,
    via: by?.via,
    revision,
    prev: at.prevDigest,
    prevTime: at.prevTime,
    clock: new Date(effects.nowMs()).toISOString(),
    ...sealer.current(tenant, stream),
    newId: effects.newId,
    newSalt: effects.newSalt,
  })
  const expectedRevision = revision === 0 ? NO_STREAM : revision - 1
  if (event === undefined) throw new TypeError('one draft makes one event')
  const { time } = event.header
  const next = {
    stream,
    revision: revision + 1,
    prevDigest: event.digest,
    prevTime: time,
    minRingIndex: sealer.ringIndex,
  }
  return { append: { stream, expectedRevision, records: [event.record] }, next }
}
