/**
 * @module One simulated history, made by its seed: agents work on one run through ledger processes that lose answers, are killed and have
 * wrong clocks. Afterwards what was promised is checked against what the store has.
 */
import * as assert from 'uvu/assert'
import type { RunState } from '../../../projections/run-state.ts'
import type { Header } from '../../../schemas/header.ts'
import type { Command, Outcome } from '../../../src/ledger/ledger.ts'
import { createLedgerKeys, type LedgerKeys } from '../../../src/signing/ledger-keys.ts'
import { openMemoryStore } from '../../../src/store/memory/memory-store.ts'
import { idempotent, ok, recordsOf, verifiedFold } from '../run-driver.ts'
import { TestKeys } from '../test-ledger.ts'
import { Scheduler } from './scheduler.ts'
import { type SimulatedProcess, simulatedProcess } from './simulated-ledgers.ts'

const RUN = 'r'
const PROCESSES = 2
const AGENTS = 3
const COMMANDS_EACH = 5
const KEYS = 3
const LIMIT = 60
const TROUBLE = 0.15
/** Codes that say: ask again, under the same key. */
const LATER = new Set(['store-unavailable', 'store-full', 'contended', 'idempotency-in-flight', 'overloaded'])

const KEYS_OF_ALL: LedgerKeys = createLedgerKeys('2026-01-01T00:00:00.000Z', (size) => new Uint8Array(size).fill(7))

export interface Simulated {
  /** What happened, one line an event: the same for the same seed. */
  readonly history: readonly string[]
  readonly steps: number
}

/** What was promised to the agents so far. */
interface Promises {
  /** Markers of commands that were requested, and whether they were acknowledged. */
  readonly asked: Map<string, boolean>
  /** Effects of each call key, each with the fence it ran under. */
  readonly effects: Map<string, number[]>
}

/** Throws where a promise was broken. `lies`: share of appends that the store acknowledges and forgets. */
export async function simulate(seed: number, { lies = 0 } = {}): Promise<Simulated> {
  const world = new Scheduler(seed)
  const store = openMemoryStore({ pageRecords: 3 })
  const keys = new TestKeys(KEYS_OF_ALL)
  const troubles = { rate: 0, lies: 0 }
  const promises: Promises = { asked: new Map(), effects: new Map() }
  const work = async (): Promise<void> => {
    const options = { world, store, troubles, keys: KEYS_OF_ALL }
    const processes = await Promise.all(Array.from({ length: PROCESSES }, () => simulatedProcess(options)))
    const budget = { tokens: LIMIT }
    const start: Command = { kind: 'start', body: { id: RUN, name: 'sim', budget } }
    const started = await processes[0]?.ask(RUN, start, {})
    if (started === undefined || started === 'lost') throw new Error('the run did not start')
    ok(started)
    Object.assign(troubles, { rate: TROUBLE, lies })
    let working = AGENTS
    const agents = Array.from({ length: AGENTS }, async (_, n) => {
      await agent(`a${n}`, { world, processes, promises })
      working -= 1
    })
    const fate = async (): Promise<void> => {
      for (let blows = 0; blows < 6 && working > 0; blows += 1) {
        await world.turns(25)
        const struck = processes[world.below(PROCESSES)]
        if (world.chance(0.5)) struck?.kill()
        else struck?.jump()
      }
    }
    await Promise.all([...agents, fate()])
    for (const each of processes) each[Symbol.dispose]()
  }
  await world.run(work())
  await store[Symbol.asyncDispose]()
  return { history: await judged({ store, keys }, promises), steps: world.steps }
}

interface Place {
  readonly world: Scheduler
  readonly processes: readonly SimulatedProcess[]
  readonly promises: Promises
}

async function agent(name: string, place: Place): Promise<void> {
  const { world, promises } = place
  for (let n = 0; n < COMMANDS_EACH; n += 1) {
    const marker = `${name}-${n}`
    const kind = world.below(6)
    if (kind <= 2) {
      await callTool(marker, place)
      continue
    }
    promises.asked.set(marker, false)
    const command = commandOf(kind, marker, world)
    const outcome = await (world.chance(0.3) ? askedOnce(command, place) : untilAnswered(marker, command, place))
    if (outcome === undefined || !outcome.ok) continue
    promises.asked.set(marker, true)
    await seenByAll(marker, Number(outcome.body.revision), place)
    if (kind === 4) await settleReservation(marker, String(outcome.body.reservationId), place)
  }
}

function commandOf(kind: number, marker: string, world: Scheduler): Command {
  if (kind === 3) {
    const payload = world.chance(0.8) ? { facts: ['f'], marker } : { marker }
    return { kind: 'envelope', body: { agent: marker, payload } }
  }
  if (kind === 4) return { kind: 'reserve', body: { agent: marker, tokens: 1 + world.below(20), deadlineMs: 5_000 } }
  return { kind: 'rollback', body: { reason: marker } }
}

async function settleReservation(marker: string, reservationId: string, place: Place): Promise<void> {
  const body = { usage: { tokens: 1 } }
  mustBeKnown(await untilAnswered(`${marker}-settle`, { kind: 'settle-reservation', reservationId, body }, place))
}

/** What was acknowledged is there for whoever asks next, of whichever process. */
function mustBeKnown(outcome: Outcome): void {
  assert.not.match(outcome.ok ? '' : outcome.refusal.code, /-not-found$/)
}

async function seenByAll(marker: string, revision: number, { processes }: Place): Promise<void> {
  for (const each of processes) {
    const seen = await each.look(RUN)
    assert.ok(seen === undefined || seen >= revision, `${marker} stands at ${revision}, and somebody sees ${seen}`)
  }
}

/** Without a key: never asked again, so that the ledger alone must find out what became of it. */
async function askedOnce(command: Command, { world, processes }: Place): Promise<Outcome | undefined> {
  const outcome = await processes[world.below(PROCESSES)]?.ask(RUN, command, {})
  return outcome === 'lost' ? undefined : outcome
}

/** Claims, runs the effect where it is this agent's to run, settles; some agents die in between. */
async function callTool(marker: string, place: Place): Promise<void> {
  const { world, promises } = place
  const key = `k${world.below(KEYS)}`
  const onUnknown = key === 'k0' ? 'retry' : 'in-doubt'
  const body = { tool: 't', args: {}, key, leaseMs: 10_000, onUnknown } as const
  const claimed = await untilAnswered(marker, { kind: 'claim', body }, place)
  mustBeKnown(claimed)
  if (!claimed.ok || claimed.body.status !== 'claimed') return
  const fence = Number(claimed.body.fence)
  promises.effects.set(key, [...(promises.effects.get(key) ?? []), fence])
  if (world.chance(0.2)) return
  if (world.chance(0.3)) await world.sleep(world.below(30_000))
  const callId = String(claimed.body.callId)
  mustBeKnown(
    await untilAnswered(`${marker}-settle`, { kind: 'settle', callId, body: { fence, result: marker } }, place),
  )
}

/** Asks again under the same key, of any process, until the answer is one that stands. */
async function untilAnswered(key: string, command: Command, { world, processes }: Place): Promise<Outcome> {
  const info = idempotent(key, { key })
  for (;;) {
    const outcome = await processes[world.below(PROCESSES)]?.ask(RUN, command, info)
    if (outcome !== undefined && outcome !== 'lost' && (outcome.ok || !LATER.has(outcome.refusal.code))) return outcome
    await world.sleep(1 + world.below(50))
  }
}

/** Holds the promises against the store; gives the history. */
async function judged(
  at: { readonly store: ReturnType<typeof openMemoryStore>; readonly keys: TestKeys },
  { asked, effects }: Promises,
): Promise<string[]> {
  const state: RunState = await verifiedFold(at, RUN)
  const events = (await recordsOf(at.store, RUN)).map(({ header, data }) => ({
    header: JSON.parse(header) as Header,
    data: JSON.parse(data) as Record<string, unknown>,
  }))
  for (const [marker, acknowledged] of asked) {
    const done = events.filter(
      ({ header: { type }, data }) =>
        (data.agent === marker && (type === 'EnvelopeAccepted' || type === 'BudgetReserved')) ||
        (data.reason === marker && type === 'RunRewound'),
    ).length
    assert.ok(done === 1 || (done === 0 && !acknowledged), `${marker}: ${done} times, acknowledged: ${acknowledged}`)
  }
  for (const [key, fences] of effects) {
    assert.is(new Set(fences).size, fences.length, `${key}: two ran under one fence: ${fences}`)
    if (key !== 'k0') assert.is(fences.length, 1, `${key} is not to be run again: ${fences}`)
  }
  assert.ok(state.spend.tokens + state.spend.reservedTokens <= LIMIT, 'the budget holds')
  return events.map(
    ({ header, data }) => `${header.revision} ${header.type} ${header.time} ${data.agent ?? data.key ?? ''}`,
  )
}
