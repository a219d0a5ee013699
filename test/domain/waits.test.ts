import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { RunState } from '../../projections/run-state.ts'
import type { Json } from '../../schemas/json.ts'
import type { StartWait } from '../../schemas/waiting.ts'
import type { Draft, Env } from '../../src/domain/decision.ts'
import { decideSignal, decideWait } from '../../src/domain/waits.ts'
import { at, given, id } from '../support/decider.ts'
import { rollingBack, started } from '../support/run-events.ts'

const test = suite('the decision on waits and signals')

const wait =
  (body: StartWait, events: readonly Draft[] = []) =>
  (state: RunState, env: Env) =>
    decideWait(state, { ...body, eventAt: (revision) => events[revision] }, env)
const signal =
  (name: string, payload: Json = null, events: readonly Draft[] = []) =>
  (state: RunState, env: Env) =>
    decideSignal(state, { name, body: { payload }, eventAt: (revision) => events[revision] }, env)

const ENV: Env = { ...({} as Env), nowMs: Date.parse(at(0)), digestOf: (value) => `sha256:${JSON.stringify(value)}` }

test('a wait starts, and asked again at its place it is the same, with what it was given first (RUN-66)', () => {
  given(started())
    .when(wait({ name: 'go', forMs: 5_000, scope: 'a' }))
    .appends(['WaitStarted', { waitId: id(101), name: 'go', until: at(5_000), scope: 'a' }])
    .leads(({ waits, openWaits }) => {
      assert.equal(Object.keys(openWaits), Object.keys(waits))
      assert.is(Object.values(waits)[0]?.status, 'waiting')
    })
})

test('past its end a wait is over by whoever finds it so, and a sleep has elapsed (RUN-66)', () => {
  for (const [body, outcome] of [
    [{ name: 'go', forMs: 5_000 }, 'timed-out'],
    [{ forMs: 5_000 }, 'elapsed'],
  ] as const) {
    const life = given(started())
    life.when(wait(body)).leads((state) => {
      const key = Object.keys(state.waitKeys)[0]?.slice(1) ?? ''
      const known: Draft = { type: 'WaitStarted', data: { v: 1, waitId: id(1), key, until: at(5_000), ...named(body) } }
      given(started(), known).when(wait(body), { ms: 4_999 }).is('as-is')
      given(started(), known)
        .when(wait(body), { ms: 5_000 })
        .appends(['WaitEnded', { waitId: id(1), outcome }])
    })
  }
})

const named = ({ name }: StartWait): { name?: string } => (name === undefined ? {} : { name })

test('a signal to a run that rolls back, or to a wait in a scope that does, is refused (RUN-28)', () => {
  given(started(), rollingBack()).when(signal('go')).refused('compensating')
  given(started(), rollingBack('saga:a'))
    .when(wait({ name: 'go', scope: 'saga:a/b' }))
    .refused('compensating')
})

test('whatever order waits, signals and time come in, each signal ends one wait at most, oldest first, and none is lost (RUN-67)', () => {
  const op = fc.oneof(
    fc.record({
      kind: fc.constant('wait' as const),
      name: fc.constantFrom('a', 'b'),
      forMs: fc.option(fc.integer({ min: 0, max: 50 })),
    }),
    fc.record({ kind: fc.constant('signal' as const), name: fc.constantFrom('a', 'b') }),
    fc.record({ kind: fc.constant('look' as const), of: fc.nat(20) }),
    fc.record({ kind: fc.constant('time' as const), ms: fc.integer({ min: 1, max: 40 }) }),
  )
  fc.assert(
    fc.property(fc.array(op, { maxLength: 40 }), (ops) => {
      const events: (readonly [number, Draft])[] = [[0, started()]]
      const places: StartWait[] = []
      let ms = 0
      let ids = 0
      const newId = (): string => {
        ids += 1
        return id(ids)
      }
      const decide = (by: (state: RunState, env: Env) => ReturnType<typeof decideWait>): void => {
        const state = given(...events).state()
        const decision = by(state, { ...ENV, nowMs: Date.parse(at(ms)), sizeOf: () => 1, newId })
        assert.ok(decision.kind === 'append' || decision.kind === 'as-is', decision.kind)
        if (decision.kind === 'append') for (const draft of decision.drafts) events.push([ms, draft])
      }
      for (const each of ops) {
        if (each.kind === 'time') ms += each.ms
        if (each.kind === 'signal') decide(signal(each.name))
        if (each.kind === 'wait') {
          const occurrence = places.filter(({ name }) => name === each.name).length
          places.push({ name: each.name, occurrence, ...(each.forMs !== null && { forMs: each.forMs }) })
          decide(wait(places.at(-1) ?? {}))
        }
        const place = each.kind === 'look' ? places[each.of] : undefined
        if (place !== undefined) decide(wait(place))
      }
      holds(events.map(([, draft]) => draft))
    }),
    { numRuns: 300 },
  )
})

/** Each signal once, by one wait or still held; those of a name in the order in which they came. */
function holds(drafts: readonly Draft[]): void {
  const state = given(...drafts).state()
  const received = drafts.flatMap((draft) => (draft.type === 'SignalReceived' ? [draft.data] : []))
  const taken = drafts.flatMap(({ type, data }) => {
    if (type === 'SignalReceived') return data.waitId === undefined ? [] : [data.signalId]
    return type === 'WaitEnded' && data.signalId !== undefined ? [data.signalId] : []
  })
  assert.is(new Set(taken).size, taken.length, 'no signal is taken twice')
  const held = Object.values(state.heldSignals).map(({ signalId }) => signalId)
  assert.equal([...taken, ...held].sort(), received.map(({ signalId }) => signalId).sort(), 'none is lost')
  for (const name of ['a', 'b']) {
    const order = received.filter((each) => each.name === name).map(({ signalId }) => signalId)
    const inTurn = taken.filter((signalId) => order.includes(signalId))
    assert.equal(inTurn, order.slice(0, inTurn.length), 'oldest first')
  }
  const bySignal = Object.values(state.waits).flatMap((each) => each.signalId ?? [])
  assert.is(new Set(bySignal).size, bySignal.length)
  assert.is(bySignal.length, taken.length)
}

test.run()
