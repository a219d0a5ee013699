import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runStream } from '../../schemas/names.ts'
import type { Command } from '../../src/ledger/ledger.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { drive, idempotent, listed, ok, refusedWith, verifiedFold } from '../support/run-driver.ts'
import { shakyStore } from '../support/shaky-store.ts'
import { alice, testLedger } from '../support/test-ledger.ts'

const life = suite('the life of a run')

const nobody = '00000000-0000-4000-8000-000000000000'

life('nothing happens to a run that was not started', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  refusedWith(await run.hand('a', {}), 'run-not-found')
  refusedWith(await run.claim('t'), 'run-not-found')
  const found = await test.ledger.run(alice, 'r')
  assert.is(found.ok ? '' : found.refusal.code, 'run-not-found')
  assert.is(await test.store.head(runStream(alice.tenant, 'r')), -1)
})

life('the same id and content takes an open run up again; other content is refused', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  const body = { id: 'r', name: 'n', input: { a: 1 }, tags: ['x'] }
  assert.equal(ok(await run.do({ kind: 'start', body })).fence, 1)
  const resumed = await run.do({ kind: 'start', body })
  assert.equal([ok(resumed).fence, resumed.ok && resumed.created], [2, false])
  refusedWith(await run.do({ kind: 'start', body: { ...body, input: { a: 2 } } }), 'run-exists')
  assert.equal(await run.types(), ['RunStarted', 'RunResumed'])
})

life(
  'an older owner hands nothing over and claims nothing, not even to be served; it may settle what it has open',
  async () => {
    await using test = await testLedger()
    const run = drive(test, 'r')
    await run.start()
    const done = await run.called('done', { key: 'done' })
    const open = await run.claimed('open')
    await run.start()
    refusedWith(await run.hand('a', {}, { runFence: 1 }), 'run-taken-over')
    refusedWith(await run.claim('t', { runFence: 1 }), 'run-taken-over')
    refusedWith(await run.claim('done', { key: 'done', runFence: 1 }), 'run-taken-over')
    ok(await run.settle(open))
    assert.is(ok(await run.claim('done', { key: 'done', runFence: 2 })).callId, done)
    ok(await run.hand('a', { x: 1 }, { runFence: 2 }))
  },
)

life('an ended run gives its recorded end to whoever starts it again', async () => {
  const memory = Object.assign(openMemoryStore(), { exclusive: true })
  await using test = await testLedger({ store: shakyStore(memory, { random: () => 0.9, rate: 0 }) })
  for (const [id, end, said] of [
    ['c', { kind: 'complete', body: { output: { total: 7 } } }, { status: 'completed', output: { total: 7 } }],
    ['f', { kind: 'fail', body: { error: { message: 'x' } } }, { status: 'failed', error: { message: 'x' } }],
  ] as const) {
    const run = drive(test, id)
    await run.start()
    // In one batch: what ended it is not on the disk yet when the second is decided.
    const start = { kind: 'start', body: { id, name: 'test' } } as const
    const [ended, again] = await test.ledger.executeBatch(
      alice,
      [
        { runId: id, command: end },
        { runId: id, command: start },
      ],
      {},
    )
    if (ended === undefined || again === undefined) throw new Error('two asked, two answered')
    ok(ended)
    const { status, output, error } = ok(again)
    assert.equal({ status, ...(output !== undefined && { output }), ...(error !== undefined && { error }) }, said)
  }
})

life(
  'a run does not complete over open work, which is named; work past its deadline is put on record first (RUN-24)',
  async () => {
    await using test = await testLedger()
    const run = drive(test, 'r')
    await run.start()
    const complete: Command = { kind: 'complete', body: {} }
    const callId = await run.claimed('t', { leaseMs: 1_000, reserve: { tokens: 5, deadlineMs: 1_000 } })
    const open = refusedWith(await run.do(complete), 'open-work')
    assert.equal(
      listed(open, 'calls').map((each) => [each.callId, each.status]),
      [[callId, 'claimed']],
    )
    assert.is(listed(open, 'reservations').length, 1)
    test.clock.nowMs += 10_000
    const late = refusedWith(await run.do(complete, idempotent('k')), 'open-work')
    assert.equal(
      listed(late, 'calls').map((each) => each.status),
      ['in-doubt'],
    )
    assert.equal((await run.types()).slice(-2), ['ToolCallInDoubt', 'ReservationExpired'])
    ok(await run.settle(callId))
    ok(await run.do(complete, idempotent('k')))
  },
)

life('a run that fails names its open calls, and ends the leases that are over', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  const over = await run.claimed('over', { leaseMs: 100 })
  const running = await run.claimed('running')
  test.clock.nowMs += 5_000
  ok(await run.do({ kind: 'fail', body: { error: { message: 'x' } } }))
  const end = (await run.events()).at(-1)
  assert.equal(end?.data.openCalls, [over, running])
  assert.is((await run.call(over)).status, 'in-doubt')
})

const afterEnd: readonly [name: string, ask: (run: ReturnType<typeof drive>, call: string) => Promise<Command>][] = [
  ['a handoff', async () => ({ kind: 'envelope', body: { agent: 'a', payload: {} } })],
  ['a claim', async () => ({ kind: 'claim', body: { tool: 't', args: {} } })],
  ['a renewal', async (_, callId) => ({ kind: 'renew', callId, body: { fence: 1 } })],
  ['a rollback by hand', async () => ({ kind: 'rollback', body: { reason: 'x' } })],
  ['a manifest', async () => ({ kind: 'manifest', body: { agent: 'a' } })],
  ['a reservation', async () => ({ kind: 'reserve', body: { agent: 'a', tokens: 1 } })],
  ['an end', async () => ({ kind: 'complete', body: {} })],
  ['another end', async () => ({ kind: 'fail', body: { error: { message: 'x' } } })],
]
for (const [name, ask] of afterEnd) {
  life(`after the end ${name} is refused (STR-9)`, async () => {
    await using test = await testLedger()
    const run = drive(test, 'r')
    await run.start()
    const callId = await run.claimed('open')
    ok(await run.do({ kind: 'fail', body: { error: { message: 'x' } } }))
    refusedWith(await run.do(await ask(run, callId)), 'run-ended')
  })
}

life(
  'after the end settles, doubts, resolves, usage and releases of earlier work are still recorded (STR-9)',
  async () => {
    await using test = await testLedger()
    const run = drive(test, 'r')
    await run.start()
    const one = await run.claimed('one', { reserve: { tokens: 3 } })
    const two = await run.claimed('two', { leaseMs: 100 })
    const reserved = String(ok(await run.do({ kind: 'reserve', body: { agent: 'a', tokens: 1 } })).reservationId)
    ok(await run.do({ kind: 'fail', body: { error: { message: 'x' } } }))
    ok(await run.settle(one, { result: 1, usage: { tokens: 2 } }))
    test.clock.nowMs += 10_000
    ok(await run.do({ kind: 'resolve', callId: two, body: { outcome: 'executed', evidence: 'x' } }))
    ok(await run.do({ kind: 'release', reservationId: reserved, body: {} }))
    refusedWith(await run.claim('two', { key: 'two', args: { other: 1 } }), 'run-ended')
    await verifiedFold(test, 'r')
    assert.is((await run.state()).status, 'failed')
  },
)

life('a token for one run or one agent reaches no other', async () => {
  await using test = await testLedger()
  await drive(test, 'r').start()
  await drive(test, 's').start()
  const bound = drive(test, 's', { ...alice, run: 'r' })
  refusedWith(await bound.hand('a', {}), 'run-mismatch')
  const ann = drive(test, 'r', { ...alice, agent: 'ann' })
  refusedWith(await ann.hand('bob', {}), 'agent-mismatch')
  refusedWith(await ann.claim('t', { reserve: { agent: 'bob', tokens: 1 } }), 'agent-mismatch')
  assert.is((await ann.call(await ann.claimed('t'))).agent, 'ann')
  const [denied] = await test.ledger.executeBatch(
    { ...alice, agent: 'ann' },
    [{ runId: 'r', command: { kind: 'usage', body: { agent: 'bob', usage: { tokens: 1 } } } }],
    {},
  )
  assert.is(denied?.ok === false && denied.refusal.code, 'agent-mismatch')
})

life('another tenant finds nothing', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  const mallory = { tenant: 'other', actor: 'mallory' }
  const theirs = drive(test, 'r', mallory)
  refusedWith(await theirs.hand('a', {}), 'run-not-found')
  refusedWith(await theirs.settle(nobody), 'run-not-found')
  const [event] = await run.events()
  assert.is(event && (await test.ledger.eventAt(mallory, event.position)), undefined)
})

life(
  'a refusal is recorded once for the same actor, and at most 20 times a minute; beyond that, the caller has to wait (STR-12)',
  async () => {
    await using test = await testLedger()
    const run = drive(test, 'r')
    await run.start({ budget: { tokens: 1 } })
    const tooMuch = (tokens: number, caller = alice) =>
      test.ledger.execute(caller, 'r', { kind: 'reserve', body: { agent: 'a', tokens } }, {})
    for (let n = 2; n <= 11; n += 1) refusedWith(await tooMuch(n), 'budget-exceeded')
    for (let n = 2; n <= 11; n += 1) refusedWith(await tooMuch(n), 'budget-exceeded')
    for (let n = 2; n <= 11; n += 1) refusedWith(await tooMuch(n, { ...alice, actor: 'bob' }), 'budget-exceeded')
    const full = refusedWith(await tooMuch(99), 'refusals-exhausted')
    assert.ok((full.retryAfterMs ?? 0) > 0 && (full.retryAfterMs ?? 0) <= 60_000)
    assert.is(full.evidence?.refused, 'budget-exceeded')
    assert.is((await run.types()).length, 21)
    test.clock.nowMs += 60_000
    refusedWith(await tooMuch(99), 'budget-exceeded')
    assert.is((await run.types()).length, 22)
  },
)

life('a clock that went back does not lock refusals up for longer than a minute', async () => {
  await using test = await testLedger()
  const run = drive(test, 'r')
  await run.start({ budget: { tokens: 1 } })
  const tooMuch = (tokens: number) => run.do({ kind: 'reserve', body: { agent: 'a', tokens } })
  for (let n = 2; n <= 21; n += 1) await tooMuch(n)
  test.clock.nowMs -= 86_400_000
  assert.ok((refusedWith(await tooMuch(99), 'refusals-exhausted').retryAfterMs ?? 0) <= 60_000)
})

life.run()
