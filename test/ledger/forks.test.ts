import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import type { StartFork } from '../../schemas/requests.ts'
import { fork } from '../support/fork-driver.ts'
import {
  drive,
  evidenceOf,
  idempotent,
  listed,
  ok,
  refusedWith,
  replayed,
  verifiedFold,
} from '../support/run-driver.ts'
import { alice, testLedger } from '../support/test-ledger.ts'

const forks = suite('forks')

const FROZEN = { facts: ['one'], title: 'draft' }

/** A run that has established `FROZEN`. */
async function forked(
  policy: 'default' | { ungrounded: 'off'; protect: string[] } = { ungrounded: 'off', protect: [] },
) {
  const test = await testLedger()
  const run = drive(test, 'r')
  await run.start({ policy, budget: { tokens: 1000 } })
  ok(await run.hand('ann', FROZEN))
  return { test, run, [Symbol.asyncDispose]: () => test[Symbol.asyncDispose]() }
}

const statuses = (body: JsonObject) =>
  (body.receipts as readonly JsonObject[]).map(({ branch, status }) => `${branch} ${status}`)

async function contextOf({ test }: Awaited<ReturnType<typeof forked>>): Promise<unknown> {
  const found = await test.ledger.context(alice, 'r', {})
  return found.ok ? found.value.context : found.refusal
}

forks(
  'a union merges what each branch added, in one write with receipts and the handoff, which holds the snapshot',
  async () => {
    await using at = await forked()
    const open = await fork(at.run, 'union', ['a', 'b'])
    assert.equal(open.body.frozen, FROZEN)
    assert.is((await open.offer('a', { facts: ['two'] })).status, 'offered')
    await open.offer('b', { title: 'final' })
    const before = (await at.run.events()).length
    const joined = ok(await open.join())
    assert.equal([joined.outcome, joined.winners, statuses(joined)], ['joined', ['a', 'b'], ['a merged', 'b merged']])
    assert.equal(joined.context, { facts: ['one', 'two'], title: 'final' })
    assert.equal(await contextOf(at), joined.context)
    const written = (await at.run.events()).slice(before).map(({ header }) => header.type)
    assert.equal(written, ['BranchReceived', 'BranchReceived', 'ForkJoined', 'EnvelopeAccepted'])
    await verifiedFold(at.test, 'r')
    assert.is((await replayed(at.test.ledger, 'r')).verdict, 'VERIFIED')
  },
)

forks(
  'two branches that change one value differently are a conflict that names both; the context is unchanged',
  async () => {
    await using at = await forked()
    const open = await fork(at.run, 'union', ['a', 'b'])
    await open.offer('a', { title: 'mine' })
    await open.offer('b', { title: 'yours' })
    const refusal = refusedWith(await open.join(), 'fork-conflict')
    assert.equal(listed(refusal, 'conflicts'), [
      {
        path: '/title',
        frozen: 'draft',
        ours: { branch: 'a', value: 'mine' },
        theirs: { branch: 'b', value: 'yours' },
      },
    ])
    assert.equal(statuses(refusal.evidence ?? {}), ['a discarded', 'b discarded'])
    assert.equal(await contextOf(at), FROZEN)
    ok(await at.run.hand('ann', { ...FROZEN, title: 'after' }))
  },
)

forks(
  'a vote is won by the score, else by what was kept; ties go to the branch that was declared first (RUN-39)',
  async () => {
    const supersedes = [{ path: '/facts', reason: 'wrong' }]
    for (const [scores, winner] of [
      [[1, 2, 2], 'b'],
      [[undefined, undefined, undefined], 'b'],
      [[undefined, undefined, 0], 'c'],
    ] as const) {
      await using at = await forked()
      const open = await fork(at.run, 'vote', ['a', 'b', 'c'])
      const score = (i: number) => (scores[i] === undefined ? {} : { score: scores[i] })
      const lossy = await open.offer('a', { facts: null, by: 'a' }, { supersedes, ...score(0) })
      assert.is(lossy.confidence, 0)
      await open.offer('b', { by: 'b' }, score(1))
      await open.offer('c', { by: 'c' }, score(2))
      const joined = ok(await open.join())
      assert.equal(joined.winners, [winner])
      assert.is(joined.agent, winner, "the winner's own words are handed over")
      assert.equal(joined.context, { ...FROZEN, by: winner })
    }
  },
)

forks('the first valid branch wins; those that have not reported are given up', async () => {
  await using at = await forked()
  const open = await fork(at.run, 'first_wins', ['a', 'b', 'c', 'd'])
  assert.is((await open.offer('a', { facts: null })).status, 'refused')
  refusedWith(await open.join(), 'open-work')
  await open.offer('c', { by: 'c' })
  await open.offer('b', { by: 'b' })
  const joined = ok(await open.join())
  assert.equal([joined.winners, joined.order], [['c'], ['c', 'b']])
  assert.equal(statuses(joined), ['a refused', 'b discarded', 'c merged', 'd aborted'])
  refusedWith(await open.report('d', { output: { by: 'd' } }), 'fork-joined')
})

forks(
  'a branch that contradicts, breaks its manifest or its schema, or is too long is a failed branch, not a failed fork (RUN-40)',
  async () => {
    await using at = await forked()
    ok(await at.run.do({ kind: 'manifest', body: { agent: 'w', writes: ['title'], maxTokens: 5 } }))
    const schema = { type: 'object', required: ['n'] }
    ok(await at.run.do({ kind: 'manifest', body: { agent: 's', schema } }))
    const open = await fork(at.run, 'union', ['a', 'w', 's', 'x', 'y', 'good'])
    const contradiction = await open.offer('a', { facts: 'none' })
    assert.equal([contradiction.status, (contradiction.findings as JsonObject[]).length], ['refused', 1])
    assert.is((await open.offer('w', { other: 1 }, { tokens: 4 })).status, 'refused')
    assert.is((await open.offer('s', { m: 1 })).status, 'refused')
    ok(await open.report('x', { error: { message: 'threw' } }))
    ok(await open.report('y', { refused: { message: 'no budget', code: 'budget-exceeded' } }))
    await open.offer('good', { note: 1 })
    const joined = ok(await open.join())
    assert.equal(statuses(joined), ['a refused', 'w refused', 's refused', 'x failed', 'y refused', 'good merged'])
    assert.is((await at.run.budget()).tokens, 4, 'what a refused branch cost stays spent')
    assert.is(joined.step, 2)
  },
)

forks('all failed: the verdict is on record, without an envelope, and the context is what it was', async () => {
  await using at = await forked()
  const open = await fork(at.run, 'first_wins', ['a', 'b'])
  ok(await open.report('a', { error: { message: 'x' } }))
  ok(await open.report('b', { aborted: { reason: 'late' } }))
  const refusal = refusedWith(await open.join(), 'fork-failed')
  assert.equal(statuses(refusal.evidence ?? {}), ['a failed', 'b aborted'])
  assert.equal(await contextOf(at), FROZEN)
  assert.not((await at.run.types()).slice(3).includes('EnvelopeAccepted'))
})

forks(
  'while a fork is open nothing else changes the context, no second one opens, and the run does not complete',
  async () => {
    await using at = await forked()
    const open = await fork(at.run, 'vote', ['a'])
    assert.is(refusedWith(await at.run.hand('ann', FROZEN), 'fork-open').evidence?.forkId, open.forkId)
    refusedWith(await at.run.do({ kind: 'rollback', body: { reason: 'x', toStep: 0 } }), 'fork-open')
    const another: StartFork = { branches: [{ name: 'z', agent: 'z' }], join: 'vote' }
    refusedWith(await at.run.do({ kind: 'fork', body: another }), 'fork-open')
    const open_ = refusedWith(await at.run.do({ kind: 'complete', body: {} }), 'open-work')
    assert.equal(open_.evidence?.forks, [open.forkId])
    await open.offer('a', {})
    ok(await open.join())
    ok(await at.run.do({ kind: 'complete', body: {} }))
  },
)

forks(
  'a report and a join asked again get the recorded answer, also after a restart; another report is refused',
  async () => {
    await using at = await forked()
    const open = await fork(at.run, 'vote', ['a', 'b'])
    const first = await open.offer('a', { note: 1 }, { score: 1 })
    const again = ok(await open.report('a', { output: { note: 1 }, score: 1 }))
    assert.equal([again.status, again.output], [first.status, first.output])
    refusedWith(await open.report('a', { output: { note: 2 }, score: 1 }), 'branch-received')
    await open.offer('b', { note: 2 }, { score: 2 })
    const joined = ok(await open.join())
    const sibling = drive({ ledger: await at.test.sibling() }, 'r')
    const repeat = ok(await sibling.do({ kind: 'join', forkId: open.forkId, body: {} }))
    assert.equal([repeat.receipt, repeat.context, repeat.winners], [joined.receipt, joined.context, joined.winners])
    assert.is((await sibling.events()).length, (await at.run.events()).length)
  },
)

forks('under one idempotency key the very same answers are given again', async () => {
  await using at = await forked()
  const body: StartFork = { branches: [{ name: 'a', agent: 'a' }], join: 'vote' }
  const opened = await at.run.do({ kind: 'fork', body }, idempotent('f'))
  const forkId = String(ok(opened).forkId)
  const report = { branch: 'a', output: { facts: null } }
  const refused = await at.run.do({ kind: 'branch', forkId, body: report }, idempotent('b', report))
  const failed = await at.run.do({ kind: 'join', forkId, body: {} }, idempotent('j'))
  const sibling = drive({ ledger: await at.test.sibling() }, 'r')
  const again = [
    await sibling.do({ kind: 'fork', body }, idempotent('f')),
    await sibling.do({ kind: 'branch', forkId, body: report }, idempotent('b', report)),
    await sibling.do({ kind: 'join', forkId, body: {} }, idempotent('j')),
  ]
  const bodies = (outcomes: typeof again) => outcomes.map((each) => (each.ok ? each.body : each.refusal))
  assert.equal(JSON.stringify(bodies(again)), JSON.stringify(bodies([opened, refused, failed])))
})

forks(
  'the same scopes name the same fork; other content under them is refused, and no scope around them is free',
  async () => {
    await using at = await forked()
    const body: StartFork = { branches: [{ name: 'a', agent: 'a', scope: 'x/fork:a' }], join: 'vote' }
    const first = ok(await at.run.do({ kind: 'fork', body }))
    assert.is(ok(await at.run.do({ kind: 'fork', body })).forkId, first.forkId)
    refusedWith(await at.run.do({ kind: 'fork', body: { ...body, join: 'union' } }), 'fork-exists')
    const forkId = String(first.forkId)
    ok(await at.run.do({ kind: 'branch', forkId, body: { branch: 'a', output: {} } }))
    ok(await at.run.do({ kind: 'join', forkId, body: {} }))
    const around: StartFork = { branches: [{ name: 'a', agent: 'a', scope: 'x' }], join: 'vote' }
    refusedWith(await at.run.do({ kind: 'fork', body: around }), 'fork-exists')
  },
)

forks(
  'without scopes of their own equal names are numbered, so that each branch can be rolled back alone',
  async () => {
    await using at = await forked()
    const scopes: unknown[] = []
    for (let n = 0; n < 2; n += 1) {
      const open = await fork(at.run, 'vote', ['a/b'])
      scopes.push((open.body.branches as readonly JsonObject[])[0]?.scope)
      await open.offer('a/b', {})
      ok(await open.join())
    }
    assert.equal(scopes, ['fork:a%2Fb', 'fork:a%2Fb#2'])
  },
)

forks('a branch that was rolled back has nothing to hand over any more', async () => {
  await using at = await forked()
  const open = await fork(at.run, 'first_wins', ['a', 'b'])
  await open.offer('a', { by: 'a' })
  await open.offer('b', { by: 'b' })
  ok(await at.run.do({ kind: 'compensate', body: { reason: 'no', scope: 'fork:a' } }))
  assert.equal(ok(await open.join()).winners, ['b'])
})

forks(
  'an unsigned report of an agent that must sign is refused and recorded, and a union has no signature',
  async () => {
    await using at = await forked()
    ok(await at.run.do({ kind: 'manifest', body: { agent: 'boss', requireSignature: true } }))
    const unsigned: StartFork = { branches: [{ name: 'a', agent: 'a' }], join: 'union', agent: 'boss' }
    refusedWith(await at.run.do({ kind: 'fork', body: unsigned }), 'signature-invalid')
    const open = await fork(at.run, 'vote', ['boss'])
    refusedWith(await open.report('boss', { output: {} }), 'signature-invalid')
    assert.is((await at.run.types()).at(-1), 'RequestRefused')
  },
)

forks('a token of one agent reports for its own branch only', async () => {
  await using at = await forked()
  const open = await fork(at.run, 'vote', ['a', 'b'])
  const bound = drive(at.test, 'r', { ...alice, agent: 'a' })
  const report = (branch: string) =>
    bound.do({ kind: 'branch', forkId: open.forkId, body: { branch, output: { by: branch } } })
  refusedWith(await report('b'), 'agent-mismatch')
  assert.is(ok(await report('a')).status, 'offered')
})

forks('what is asked of no fork, no branch or an older owner is refused by name', async () => {
  await using at = await forked()
  const nowhere = '00000000-0000-4000-8000-000000000000'
  refusedWith(await at.run.do({ kind: 'join', forkId: nowhere, body: {} }), 'fork-not-found')
  const open = await fork(at.run, 'vote', ['a'])
  refusedWith(await open.report('z', { output: {} }), 'branch-not-found')
  ok(
    await at.run.do({
      kind: 'start',
      body: { id: 'r', name: 'test', policy: { ungrounded: 'off', protect: [] }, budget: { tokens: 1000 } },
    }),
  )
  refusedWith(await open.report('a', { output: {}, runFence: 1 }), 'run-taken-over')
  await open.offer('a', {}, { runFence: 2 })
  refusedWith(await at.run.do({ kind: 'join', forkId: open.forkId, body: { runFence: 1 } }), 'run-taken-over')
})

forks('reported and joined by two ledgers at once: one verdict, told to both alike', async () => {
  await using at = await forked()
  const open = await fork(at.run, 'first_wins', ['a', 'b'])
  const sibling = drive({ ledger: await at.test.sibling() }, 'r')
  const both = async (branch: string, run: typeof sibling) => {
    ok(await run.do({ kind: 'branch', forkId: open.forkId, body: { branch, output: { by: branch } } }))
    return run.do({ kind: 'join', forkId: open.forkId, body: {} })
  }
  const settled = await Promise.all([both('a', at.run), both('b', sibling)].map((each) => each.catch(String)))
  const [one, other] = settled.map((each) => (typeof each === 'string' ? each : ok(each).receipt))
  // Who reports after the race was over is told so, and gives up.
  if (settled.every((each) => typeof each !== 'string')) assert.is(one, other)
  else assert.match(String(settled.find((each) => typeof each === 'string')), 'fork-joined')
  assert.is((await at.run.types()).filter((type) => type === 'ForkJoined').length, 1)
  await verifiedFold(at.test, 'r')
  assert.is((await replayed(at.test.ledger, 'r')).verdict, 'VERIFIED')
})

forks('the open fork and its branches can be read', async () => {
  await using at = await forked()
  const open = await fork(at.run, 'vote', ['a', 'b'])
  await open.offer('b', { note: 1 })
  assert.is((await at.run.state()).openFork, open.forkId)
  const found = await at.test.ledger.forks(alice, 'r', { after: -1, limit: 10 })
  const [item] = found.ok ? (found.value.items as readonly JsonObject[]) : []
  assert.equal([item?.status, item?.offers], ['open', ['b']])
  assert.is(
    evidenceOf({ code: 'contradiction', detail: '', evidence: { item: item ?? {} } }, 'item').forkId,
    open.forkId,
  )
})

forks.run()
