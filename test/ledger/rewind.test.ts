import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { runStream } from '../../schemas/names.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { textDigest } from '../../src/signing/digests.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { drive, evidenceOf, listed, ok, refusedWith, replayed, verifiedFold } from '../support/run-driver.ts'
import { alice, testLedger } from '../support/test-ledger.ts'
import { wrapStore } from '../support/wrap-store.ts'

const rewind = suite('snapshots and rewinding')

async function open() {
  const test = await testLedger()
  const run = drive(test, 'r')
  await run.start({ policy: { ungrounded: 'off', protect: [] } })
  const contextAt = async (at = {}) => {
    const found = await test.ledger.context(alice, 'r', at)
    if (!found.ok) throw new Error(found.refusal.code)
    return found.value
  }
  const rollBack = (toStep?: number) =>
    run.do({ kind: 'rollback', body: { reason: 'test', ...(toStep === undefined ? {} : { toStep }) } })
  return {
    test,
    run,
    contextAt,
    rollBack,
    [Symbol.asyncDispose]: async () => {
      const state = await verifiedFold(test, 'r')
      assert.is(state.contextDigest, textDigest(canonicalJson(state.context)))
      assert.is((await replayed(test.ledger, 'r')).verdict, 'VERIFIED')
      await test[Symbol.asyncDispose]()
    },
  }
}

rewind('a handoff is one event, which holds its own snapshot (STR-10)', async () => {
  await using at = await open()
  for (let n = 1; n <= 3; n += 1) ok(await at.run.hand('ann', { n }, { tokens: 10 }))
  const events = await at.run.events()
  assert.equal(
    events.map(({ header }) => header.type),
    ['RunStarted', 'EnvelopeAccepted', 'EnvelopeAccepted', 'EnvelopeAccepted'],
  )
  const { v, step, context, snapshot } = events.at(-1)?.data ?? {}
  assert.equal([v, step], [2, 3])
  const budget = { tokens: 30, cost: '0', reservedTokens: 0, reservedCost: '0' }
  assert.equal(snapshot, { v: 2, step: 3, context, budget, openCalls: [], openReservations: [] })
  assert.equal((await at.run.state()).snapshot, { step: 3, revision: 3, contextDigest: context })
})

rewind(
  'what stands open is listed in a snapshot up to a hundred, then counted: handoffs do not grow with it (F84)',
  async () => {
    await using at = await open()
    const open_ = Array.from({ length: 150 }, (_, n) => ({
      runId: 'r',
      command: { kind: 'claim', body: { tool: 't', args: n, compensate: 'none' } } as const,
    }))
    for (const outcome of await at.test.ledger.executeBatch(alice, open_, {})) ok(outcome)
    ok(await at.run.hand('ann', { n: 1 }))
    const snapshot = (await at.run.events()).at(-1)?.data.snapshot as JsonObject
    assert.equal([(snapshot.openCalls as Json[]).length, snapshot.openCallsTotal], [100, 150])
  },
)

rewind('a refused handoff leaves what was accepted last, and step numbers are never reused (JUD-28)', async () => {
  await using at = await open()
  for (let n = 1; n <= 6; n += 1) ok(await at.run.hand('ann', { facts: ['one'], n }))
  await at.run.called('before')
  ok(await at.run.hand('ann', { facts: ['one'], n: 7 }))
  const callId = await at.run.called('t')
  const refused = refusedWith(await at.run.hand('bob', { n: 8 }), 'contradiction')
  const restored = refused.evidence?.restored as JsonObject
  assert.equal([restored.step, restored.context], [7, { facts: ['one'], n: 7 }])
  const rewound = (await at.run.events()).at(-1)
  assert.equal(
    [rewound?.header.type, rewound?.data.fromStep, rewound?.data.toStep, rewound?.data.cause, rewound?.data.callsSince],
    ['RunRewound', 7, 7, 'contradiction', [callId]],
  )
  assert.is(ok(await at.run.hand('ann', { facts: ['one'], n: 'next' })).step, 8)
})

rewind('rewinding moves the context and nothing else', async () => {
  await using at = await open()
  await at.run.hand('ann', { facts: ['one'] })
  const callId = await at.run.called('t', { compensate: { tool: 'undo' } })
  ok(await at.run.do({ kind: 'usage', body: { agent: 'ann', usage: { tokens: 9 } } }))
  await at.run.hand('ann', { facts: ['one', 'two'] })
  ok(await at.rollBack())
  assert.equal([(await at.run.call(callId)).status, (await at.run.budget()).tokens], ['succeeded', 9])
  assert.equal((await at.contextAt()).context, { facts: ['one'] })
})

rewind('by hand it goes to the accepted step before, and repeated, further back', async () => {
  await using at = await open()
  for (let n = 1; n <= 4; n += 1) ok(await at.run.hand('ann', { n }))
  for (const step of [3, 2, 1, 0]) {
    const back = ok(await at.rollBack())
    assert.equal([back.toStep, back.context], [step, step === 0 ? {} : { n: step }])
    assert.is(back.parent, (await at.contextAt()).parent)
  }
  refusedWith(await at.rollBack(), 'nothing-to-roll-back')
  assert.is(ok(await at.run.hand('ann', { n: 'new' })).step, 5)
})

rewind('by hand to a step that leads to the context now, and to no other', async () => {
  await using at = await open()
  for (let n = 1; n <= 3; n += 1) ok(await at.run.hand('ann', { n }))
  ok(await at.rollBack(1))
  refusedWith(await at.rollBack(2), 'unknown-step')
  refusedWith(await at.rollBack(1), 'unknown-step')
  refusedWith(await at.rollBack(99), 'unknown-step')
  ok(await at.run.hand('ann', { n: 4 }))
  ok(await at.rollBack(1))
  assert.equal((await at.contextAt()).context, { n: 1 })
})

rewind('a refused handoff after a rollback by hand rewinds to where that led', async () => {
  await using at = await open()
  for (const n of [1, 2, 3]) ok(await at.run.hand('ann', { facts: ['f'], n }))
  ok(await at.rollBack(2))
  const refused = refusedWith(await at.run.hand('bob', {}), 'contradiction')
  assert.is(evidenceOf(refused, 'restored').step, 2)
})

rewind('the context can be read as it was at a step or a revision, the rewound branch too', async () => {
  await using at = await open()
  for (const n of [1, 2]) ok(await at.run.hand('ann', { n }))
  ok(await at.rollBack(1))
  assert.equal((await at.contextAt({ step: 2 })).context, { n: 2 })
  assert.equal((await at.contextAt({ step: 0 })).context, {})
  assert.equal((await at.contextAt({ revision: 1 })).context, { n: 1 })
  for (const nowhere of [{ step: 3 }, { revision: 99 }, { revision: -1 }]) {
    const found = await at.test.ledger.context(alice, 'r', nowhere)
    assert.is(found.ok ? '' : found.refusal.code, 'unknown-step')
  }
})

rewind('replace, merge and extend each make their context', async () => {
  await using at = await open()
  ok(await at.run.hand('ann', { facts: { a: 1, list: ['x'] }, note: 'n', gone: 1 }))
  ok(await at.run.hand('ann', { facts: { b: 2 }, gone: null }, { mode: 'merge' }))
  assert.equal((await at.contextAt()).context, { facts: { a: 1, b: 2, list: ['x'] }, note: 'n' })
  ok(await at.run.hand('ann', { facts: { list: ['y'] }, note: null }, { mode: 'extend' }))
  assert.equal((await at.contextAt()).context, { facts: { a: 1, b: 2, list: ['x', 'y'] }, note: null })
  refusedWith(await at.run.hand('ann', { note: 'only' }), 'contradiction')
})

rewind('a context that would outgrow its limit is refused with limit and size, also after a merge', async () => {
  await using at = await open()
  const half = 'x'.repeat(300 * 1024)
  ok(await at.run.hand('ann', { a: half }))
  const refused = refusedWith(await at.run.hand('ann', { b: half }, { mode: 'merge' }), 'context-too-large')
  assert.is(refused.evidence?.limit, 512 * 1024)
  assert.ok(Number(refused.evidence?.actual) > 600 * 1024)
  assert.is((await at.run.types()).length, 2)
})

rewind('an append that the store cannot take is refused with its size, and the run goes on (REC-16)', async () => {
  const store = openMemoryStore({ maxAppendBytes: 64 * 1024 })
  await using test = await testLedger({ store })
  const run = drive(test, 'r')
  await run.start()
  refusedWith(await run.hand('ann', { a: 'x'.repeat(70_000) }), 'append-too-large')
  ok(await run.hand('ann', { a: 'x'.repeat(30_000) }))
})

rewind('a handoff names what it builds on; another one in between makes it stale', async () => {
  await using at = await open()
  const first = String((await at.contextAt()).parent)
  ok(await at.run.hand('ann', { n: 1 }, { parent: first }))
  const stale = refusedWith(await at.run.hand('bob', { n: 2 }, { parent: first }), 'stale-parent')
  assert.equal([stale.evidence?.expected, stale.evidence?.actual], [first, (await at.contextAt()).parent])
  ok(await at.run.hand('bob', { n: 2 }, { parent: String((await at.contextAt()).parent) }))
})

rewind('of many handoffs that build on the same context at once, one is established', async () => {
  await using at = await open()
  const parent = String((await at.contextAt()).parent)
  const outcomes = await Promise.all(Array.from({ length: 16 }, (_, n) => at.run.hand('ann', { n }, { parent })))
  assert.is(outcomes.filter((each) => each.ok).length, 1)
  for (const each of outcomes) if (!each.ok) assert.is(each.refusal.code, 'stale-parent')
})

rewind('a manifest bounds what an agent changes and what its payload looks like', async () => {
  await using at = await open()
  const schema = { type: 'object', required: ['n'] }
  const manifest = { agent: 'ann', writes: ['n'], schema }
  const hash = ok(await at.run.do({ kind: 'manifest', body: manifest })).hash
  assert.is(ok(await at.run.do({ kind: 'manifest', body: manifest })).hash, hash)
  ok(await at.run.hand('ann', { n: 1 }, { manifestHash: String(hash) }))
  const outside = refusedWith(await at.run.hand('ann', { n: 1, m: 2 }), 'contradiction')
  assert.ok(listed(outside, 'findings').some((finding) => finding.rule === 'manifest-violation'))
  const shape = refusedWith(await at.run.hand('ann', {}), 'contradiction')
  assert.ok(listed(shape, 'findings').some((finding) => finding.rule === 'schema-violation'))
  refusedWith(await at.run.hand('ann', { n: 2 }, { manifestHash: `sha256:${'0'.repeat(64)}` }), 'manifest-mismatch')
  refusedWith(
    await at.run.do({ kind: 'manifest', body: { agent: 'ann', schema: { type: 'nonsense' } } }),
    'manifest-invalid',
  )
  assert.is((await at.run.types()).filter((type) => type === 'ManifestRegistered').length, 1)
})

rewind('what was changed on the disk is not restored under a new seal', async () => {
  const store = openMemoryStore()
  let forged = false
  const readStream: typeof store.readStream = async function* (...args) {
    for await (const page of store.readStream(...args)) {
      yield page.map((record) => {
        const tamper = forged && record.stream === runStream(alice.tenant, 'r') && record.revision === 1
        return tamper ? { ...record, data: record.data.replace('honest', 'forged') } : record
      })
    }
  }
  await using test = await testLedger({
    store: wrapStore(store, {
      readStream,
    }),
  })
  const run = drive(test, 'r')
  await run.start({ policy: { protect: [] } })
  ok(await run.hand('ann', { said: 'honest' }))
  ok(await run.hand('ann', { said: 'more' }))
  const before = await store.head(runStream(alice.tenant, 'r'))
  forged = true
  refusedWith(await run.do({ kind: 'rollback', body: { reason: 'x' } }), 'stream-damaged')
  assert.is(await store.head(runStream(alice.tenant, 'r')), before)
})

rewind.run()
