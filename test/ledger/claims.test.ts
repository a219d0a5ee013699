import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { drive, ok, refusedWith, replayed, verifiedFold } from '../support/run-driver.ts'
import { testLedger } from '../support/test-ledger.ts'

const claims = suite('claims')

async function open() {
  const test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  return {
    test,
    run,
    pass: (ms: number): void => {
      test.clock.nowMs += ms
    },
    [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
  }
}

claims('a call that succeeded answers every repeat with its recorded result', async () => {
  await using at = await open()
  const callId = await at.run.claimed('search', { key: 'k' })
  ok(await at.run.settle(callId, { result: { hits: [1, 2] } }))
  const again = await at.run.claim('search', { key: 'k' })
  assert.equal([ok(again).status, ok(again).result, ok(again).callId], ['succeeded', { hits: [1, 2] }, callId])
  assert.is(again.ok && again.created, false)
})

claims('without a key of its own a call is known by tool, phase, arguments, scope and occurrence (RUN-1)', async () => {
  await using at = await open()
  const args = { from: 'A', to: 'B' }
  const keyOf = async (more: JsonObject) =>
    ok(await at.run.claim('book', { args, leaseMs: 100, onUnknown: 'retry', ...more })).key
  const keys = [
    await keyOf({}),
    await keyOf({ scope: 's' }),
    await keyOf({ occurrence: 1 }),
    await keyOf({ phase: 'model' }),
    await keyOf({ args: { to: 'B', from: 'C' } }),
  ]
  assert.is(new Set(keys).size, keys.length)
  refusedWith(await at.run.claim('book', { args: { to: 'B', from: 'A' } }), 'call-in-progress')
})

claims('the same key with other arguments or another tool is refused, and the refusal recorded (RUN-8)', async () => {
  await using at = await open()
  await at.run.claim('pay', { key: 'k', args: { amount: 1 } })
  assert.is(
    refusedWith(await at.run.claim('pay', { key: 'k', args: { amount: 2 } }), 'call-key-reused').pointer,
    '/args',
  )
  assert.is(
    refusedWith(await at.run.claim('refund', { key: 'k', args: { amount: 1 } }), 'call-key-reused').pointer,
    '/tool',
  )
  assert.equal((await at.run.types()).slice(2), ['RequestRefused', 'RequestRefused'])
})

claims('a failed call may be tried again: the same call, the next attempt and fence', async () => {
  await using at = await open()
  const callId = await at.run.claimed('flaky', { key: 'k' })
  ok(await at.run.settle(callId, { error: { message: 'boom' } }))
  const again = ok(await at.run.claim('flaky', { key: 'k' }))
  assert.equal([again.callId, again.attempt, again.fence, again.generation], [callId, 2, 2, 1])
})

claims('while the lease runs everybody else waits; it ends 2 s after its deadline and not before', async () => {
  await using at = await open()
  await at.run.claim('slow', { key: 'k', leaseMs: 10_000 })
  const waits = refusedWith(await at.run.claim('slow', { key: 'k' }), 'call-in-progress')
  assert.ok((waits.retryAfterMs ?? 0) > 0)
  at.pass(12_000)
  refusedWith(await at.run.claim('slow', { key: 'k' }), 'call-in-progress')
  at.pass(1)
  refusedWith(await at.run.claim('slow', { key: 'k' }), 'call-in-doubt')
  refusedWith(await at.run.claim('slow', { key: 'k' }), 'call-in-doubt')
  assert.is((await at.run.types()).filter((type) => type === 'ToolCallInDoubt').length, 1)
})

claims('a call whose tool allows it is retried when its lease is over, and both facts are on record', async () => {
  await using at = await open()
  const callId = await at.run.claimed('read', { key: 'k', leaseMs: 1_000, onUnknown: 'retry' })
  at.pass(3_001)
  const again = ok(await at.run.claim('read', { key: 'k', onUnknown: 'retry' }))
  assert.equal([again.callId, again.fence, again.attempt], [callId, 2, 2])
  assert.equal((await at.run.types()).slice(-2), ['ToolCallInDoubt', 'ToolCallClaimed'])
})

claims(
  'a settle under an older fence is refused, kept, and marks the call as possibly executed twice (RUN-14)',
  async () => {
    await using at = await open()
    const callId = await at.run.claimed('pay', { key: 'k', leaseMs: 1_000, onUnknown: 'retry' })
    at.pass(3_001)
    ok(await at.run.claim('pay', { key: 'k', onUnknown: 'retry' }))
    refusedWith(await at.run.settle(callId, { fence: 1, result: 'paid' }), 'stale-fence')
    refusedWith(await at.run.settle(callId, { fence: 1, result: 'paid' }), 'stale-fence')
    const recorded = (await at.run.events()).filter((event) => event.header.type === 'RequestRefused')
    assert.is(recorded.length, 1)
    const late = recorded[0]?.data.lateOutcome as JsonObject
    assert.equal([late.callId, late.fence, late.status], [callId, 1, 'succeeded'])
    assert.is((await at.run.call(callId)).possiblyTwice, true)
    ok(await at.run.settle(callId, { fence: 2, result: 'paid' }))
    assert.is((await at.run.call(callId)).possiblyTwice, true)
  },
)

claims('what an older fence used is counted all the same', async () => {
  await using at = await open()
  const callId = await at.run.claimed('ask', { key: 'k', leaseMs: 1_000, onUnknown: 'retry', reserve: { tokens: 50 } })
  at.pass(3_001)
  ok(await at.run.claim('ask', { key: 'k', onUnknown: 'retry', reserve: { tokens: 50 } }))
  refusedWith(await at.run.settle(callId, { fence: 1, result: 1, usage: { tokens: 30 } }), 'stale-fence')
  refusedWith(await at.run.settle(callId, { fence: 1, result: 1, usage: { tokens: 30 } }), 'stale-fence')
  assert.equal([(await at.run.budget()).tokens, (await at.run.budget()).reservedTokens], [30, 50])
})

claims('past its deadline the same fence still settles, and ends the doubt (RUN-15)', async () => {
  await using at = await open()
  const callId = await at.run.claimed('slow', { key: 'k', leaseMs: 100 })
  at.pass(60_000)
  refusedWith(await at.run.claim('slow', { key: 'k' }), 'call-in-doubt')
  assert.is(ok(await at.run.settle(callId, { result: 'at last' })).status, 'succeeded')
  assert.is(ok(await at.run.claim('slow', { key: 'k' })).result, 'at last')
})

claims('a caller who does not know the outcome says so: in doubt, not failed', async () => {
  await using at = await open()
  const callId = await at.run.claimed('pay', { key: 'k' })
  assert.is(ok(await at.run.settle(callId, { unknown: { reason: 'timed out' } })).status, 'in-doubt')
  refusedWith(await at.run.claim('pay', { key: 'k' }), 'call-in-doubt')
})

claims('an outcome is recorded once: the same again is answered, another is refused', async () => {
  await using at = await open()
  const callId = await at.run.claimed('t', { key: 'k' })
  ok(await at.run.settle(callId, { result: { a: 1 } }))
  assert.is(ok(await at.run.settle(callId, { result: { a: 1 } })).status, 'succeeded')
  refusedWith(await at.run.settle(callId, { result: { a: 2 } }), 'already-settled')
  refusedWith(await at.run.settle(callId, { error: { message: 'no' } }), 'already-settled')
  assert.is((await at.run.types()).length, 3)
})

claims('a renewal doubles the lease, up to ten minutes', async () => {
  await using at = await open()
  const callId = await at.run.claimed('long', { leaseMs: 200_000 })
  const leases: unknown[] = []
  for (let i = 0; i < 3; i += 1) leases.push(ok(await at.run.do({ kind: 'renew', callId, body: { fence: 1 } })).leaseMs)
  assert.equal(leases, [400_000, 600_000, 600_000])
  refusedWith(await at.run.do({ kind: 'renew', callId, body: { fence: 2 } }), 'stale-fence')
})

claims('a lease that is over is not renewed: the call is in doubt, on record (RUN-16)', async () => {
  await using at = await open()
  const callId = await at.run.claimed('long', { leaseMs: 1_000 })
  at.pass(3_001)
  refusedWith(await at.run.do({ kind: 'renew', callId, body: { fence: 1 } }), 'call-in-doubt')
  assert.is((await at.run.types()).at(-1), 'ToolCallInDoubt')
})

claims('a reader sees an overdue claim as claimed and overdue: only an event changes its status (STR-2)', async () => {
  await using at = await open()
  const callId = await at.run.claimed('slow', { leaseMs: 100 })
  assert.is((await at.run.call(callId)).overdue, undefined)
  at.pass(60_000)
  const call = await at.run.call(callId)
  assert.equal([call.status, call.overdue], ['claimed', true])
  const [open_] = (await at.run.state()).openCalls as JsonObject[]
  assert.equal([open_?.status, open_?.overdue], ['claimed', true])
})

claims("a writer whose clock lags gives leases that last: they count from the stream's own time", async () => {
  await using at = await open()
  at.pass(3_600_000)
  await at.run.claimed('first')
  at.pass(-3_600_000)
  await at.run.claim('slow', { key: 'k', leaseMs: 10_000 })
  refusedWith(await at.run.claim('slow', { key: 'k' }), 'call-in-progress')
  const events = await at.run.events()
  assert.ok(events.every((event, i) => event.header.time >= (events[i - 1]?.header.time ?? '')))
  assert.ok(events.at(-1)?.header.clock !== undefined, "the writer's own reading stands beside")
})

for (const [outcome, status, next] of [
  ['executed', 'succeeded', 'recorded'],
  ['not-executed', 'failed', 'attempt'],
  ['compensated', 'compensated', 'generation'],
] as const) {
  claims(`an in-doubt call resolved as ${outcome} is ${status} (RUN-17)`, async () => {
    await using at = await open()
    const callId = await at.run.claimed('pay', { key: 'k' })
    refusedWith(
      await at.run.do({ kind: 'resolve', callId, body: { outcome, evidence: 'asked the bank' } }),
      'call-not-in-doubt',
    )
    ok(await at.run.settle(callId, { unknown: { reason: 'timed out' } }))
    const resolve = { outcome, evidence: { ticket: 7 }, ...(outcome === 'executed' && { result: 'paid' }) }
    assert.is(ok(await at.run.do({ kind: 'resolve', callId, body: resolve })).status, status)
    const again = ok(await at.run.claim('pay', { key: 'k' }))
    if (next === 'recorded') assert.is(again.result, 'paid')
    if (next === 'attempt') assert.equal([again.callId, again.attempt], [callId, 2])
    if (next === 'generation') assert.equal([again.callId === callId, again.generation, again.fence], [false, 2, 1])
  })
}

claims('resolving meets a lease that is over, and puts that on record first', async () => {
  await using at = await open()
  const callId = await at.run.claimed('pay', { leaseMs: 100, reserve: { tokens: 9 } })
  at.pass(10_000)
  ok(await at.run.do({ kind: 'resolve', callId, body: { outcome: 'not-executed', evidence: 'log' } }))
  assert.equal((await at.run.types()).slice(-3), ['ToolCallInDoubt', 'BudgetReleased', 'ToolCallResolved'])
})

claims('a call that would wait for its own ancestor is refused (RUN-6)', async () => {
  await using at = await open()
  const outer = await at.run.claimed('outer', { key: 'o', args: {} })
  const inner = await at.run.claimed('inner', { key: 'i', args: {}, parentCall: outer })
  refusedWith(
    await at.run.claim('outer', { key: 'o2', args: {}, parentCall: '00000000-0000-4000-8000-000000000000' }),
    'call-not-found',
  )
  ok(await at.run.settle(outer, { error: { message: 'x' } }))
  refusedWith(await at.run.claim('outer', { key: 'o', args: {}, parentCall: inner }), 'recursive-call')
})

claims('an attacker cannot nest calls into a ring that nobody gets out of', async () => {
  await using at = await open()
  const first = await at.run.claimed('c', { key: 'c0', args: {} })
  let parentCall = first
  let deepest = 0
  for (let depth = 1; depth < 400; depth += 1) {
    const claim = await at.run.claim('c', { key: `c${depth}`, args: {}, parentCall })
    if (!claim.ok) {
      assert.is(claim.refusal.code, 'recursive-call')
      break
    }
    parentCall = String(claim.body.callId)
    deepest = depth
  }
  assert.ok(deepest > 64 && deepest < 300)
  ok(await at.run.settle(first, { error: { message: 'x' } }))
  refusedWith(await at.run.claim('c', { key: 'c0', args: {}, parentCall }), 'recursive-call')
  ok(await at.run.do({ kind: 'compensate', body: { reason: 'end' } }))
})

claims('names that mean something to JavaScript are names like any other', async () => {
  await using at = await open()
  for (const name of ['__proto__', 'constructor', 'toString', '1', '0', 'k'.repeat(512)]) {
    const callId = await at.run.claimed(name.slice(0, 100), {
      key: name,
      args: {},
      scope: name,
      agent: name.slice(0, 200),
    })
    refusedWith(
      await at.run.claim(name.slice(0, 100), { key: name, args: {}, agent: name.slice(0, 200) }),
      'call-in-progress',
    )
    ok(await at.run.settle(callId))
    assert.is(ok(await at.run.claim(name.slice(0, 100), { key: name, args: {} })).callId, callId)
  }
  assert.is(Object.keys({}.constructor.prototype).length, 0)
  const state = await verifiedFold(at.test, 'r')
  assert.is(state.forwardOrder.length, 6)
  assert.is((await replayed(at.test.ledger, 'r')).verdict, 'VERIFIED')
})

claims.run()
