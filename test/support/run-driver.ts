/** @module Short words for what a test does to one run, and what it looks at afterwards. */
import * as assert from 'uvu/assert'
import { evolveRun } from '../../projections/run.ts'
import type { RunState } from '../../projections/run-state.ts'
import { EVENTS } from '../../schemas/events.ts'
import { isJsonObject, type JsonObject } from '../../schemas/json.ts'
import { runStream } from '../../schemas/names.ts'
import type { ClaimCall, PostEnvelope, SettleCall, StartRun } from '../../schemas/requests.ts'
import type { Refusal } from '../../src/domain/refusal.ts'
import type { Caller, Command, Found, Ledger, Outcome, RequestInfo } from '../../src/ledger/ledger.ts'
import type { LedgerEvent } from '../../src/ledger/ledger-event.ts'
import { recordedEvent } from '../../src/ledger/read/parse-record.ts'
import { checkRecord, firstExpectation, nextExpectation } from '../../src/signing/check.ts'
import { createRunKeys } from '../../src/signing/key-ring.ts'
import type { EventStore, ReadRecord } from '../../src/store/event-store.ts'
import { collect } from './records.ts'
import { alice, type TestKeys, type TestLedger } from './test-ledger.ts'

/** The body of an outcome that must be one. */
export function ok(outcome: Outcome): JsonObject {
  if (!outcome.ok) throw new Error(`refused: ${outcome.refusal.code}: ${outcome.refusal.detail}`)
  return outcome.body
}

/** The refusal of an outcome that must be one, of this code. */
export function refusedWith(outcome: Outcome, code: string): Refusal {
  if (outcome.ok) throw new Error(`expected ${code}, was ok: ${JSON.stringify(outcome.body)}`)
  assert.is(outcome.refusal.code, code)
  return outcome.refusal
}

/** A list in a refusal's evidence; empty where there is none. */
export function listed(refusal: Refusal, name: string): readonly JsonObject[] {
  const value = refusal.evidence?.[name]
  return Array.isArray(value) ? (value as readonly JsonObject[]) : []
}

/** A part of a refusal's evidence. */
export function evidenceOf(refusal: Refusal, name: string): JsonObject {
  const value = refusal.evidence?.[name]
  return isJsonObject(value) ? value : {}
}

export function idempotent(key: string, body: JsonObject = {}, path = '/v1/x', method = 'POST'): RequestInfo {
  return { idempotency: { key, method, path, body } }
}

export interface RunDriver {
  readonly runId: string
  do(command: Command, info?: RequestInfo): Promise<Outcome>
  start(body?: Partial<StartRun>): Promise<JsonObject>
  hand(agent: string, payload: JsonObject, more?: Partial<PostEnvelope>): Promise<Outcome>
  claim(tool: string, more?: Partial<ClaimCall>, info?: RequestInfo): Promise<Outcome>
  /** Claims and answers the call's id. */
  claimed(tool: string, more?: Partial<ClaimCall>): Promise<string>
  settle(callId: string, body?: Partial<SettleCall>, info?: RequestInfo): Promise<Outcome>
  /** Claims and settles with the result `"<tool> done"`. */
  called(tool: string, more?: Partial<ClaimCall>): Promise<string>
  undo(callId: string, body?: Partial<SettleCall>): Promise<Outcome>
  types(): Promise<string[]>
  events(): Promise<LedgerEvent[]>
  state(): Promise<JsonObject>
  call(callId: string): Promise<JsonObject>
  budget(): Promise<JsonObject>
}

/** Drives one run; each call gets arguments of its own, so that equal tools are still different calls. */
export function drive(test: Pick<TestLedger, 'ledger'>, runId: string, caller: Caller = alice): RunDriver {
  const { ledger } = test
  let calls = 0
  const run = (command: Command, info: RequestInfo = {}) => ledger.execute(caller, runId, command, info)
  const driver: RunDriver = {
    runId,
    do: run,
    start: async (body = {}) => ok(await run({ kind: 'start', body: { id: runId, name: 'test', ...body } })),
    hand: (agent, payload, more = {}) => run({ kind: 'envelope', body: { agent, payload, ...more } }),
    claim: (tool, more = {}, info = {}) => {
      calls += 1
      return run({ kind: 'claim', body: { tool, args: { n: more.key ?? calls }, ...more } }, info)
    },
    claimed: async (tool, more) => String(ok(await driver.claim(tool, more)).callId),
    settle: (callId, body = {}, info = {}) => {
      const result = body.error ?? body.unknown ?? body.unrecorded
      const outcome = result === undefined && body.result === undefined ? { result: 'done' } : {}
      return run({ kind: 'settle', callId, body: { fence: 1, ...outcome, ...body } }, info)
    },
    called: async (tool, more) => {
      const callId = await driver.claimed(tool, more)
      ok(await driver.settle(callId, { result: `${tool} done` }))
      return callId
    },
    undo: async (callId, body) => {
      const claim = ok(await driver.claim('undo', { phase: 'compensation', key: callId, args: { undo: callId } }))
      return driver.settle(String(claim.callId), { fence: Number(claim.fence), ...body })
    },
    types: async () => (await driver.events()).map((event) => event.header.type),
    events: async () => {
      const found = await ledger.runEvents(caller, runId, { from: 0 })
      if (!found.ok) throw new Error(found.refusal.code)
      const all: LedgerEvent[] = []
      for await (const page of found.value) all.push(...page)
      return all
    },
    state: () => read(ledger.run(caller, runId)),
    call: (callId) => read(ledger.call(caller, runId, callId)),
    budget: () => read(ledger.budget(caller, runId)),
  }
  return driver
}

async function read(found: Promise<Found<JsonObject>>): Promise<JsonObject> {
  const { ok: there, ...rest } = await found
  if (!there || !('value' in rest)) throw new Error(JSON.stringify(rest))
  return rest.value
}

/** Every record of the run's stream verifies, and every body fits its schema; answers the fold from scratch. */
export async function verifiedFold(
  source: { readonly store: Pick<EventStore, 'readStream'>; readonly keys: TestKeys },
  runId: string,
  tenant = alice.tenant,
): Promise<RunState> {
  const stream = runStream(tenant, runId)
  const { ring } = source.keys.current()
  const keys = { ring, runKeys: createRunKeys(ring) }
  let expected = firstExpectation(stream)
  let state: RunState | undefined
  for (const record of await collect(source.store.readStream(stream))) {
    const checked = checkRecord(record, expected, keys)
    if (!checked.ok) throw new Error(`${record.revision}: ${checked.faults.map((each) => each.message).join('; ')}`)
    expected = nextExpectation(checked)
    const event = recordedEvent(checked.header, record.data)
    const parsed = EVENTS[event.type].schema.safeParse(event.data)
    if (!parsed.success) throw new Error(`${record.revision} ${event.type}: ${parsed.error.message}`)
    state = evolveRun(state, event)
  }
  if (state === undefined) throw new Error(`${stream} is empty`)
  return state
}

/** The last line of a replay. */
export async function replayed(ledger: Ledger, runId: string, caller: Caller = alice): Promise<JsonObject> {
  const found = await ledger.replay(caller, runId)
  if (!found.ok) throw new Error(found.refusal.code)
  let last: JsonObject = {}
  for await (const line of found.value.lines) last = line
  return last
}

/** A stream's records. */
export function recordsOf(store: EventStore, runId: string): Promise<readonly ReadRecord[]> {
  return collect(store.readStream(runStream(alice.tenant, runId)))
}
