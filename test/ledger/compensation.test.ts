import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { runStream } from '../../schemas/names.ts'
import type { Command } from '../../src/ledger/ledger.ts'
import { checkRecord } from '../../src/signing/check.ts'
import { recordDigest } from '../../src/signing/digests.ts'
import { createRunKeys } from '../../src/signing/key-ring.ts'
import { drive, ok, recordsOf, refusedWith, replayed, verifiedFold } from '../support/run-driver.ts'
import { alice, testLedger } from '../support/test-ledger.ts'

const compensation = suite('compensation')
const undo = { compensate: { tool: 'undo' } } as const

async function open() {
  const test = await testLedger()
  const run = drive(test, 'r')
  await run.start()
  const rollBack = async (scope?: string) =>
    ok(await run.do({ kind: 'compensate', body: { reason: 'no', ...(scope === undefined ? {} : { scope }) } }))
  const planned = async (scope?: string) =>
    ((await rollBack(scope)).plan as JsonObject[][]).map((group) => group.map((action) => action.callId))
  const ended = async () => (await run.events()).findLast((event) => event.header.type === 'RunCompensated')?.data
  return {
    test,
    run,
    rollBack,
    planned,
    ended,
    pass: (ms: number): void => {
      test.clock.nowMs += ms
    },
    [Symbol.asyncDispose]: async () => {
      await verifiedFold(test, 'r')
      assert.is((await replayed(test.ledger, 'r')).verdict, 'VERIFIED')
      await test[Symbol.asyncDispose]()
    },
  }
}

compensation(
  'the plan walks completed calls in reverse, groups side by side, with arguments and results (RUN-29)',
  async () => {
    await using at = await open()
    const a = await at.run.called('a', undo)
    const b = await at.run.called('b', { ...undo, group: 'g' })
    const c = await at.run.called('c', { ...undo, group: 'g' })
    const d = await at.run.called('d', undo)
    const plan = (await at.rollBack()).plan as JsonObject[][]
    assert.equal(
      plan.map((group) => group.map((action) => action.callId)),
      [[d], [c, b], [a]],
    )
    assert.equal(
      [plan[0]?.[0]?.tool, plan[0]?.[0]?.forwardTool, plan[0]?.[0]?.args, plan[0]?.[0]?.result],
      ['undo', 'd', { n: 4 }, 'd done'],
    )
  },
)

compensation(
  'not in the plan: failed, not needed, nobody undoes it, in doubt; and the ledger refuses to undo those (RUN-31)',
  async () => {
    await using at = await open()
    const failed = await at.run.claimed('a', undo)
    ok(await at.run.settle(failed, { error: { message: 'x' } }))
    const notNeeded = await at.run.called('b', { compensate: 'not-needed' })
    const none = await at.run.called('c', { compensate: 'none' })
    const doubtful = await at.run.claimed('d', undo)
    ok(await at.run.settle(doubtful, { unknown: { reason: 'x' } }))
    const undone = await at.run.called('e', undo)
    assert.equal(await at.planned(), [[undone]])
    for (const [callId, code] of [
      [failed, 'not-compensating'],
      [notNeeded, 'not-compensating'],
      [none, 'not-compensating'],
      [doubtful, 'call-in-doubt'],
    ] as const) {
      refusedWith(await at.run.claim('undo', { phase: 'compensation', key: callId, args: {} }), code)
    }
    ok(await at.run.undo(undone))
    assert.equal(await at.ended(), {
      v: 1,
      compensationId: (await at.ended())?.compensationId,
      status: 'IN_DOUBT',
      compensated: [undone],
      standing: [none],
      failed: [],
      unknown: [doubtful],
    })
  },
)

compensation('a doubtful call is undone where its tool says that it can be; its outcome is still welcome', async () => {
  await using at = await open()
  const doubtful = await at.run.claimed('d', { ...undo, compensateUnknown: true })
  ok(await at.run.settle(doubtful, { unknown: { reason: 'x' } }))
  assert.equal(await at.planned(), [[doubtful]])
  const claim = ok(await at.run.claim('undo', { phase: 'compensation', key: doubtful, args: {} }))
  ok(await at.run.settle(doubtful, { result: 'it ran' }))
  assert.is((await at.run.call(doubtful)).status, 'compensating')
  assert.is((await at.run.call(doubtful)).result, 'it ran')
  ok(await at.run.settle(String(claim.callId)))
  assert.equal(
    [(await at.run.state()).compensation, (await at.run.call(doubtful)).status],
    ['COMPENSATED', 'compensated'],
  )
})

compensation(
  'a compensation is bound to its run and its call: forged for another run it is refused, played again it runs nothing (A48)',
  async () => {
    await using at = await open()
    const other = drive(at.test, 'other')
    await other.start()
    const [mine, foreign] = [await at.run.called('a', undo), await other.called('a', undo)]
    await at.rollBack()
    ok(await other.do({ kind: 'compensate', body: { reason: 'no' } }))
    const forged = { phase: 'compensation', args: {} } as const
    refusedWith(await at.run.claim('undo', { ...forged, key: foreign }), 'call-not-found')
    refusedWith(await other.claim('undo', { ...forged, key: mine }), 'call-not-found')

    const claim = ok(await at.run.claim('undo', { ...forged, key: mine }))
    const callId = String(claim.callId)
    refusedWith(await other.settle(callId, { fence: Number(claim.fence) }), 'call-not-found')
    ok(await at.run.settle(callId, { fence: Number(claim.fence), result: 'undone' }))
    const again = await at.run.claim('undo', { ...forged, key: mine })
    assert.equal([again.ok && again.created, ok(again).result], [false, 'undone'])

    const records = await recordsOf(at.test.store, 'r')
    const moved = records.find(({ header }) => header.includes('"type":"CompensationSucceeded"'))
    const end = (await recordsOf(at.test.store, 'other')).at(-1)
    if (moved === undefined || end === undefined) throw new Error('nothing to forge with')
    const { ring } = at.test.keys.current()
    const place = {
      stream: runStream(alice.tenant, 'other'),
      revision: end.revision + 1,
      prevDigest: recordDigest(end.header),
      prevTime: undefined,
      minRingIndex: 0,
    }
    const checked = checkRecord(moved, place, { ring, runKeys: createRunKeys(ring) })
    assert.ok(!checked.ok && checked.faults.some(({ code }) => code === 'wrong-stream'))
    const renamed = { ...moved, header: moved.header.replace(`${runStream(alice.tenant, 'r')}"`, `${place.stream}"`) }
    const remade = checkRecord(renamed, place, { ring, runKeys: createRunKeys(ring) })
    assert.ok(!remade.ok && remade.faults.some(({ code }) => code === 'mac'))
  },
)

compensation(
  'a call with a compensation answers for its nested calls; else they are undone themselves (RUN-32)',
  async () => {
    await using at = await open()
    const outer = await at.run.claimed('outer', undo)
    await at.run.called('inner', { ...undo, parentCall: outer })
    ok(await at.run.settle(outer))
    const plain = await at.run.claimed('plain', { compensate: 'not-needed' })
    const own = await at.run.called('inner', { ...undo, parentCall: plain })
    ok(await at.run.settle(plain))
    assert.equal(await at.planned(), [[own], [outer]])
  },
)

for (const [status, play] of [
  ['COMPENSATED', {}],
  ['PARTLY_COMPENSATED', { standing: true }],
  ['COMPENSATION_FAILED', { standing: true, failed: true }],
  ['IN_DOUBT', { standing: true, failed: true, unknown: true }],
] as const) {
  compensation(
    `the verdict is ${status} with ${Object.keys(play).join(', ') || 'everything undone'} (RUN-33)`,
    async () => {
      await using at = await open()
      const good = await at.run.called('good', undo)
      const standing = 'standing' in play ? await at.run.called('none', { compensate: 'none' }) : undefined
      const failing = 'failed' in play ? await at.run.called('failing', undo) : undefined
      const unknown = 'unknown' in play ? await at.run.called('unknown', undo) : undefined
      await at.rollBack()
      if (unknown !== undefined) ok(await at.run.undo(unknown, { unknown: { reason: 'x' } }))
      if (failing !== undefined) ok(await at.run.undo(failing, { error: { message: 'x' } }))
      const last = ok(await at.run.undo(good))
      assert.is(last.runStatus, status)
      const end = await at.ended()
      assert.equal(
        [end?.status, end?.compensated, end?.standing, end?.failed, end?.unknown],
        [status, [good], [standing].filter(Boolean), [failing].filter(Boolean), [unknown].filter(Boolean)],
      )
      assert.is((await at.run.state()).status, 'compensated')
    },
  )
}

compensation('a run with nothing to undo is compensated at once', async () => {
  await using at = await open()
  assert.is((await at.rollBack()).status, 'COMPENSATED')
  assert.equal(await at.run.types(), ['RunStarted', 'CompensationStarted', 'RunCompensated'])
})

compensation(
  'the rollback is on record before the first action, and asked again it answers as it stands (RUN-28)',
  async () => {
    await using at = await open()
    const callId = await at.run.called('a', undo)
    refusedWith(await at.run.claim('undo', { phase: 'compensation', key: callId, args: {} }), 'not-compensating')
    const first = await at.rollBack()
    const again = await at.rollBack()
    assert.equal([again.compensationId, again.status], [first.compensationId, 'COMPENSATING'])
    assert.is((await at.run.types()).filter((type) => type === 'CompensationStarted').length, 1)
  },
)

compensation('it closes the scope: nothing new starts in it, elsewhere work goes on', async () => {
  await using at = await open()
  const inside = await at.run.called('a', { ...undo, scope: 'saga:1/step:2' })
  await at.run.called('b', { ...undo, scope: 'saga:10' })
  assert.equal(await at.planned('saga:1'), [[inside]])
  refusedWith(await at.run.claim('c', { scope: 'saga:1' }), 'compensating')
  refusedWith(await at.run.claim('c', { scope: 'saga:1/step:3' }), 'compensating')
  ok(await at.run.claim('c', { scope: 'saga:10' }))
  ok(await at.run.hand('ann', { x: 1 }))
  await at.rollBack()
  refusedWith(await at.run.hand('ann', { x: 2 }), 'compensating')
  refusedWith(await at.run.do({ kind: 'complete', body: {} }), 'compensating')
})

compensation('a call in flight finishes and joins the plan (RUN-28)', async () => {
  await using at = await open()
  const early = await at.run.called('a', undo)
  const flying = await at.run.claimed('b', undo)
  assert.equal(await at.planned(), [[early]])
  ok(await at.run.undo(early))
  assert.is((await at.run.state()).status, 'open')
  refusedWith(await at.run.claim('undo', { phase: 'compensation', key: flying, args: {} }), 'call-in-progress')
  ok(await at.run.settle(flying))
  assert.equal(await at.planned(), [[flying], [early]])
  ok(await at.run.undo(flying))
  assert.equal((await at.ended())?.compensated, [flying, early])
})

compensation(
  'a call whose owner is gone does not hold the rollback up for ever: met past its deadline, it is in doubt',
  async () => {
    await using at = await open()
    const gone = await at.run.claimed('gone', { ...undo, leaseMs: 1_000 })
    const done = await at.run.called('done', undo)
    await at.rollBack()
    at.pass(3_001)
    ok(await at.run.undo(done))
    const end = await at.ended()
    assert.equal([end?.status, end?.compensated, end?.unknown], ['IN_DOUBT', [done], [gone]])
    assert.equal((await at.run.types()).slice(-3), ['ToolCallInDoubt', 'CompensationSucceeded', 'RunCompensated'])
  },
)

compensation('a compensation whose owner is gone is in doubt, and so is the run', async () => {
  await using at = await open()
  const callId = await at.run.called('a', undo)
  await at.rollBack()
  const claim = { phase: 'compensation', key: callId, args: {}, leaseMs: 1_000 } as const
  const claimed = ok(await at.run.claim('undo', claim))
  refusedWith(await at.run.claim('undo', claim), 'call-in-progress')
  at.pass(3_001)
  refusedWith(await at.run.claim('undo', claim), 'call-in-doubt')
  assert.equal((await at.run.types()).slice(-2), ['CompensationInDoubt', 'RunCompensated'])
  assert.is((await at.run.state()).compensation, 'IN_DOUBT')
  const resolve = { outcome: 'executed', evidence: 'looked' } as const
  ok(await at.run.do({ kind: 'resolve', callId: String(claimed.callId), body: resolve }))
  assert.equal(
    [(await at.run.state()).compensation, (await at.run.call(callId)).status],
    ['COMPENSATED', 'compensated'],
  )
})

compensation(
  'its key is the forward call, so that it happens once; a failed one may be tried again (RUN-30)',
  async () => {
    await using at = await open()
    const callId = await at.run.called('a', undo)
    await at.rollBack()
    ok(await at.run.undo(callId, { error: { message: 'first' }, willRetry: true }))
    assert.is((await at.run.state()).status, 'open', 'who will try again has not ended anything')
    ok(await at.run.undo(callId, { error: { message: 'second' } }))
    assert.is((await at.run.state()).compensation, 'COMPENSATION_FAILED')
    ok(await at.run.undo(callId))
    assert.is((await at.run.state()).compensation, 'COMPENSATED')
    const again = ok(await at.run.claim('undo', { phase: 'compensation', key: callId, args: { undo: callId } }))
    assert.is(again.status, 'succeeded')
    assert.is((await at.run.types()).filter((type) => type === 'CompensationSucceeded').length, 1)
  },
)

compensation("a compensation of another run's call, of a compensation, or of a model call is refused", async () => {
  await using at = await open()
  const callId = await at.run.called('a', undo)
  const model = await at.run.called('model:x', { phase: 'model' })
  await at.rollBack()
  const claim = ok(await at.run.claim('undo', { phase: 'compensation', key: callId, args: {} }))
  const forge = (key: string) => at.run.claim('undo', { phase: 'compensation', key, args: { key } })
  refusedWith(await forge('00000000-0000-4000-8000-000000000000'), 'call-not-found')
  refusedWith(await forge(String(claim.callId)), 'call-not-found')
  refusedWith(await forge(model), 'call-not-found')
})

compensation('what was undone and is requested again is a new generation', async () => {
  await using at = await open()
  const first = await at.run.called('book', { ...undo, key: 'k', scope: 'saga:1' })
  await at.rollBack('saga:1')
  const claim = ok(await at.run.claim('undo', { phase: 'compensation', key: first, args: {} }))
  refusedWith(await at.run.claim('book', { ...undo, key: 'k', scope: 'saga:2' }), 'compensating')
  ok(await at.run.settle(String(claim.callId)))
  const again = ok(await at.run.claim('book', { ...undo, key: 'k', scope: 'saga:2' }))
  assert.equal([again.callId === first, again.generation, again.attempt, again.fence], [false, 2, 1, 1])
})

compensation('a failed or completed run can be undone; it then counts as compensated', async () => {
  const ends: Command[] = [
    { kind: 'fail', body: { error: { message: 'x' } } },
    { kind: 'complete', body: {} },
  ]
  for (const end of ends) {
    await using at = await open()
    const callId = await at.run.called('a', undo)
    ok(await at.run.do(end))
    await at.rollBack()
    ok(await at.run.undo(callId))
    assert.is((await at.run.state()).status, 'compensated')
  }
})

compensation('an end that was reached is not reached again by what has no part in it', async () => {
  await using at = await open()
  const model = await at.run.claimed('model:x', { phase: 'model' })
  await at.rollBack()
  ok(await at.run.settle(model))
  assert.is((await at.run.types()).filter((type) => type === 'RunCompensated').length, 1)
})

compensation.run()
