import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { RecordedEvent } from '../../projections/projection.ts'
import { evolveRun } from '../../projections/run.ts'
import type { RunState } from '../../projections/run-state.ts'
import type { Header } from '../../schemas/header.ts'
import { toNano } from '../../schemas/money.ts'
import type { Command, Outcome } from '../../src/ledger/ledger.ts'
import { recordedEvent } from '../../src/ledger/read/parse-record.ts'
import { rounds } from '../support/rounds.ts'
import { drive, recordsOf, replayed, verifiedFold } from '../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../support/test-ledger.ts'

const model = suite('a model of budget and calls')

const LIMIT = 50
const LEASE_MS = 10_000
const GRACE_MS = 2_000

/** What a step says; which call or reservation it means is counted among those that the model knows. */
type Step =
  | { readonly do: 'claim'; readonly key: number; readonly reserve: number; readonly retry: boolean }
  | { readonly do: 'settle' | 'fail' | 'doubt'; readonly key: number; readonly used: number }
  | { readonly do: 'reserve' | 'use'; readonly tokens: number }
  | { readonly do: 'settle-reservation' | 'release'; readonly which: number; readonly used: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'hand'; readonly n: number; readonly bad: boolean }
  | { readonly do: 'restart' }

const keyed = fc.nat(4)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('claim' as const), key: keyed, reserve: fc.nat(12), retry: fc.boolean() }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('settle', 'fail', 'doubt'), key: keyed, used: fc.nat(15) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('reserve', 'use'), tokens: fc.nat(15) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('settle-reservation', 'release'), which: fc.nat(5), used: fc.nat(15) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1, 3_000, 13_000) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('hand' as const), n: fc.nat(3), bad: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
)

interface ModelCall {
  callId: string
  status: 'claimed' | 'succeeded' | 'failed' | 'in-doubt'
  fence: number
  retry: boolean
  leaseUntil: number
  reservation?: string
}

interface ModelReservation {
  tokens: number
  deadline: number
  state: 'open' | 'expired' | 'over'
}

/** The rules as one would tell them: nothing of events, streams or folds. */
class Model {
  now: number
  spent = 0
  readonly calls = new Map<number, ModelCall>()
  readonly reservations = new Map<string, ModelReservation>()

  constructor(now: number) {
    this.now = now
  }

  get reserved(): number {
    return [...this.reservations.values()].reduce((sum, each) => sum + (each.state === 'open' ? each.tokens : 0), 0)
  }

  fits(tokens: number): boolean {
    return tokens === 0 || this.spent + this.reserved + tokens <= LIMIT
  }

  /** Whoever decides on the budget charges what is past its deadline. */
  expire(): void {
    for (const each of this.reservations.values()) {
      if (each.state !== 'open' || this.now - GRACE_MS <= each.deadline) continue
      each.state = 'expired'
      this.spent += each.tokens
    }
  }

  /** Reserved for an attempt that is gone. */
  charge(id: string | undefined): void {
    const reservation = id === undefined ? undefined : this.reservations.get(id)
    if (reservation?.state !== 'open') return
    reservation.state = 'expired'
    this.spent += reservation.tokens
  }

  open(id: string, tokens: number, ms: number): void {
    this.reservations.set(id, { tokens, deadline: this.now + ms, state: 'open' })
  }

  use(tokens: number, id?: string): void {
    const reservation = id === undefined ? undefined : this.reservations.get(id)
    if (reservation?.state === 'expired') this.spent -= reservation.tokens
    if (reservation !== undefined) reservation.state = 'over'
    this.spent += tokens
  }

  isOver(call: ModelCall): boolean {
    return this.now - GRACE_MS > call.leaseUntil
  }
}

const DEADLINE_MS = 5_000
const code = (outcome: Outcome) => (outcome.ok ? 'ok' : outcome.refusal.code)

async function take(test: TestLedger, at: Model, asked: Step): Promise<void> {
  const run = <C extends Command>(command: C) => test.ledger.execute(alice, 'r', command, {})
  switch (asked.do) {
    case 'pass':
      at.now += asked.ms
      test.clock.nowMs = at.now
      return
    case 'claim':
      return claim(at, asked, await run(claimOf(asked)))
    case 'settle':
    case 'fail':
    case 'doubt': {
      const call = at.calls.get(asked.key)
      if (call === undefined) return
      const usage = { tokens: asked.used }
      const said = {
        settle: { result: asked.key, usage },
        fail: { error: { message: 'x' } },
        doubt: { unknown: { reason: 'x' } },
      }
      return settle(
        at,
        { asked, call },
        await run({ kind: 'settle', callId: call.callId, body: { fence: call.fence, ...said[asked.do] } }),
      )
    }
    case 'reserve': {
      const outcome = await run({
        kind: 'reserve',
        body: { agent: 'a', tokens: asked.tokens, deadlineMs: DEADLINE_MS },
      })
      const fits = at.fits(asked.tokens)
      at.expire()
      assert.is(code(outcome), fits ? 'ok' : outcome.ok ? 'budget-exceeded' : code(outcome))
      if (!fits) assert.ok(['budget-exceeded', 'refusals-exhausted'].includes(code(outcome)))
      if (outcome.ok) at.open(String(outcome.body.reservationId), asked.tokens, DEADLINE_MS)
      return
    }
    case 'use':
      assert.is(code(await run({ kind: 'usage', body: { agent: 'a', usage: { tokens: asked.tokens } } })), 'ok')
      return at.use(asked.tokens)
    case 'settle-reservation':
    case 'release': {
      const [id, known] = [...at.reservations][asked.which] ?? []
      if (id === undefined || known === undefined) return
      const settles = asked.do === 'settle-reservation'
      const body = { usage: { tokens: asked.used } }
      const outcome = await run(
        settles
          ? { kind: 'settle-reservation', reservationId: id, body }
          : { kind: 'release', reservationId: id, body: {} },
      )
      const may = known.state === 'open' || (settles && known.state === 'expired')
      assert.is(code(outcome), may ? 'ok' : 'reservation-ended')
      if (may && settles) at.use(asked.used, id)
      else if (may) known.state = 'over'
      return
    }
    case 'hand': {
      const payload = asked.bad ? { n: asked.n } : { facts: ['f'], n: asked.n }
      await run({ kind: 'envelope', body: { agent: 'a', payload } })
      return
    }
    case 'restart':
      return
  }
}

function claimOf({ key, reserve, retry }: Extract<Step, { do: 'claim' }>): Command {
  const reserved = reserve === 0 ? {} : { reserve: { agent: 'a', tokens: reserve, deadlineMs: DEADLINE_MS } }
  return {
    kind: 'claim',
    body: {
      tool: 't',
      args: {},
      key: `k${key}`,
      leaseMs: LEASE_MS,
      onUnknown: retry ? 'retry' : 'in-doubt',
      ...reserved,
    },
  }
}

function claim(at: Model, asked: Extract<Step, { do: 'claim' }>, outcome: Outcome): void {
  const known = at.calls.get(asked.key)
  const held = known?.status === 'claimed' && !at.isOver(known)
  const over = known?.status === 'claimed' && at.isOver(known)
  if (held) {
    assert.is(code(outcome), 'call-in-progress')
    return
  }
  if (known?.status === 'succeeded') {
    assert.is(outcome.ok && outcome.body.status, 'succeeded')
    return
  }
  if (known !== undefined && (over || known.status === 'in-doubt') && !known.retry) {
    known.status = 'in-doubt'
    assert.is(code(outcome), 'call-in-doubt')
    return
  }
  const fits = at.fits(asked.reserve)
  if (asked.reserve > 0) at.expire()
  if (over && known !== undefined) known.status = 'in-doubt'
  if (!fits) {
    assert.ok(['budget-exceeded', 'refusals-exhausted'].includes(code(outcome)), code(outcome))
    return
  }
  if (!outcome.ok) throw new Error(`${asked.key}: ${code(outcome)}`)
  const { callId, fence, reservationId } = outcome.body
  if (known !== undefined) assert.equal([callId, fence], [known.callId, known.fence + 1])
  at.charge(known?.reservation)
  if (typeof reservationId === 'string') at.open(reservationId, asked.reserve, DEADLINE_MS)
  at.calls.set(asked.key, {
    callId: String(callId),
    status: 'claimed',
    fence: Number(fence),
    retry: asked.retry,
    leaseUntil: at.now + LEASE_MS,
    ...(typeof reservationId === 'string' && { reservation: reservationId }),
  })
}

function settle(
  at: Model,
  given: { asked: Extract<Step, { used: number; key: number }>; call: ModelCall },
  outcome: Outcome,
): void {
  const { asked, call } = given
  if (call.status === 'succeeded' || call.status === 'failed') {
    assert.ok(outcome.ok ? !outcome.created : code(outcome) === 'already-settled')
    return
  }
  assert.is(code(outcome), 'ok')
  call.status = asked.do === 'settle' ? 'succeeded' : asked.do === 'fail' ? 'failed' : 'in-doubt'
  const reservation = call.reservation === undefined ? undefined : at.reservations.get(call.reservation)
  const unsettled = reservation?.state === 'open' || reservation?.state === 'expired'
  if (asked.do === 'settle') at.use(asked.used, unsettled ? call.reservation : undefined)
  if (asked.do === 'fail' && reservation?.state === 'open') reservation.state = 'over'
}

function agree(state: RunState, at: Model): void {
  assert.equal([state.spend.tokens, state.spend.reservedTokens], [at.spent, at.reserved])
  for (const [key, call] of at.calls) {
    const known = state.calls[`$${call.callId}`]
    assert.equal([known?.key, known?.status, known?.fence], [`k${key}`, call.status, call.fence])
  }
}

model(
  'whatever is asked in whatever order, the ledger answers as the model, and its stream replays to the same state',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        await using test = await testLedger()
        await drive(test, 'r').start({ budget: { tokens: LIMIT } })
        const at = new Model(test.clock.nowMs)
        let acting: TestLedger = test
        for (const asked of steps) {
          if (asked.do === 'restart') acting = { ...test, ledger: await test.sibling() }
          await take(acting, at, asked)
        }
        const state = await verifiedFold(test, 'r')
        agree(state, at)
        const verdict = await replayed(acting.ledger, 'r')
        assert.equal([verdict.verdict, (verdict.snapshots as { mismatched: number }).mismatched], ['VERIFIED', 0])
        await foldsOn(test)
      }),
      { numRuns: rounds(40, 200, 1_000) },
    )
  },
)

/** fold(all) = fold(rest) on fold(first), also where the state was written down as JSON in between, as a cached fold is. */
async function foldsOn(test: TestLedger): Promise<void> {
  const events: RecordedEvent[] = (await recordsOf(test.store, 'r')).map((record) =>
    recordedEvent(JSON.parse(record.header) as Header, record.data),
  )
  const whole = fold(undefined, events)
  for (const at of [1, Math.ceil(events.length / 2), events.length]) {
    const first = fold(undefined, events.slice(0, at))
    const written = JSON.parse(JSON.stringify(first)) as RunState | undefined
    assert.equal(fold(written, events.slice(at)), whole)
  }
  assert.equal(JSON.parse(JSON.stringify(whole)), whole)
  assert.ok(toNano(whole?.spend.cost ?? '0') >= 0n)
}

function fold(from: RunState | undefined, events: readonly RecordedEvent[]): RunState | undefined {
  return events.reduce<RunState | undefined>((state, event) => evolveRun(state, structuredClone(event)), from)
}

model.run()
