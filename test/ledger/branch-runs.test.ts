import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { openMemoryStore } from '../../src/store/memory/memory-store.ts'
import { drive, idempotent, ok, refusedWith, replayed, verifiedFold } from '../support/run-driver.ts'
import { alice, testLedger } from '../support/test-ledger.ts'
import { wrapStore } from '../support/wrap-store.ts'

const branches = suite('branch runs')

const ONE = { facts: ['one'] }
const TWO = { facts: ['one', 'two'] }

async function parent(options: Parameters<typeof testLedger>[0] = {}) {
  const test = await testLedger(options)
  const run = drive(test, 'p')
  await run.start({ policy: { ungrounded: 'off', protect: [] } })
  ok(await run.hand('ann', ONE))
  ok(await run.hand('ann', TWO))
  return { test, run, [Symbol.asyncDispose]: () => test[Symbol.asyncDispose]() }
}

const asked = { id: 'b', name: 'what if', branchOf: { run: 'p', atStep: 1 } }

branches('a branch starts with the context of the step, and both streams name the other run', async () => {
  await using at = await parent()
  const branch = drive(at.test, 'b')
  const body = await branch.start({ ...asked })
  const accepted = (await at.run.events()).find(({ header }) => header.type === 'EnvelopeAccepted')
  const { contextDigest: _, ...origin } = body.branchOf as JsonObject
  assert.equal(origin, { run: 'p', atStep: 1, revision: accepted?.header.revision, digest: accepted?.digest })
  const link = (await at.run.events()).at(-1)
  assert.equal([link?.header.type, link?.data], ['RunBranched', { v: 1, run: 'b', atStep: 1, revision: 1 }])
  const found = await at.test.ledger.context(alice, 'b', {})
  assert.equal(found.ok && found.value.context, ONE)
  refusedWith(await branch.hand('ann', { other: 1 }), 'contradiction')
  ok(await branch.hand('ann', { facts: ['one', 'else'] }))
  assert.is((await branch.state()).step, 2, 'steps go on where the branch left the other run')
  const rolledBack = ok(await branch.do({ kind: 'rollback', body: { reason: 'x' } }))
  assert.equal([rolledBack.context, rolledBack.toStep], [ONE, 1])
  const first = await at.test.ledger.context(alice, 'b', { step: 1 })
  assert.equal(first.ok && first.value.context, ONE)
  const before = await at.test.ledger.context(alice, 'b', { step: 0 })
  assert.is(!before.ok && before.refusal.code, 'unknown-step')
  for (const id of ['p', 'b']) {
    await verifiedFold(at.test, id)
    assert.is((await replayed(at.test.ledger, id)).verdict, 'VERIFIED')
  }
})

branches('a run that has ended can be branched; its budget and its status stay its own', async () => {
  await using at = await parent()
  ok(await at.run.do({ kind: 'complete', body: { output: 1 } }))
  await drive(at.test, 'b').start({ ...asked, budget: { tokens: 5 } })
  assert.equal([(await at.run.state()).status, (await at.run.types()).at(-1)], ['completed', 'RunBranched'])
  assert.equal((await at.run.state()).branches, [{ run: 'b', atStep: 1, revision: (await at.run.events()).length - 1 }])
})

branches('a step that a rewind has left behind is still one to branch from', async () => {
  await using at = await parent()
  ok(await at.run.do({ kind: 'rollback', body: { reason: 'x', toStep: 1 } }))
  await drive(at.test, 'b').start({ ...asked, branchOf: { run: 'p', atStep: 2 } })
  const found = await at.test.ledger.context(alice, 'b', {})
  assert.equal(found.ok && found.value.context, TWO)
})

branches('a crash between the two appends is healed by the same request, and the link is made once', async () => {
  const memory = openMemoryStore()
  let dead = false
  const store = wrapStore(memory, {
    append: async (append) => {
      const lost = dead && append.stream.endsWith('.p')
      return lost ? { kind: 'unavailable', detail: 'gone', retryAfterMs: 1 } : memory.append(append)
    },
  })
  await using at = await parent({ store })
  dead = true
  refusedWith(await at.test.run('b', { kind: 'start', body: asked }, idempotent('k', asked)), 'store-unavailable')
  dead = false
  assert.not((await at.run.types()).includes('RunBranched'))
  const again = await at.test.run('b', { kind: 'start', body: asked }, idempotent('k', asked))
  assert.equal([again.ok, again.replayed], [true, true])
  ok(await at.test.run('b', { kind: 'start', body: asked }))
  assert.is((await at.run.types()).filter((type) => type === 'RunBranched').length, 1)
  assert.equal(await drive(at.test, 'b').types(), ['RunStarted', 'RunResumed'])
})

branches(
  'an unknown run, an unknown step and a token for another run are refused before anything is written',
  async () => {
    await using at = await parent()
    const start = (branchOf: { run: string; atStep: number }, caller = alice) =>
      at.test.ledger.execute(caller, 'b', { kind: 'start', body: { id: 'b', name: 'x', branchOf } }, {})
    assert.is(refusedWith(await start({ run: 'none', atStep: 0 }), 'run-not-found').pointer, '/branchOf/run')
    assert.is(refusedWith(await start({ run: 'p', atStep: 9 }), 'unknown-step').pointer, '/branchOf/atStep')
    refusedWith(await start({ run: 'p', atStep: 1 }, { ...alice, run: 'b' }), 'run-mismatch')
    refusedWith(await start({ run: 'p', atStep: 1 }, { ...alice, tenant: 'other' }), 'run-not-found')
    refusedWith(await drive(at.test, 'b').hand('ann', {}), 'run-not-found')
  },
)

branches('in a batch a branch is the first item of its run', async () => {
  await using at = await parent()
  const item = { runId: 'b', command: { kind: 'start', body: asked } } as const
  const hand = { runId: 'b', command: { kind: 'envelope', body: { agent: 'a', payload: TWO } } } as const
  const first = await at.test.ledger.executeBatch(alice, [item, hand], {})
  assert.equal(
    first.map(({ ok }) => ok),
    [true, true],
  )
  const late = { runId: 'c', command: { kind: 'start', body: { ...asked, id: 'c' } } } as const
  const before = { runId: 'c', command: { kind: 'fail', body: { error: { message: 'x' } } } } as const
  const [, second] = await at.test.ledger.executeBatch(alice, [before, late], {})
  if (second === undefined) throw new Error('two outcomes')
  refusedWith(second, 'not-attempted')
})

branches.run()
