import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { StartRun } from '../../schemas/requests.ts'
import { drive, ok, refusedWith, replayed, verifiedFold } from '../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../support/test-ledger.ts'

const children = suite('child runs')

const start = (test: TestLedger, body: Partial<StartRun>, caller = alice) =>
  test.ledger.execute(caller, '', { kind: 'start', body: { name: 'child', ...body } }, {})

children('a child has the id of its call, and both streams name the other run (RUN-56)', async () => {
  await using test = await testLedger()
  const parent = drive(test, 'p')
  await parent.start()
  const callId = await parent.claimed('cs.run:child')
  const childOf = { run: 'p', callId, fence: 1 }
  const started = ok(await start(test, { childOf }))
  assert.equal([started.runId, started.childOf], [callId, { run: 'p', callId, depth: 1 }])
  assert.equal((await parent.events()).at(-1)?.data, { v: 1, callId, run: callId })
  assert.equal((await parent.state()).children, [{ run: callId, callId, tool: 'cs.run:child', status: 'claimed' }])
  assert.equal((await drive(test, callId).state()).childOf, { run: 'p', callId, depth: 1 })
  const again = ok(await start(test, { childOf }))
  assert.equal([again.runId, again.resumed, again.fence], [callId, true, 2])
  assert.is((await parent.types()).filter((type) => type === 'ChildRunStarted').length, 1)
  for (const id of ['p', callId]) {
    await verifiedFold(test, id)
    assert.is((await replayed(test.ledger, id)).verdict, 'VERIFIED')
  }
})

children(
  'a start that names a parent which it has no right to is refused, and nothing is recorded (A180)',
  async () => {
    await using test = await testLedger()
    const parent = drive(test, 'p')
    await parent.start()
    const free = drive(test, 'free')
    await free.start()
    const callId = await parent.claimed('a')
    const done = await parent.called('b')
    const model = await parent.claimed('m', { phase: 'model' })
    const none = '01890000-0000-7000-8000-000000000000'
    const before = (await parent.types()).length
    const of = (callId: string, fence = 1, run = 'p') => ({ childOf: { run, callId, fence } })
    refusedWith(await start(test, of(none)), 'call-not-found')
    refusedWith(await start(test, of(model)), 'call-not-found')
    refusedWith(await start(test, of(callId, 1, 'nowhere')), 'run-not-found')
    refusedWith(await start(test, of(done)), 'stale-fence')
    refusedWith(await start(test, of(callId, 2)), 'stale-fence')
    refusedWith(await start(test, { id: 'free', ...of(callId) }), 'run-exists')
    refusedWith(await start(test, { id: 'p', ...of(callId) }), 'run-exists')
    refusedWith(await start(test, of(callId), { ...alice, run: 'other' }), 'run-mismatch')
    refusedWith(await start(test, { id: 'mine', ...of(callId) }, { ...alice, run: 'mine' }), 'run-mismatch')
    refusedWith(await start(test, of(callId), { ...alice, agent: 'ann' }), 'agent-mismatch')
    refusedWith(await start(test, of(callId), { tenant: 'other', actor: 'eve' }), 'run-not-found')
    const both = { ...of(callId), branchOf: { run: 'free', atStep: 0 } }
    refusedWith(await start(test, both), 'not-attempted')
    assert.is((await parent.types()).length, before)
    assert.equal(await free.types(), ['RunStarted'])

    ok(await start(test, { id: 'one', ...of(callId) }))
    refusedWith(await start(test, { id: 'two', ...of(callId) }), 'run-exists')
    refusedWith(await start(test, { id: 'one' }), 'run-exists')
    ok(await parent.do({ kind: 'compensate', body: { reason: 'enough' } }))
    refusedWith(await start(test, { id: 'one', ...of(callId) }), 'compensating')
  },
)

children(
  'a failed call that may have left something is undone, and what it left shows in the verdict (RUN-31, RUN-33)',
  async () => {
    for (const left of [true, false]) {
      await using test = await testLedger()
      const run = drive(test, 'p')
      await run.start()
      const undone = { compensate: { tool: 'undo' } }
      const plain = await run.claimed('a', undone)
      ok(await run.settle(plain, { error: { message: 'no' } }))
      const callId = await run.claimed('b', { ...undone, compensateFailed: true })
      ok(await run.settle(callId, { error: { message: 'no' } }))
      const { plan } = ok(await run.do({ kind: 'compensate', body: { reason: 'enough' } }))
      assert.equal(
        (plan as { callId: string }[][]).map((group) => group.map((call) => call.callId)),
        [[callId]],
      )
      refusedWith(await run.claim('undo', { phase: 'compensation', key: plain, args: {} }), 'not-compensating')
      ok(await run.undo(callId, { result: null, ...(left && { leftStanding: true as const }) }))
      const end = (await run.events()).at(-1)
      assert.is(end?.data.status, left ? 'PARTLY_COMPENSATED' : 'COMPENSATED')
      assert.equal([end?.data.standing, end?.data.compensated], left ? [[callId], []] : [[], [callId]])
      await verifiedFold(test, 'p')
    }
  },
)

children.run()
