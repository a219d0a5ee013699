import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import type { RecordJudgement, ReportBranch, StartFork } from '../../schemas/requests.ts'
import { fork } from '../support/fork-driver.ts'
import { drive, listed, ok, refusedWith, replayed, verifiedFold } from '../support/run-driver.ts'
import { alice, testLedger } from '../support/test-ledger.ts'

const test = suite('a judgement amid a fork')

const JOINS: readonly StartFork['join'][] = ['union', 'vote', 'first_wins']
const FROZEN: JsonObject = { facts: { allergies: ['latex'] }, notes: 'no allergies' }
const OBJECTION: Partial<RecordJudgement> = {
  verdict: 'reject',
  findings: [{ path: '/notes', message: 'the facts name an allergy' }],
}

/** A run whose first handoff was assented to, with a fork open on it. */
async function forked(join: StartFork['join'], policy: JsonObject = { judge: 'reject' }) {
  const opened = await testLedger()
  const run = drive(opened, 'r')
  await run.start({ policy: policy as never })
  ok(await run.hand('ann', FROZEN))
  const judge = async (said: Partial<RecordJudgement>) =>
    ok(await run.do({ kind: 'judgement', body: { step: 1, verdict: 'accept', judge: 'Ada', ...said } }))
  await judge({})
  ok(await run.do({ kind: 'manifest', body: { agent: 'strict', policy: { judge: 'reject' } } }))
  const open = await fork(run, join, ['a', 'strict'])
  return { opened, run, open, judge, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() }
}

const found = (body: JsonObject) =>
  (body.findings as readonly JsonObject[]).map(({ rule, severity, path }) => [rule, severity, path])

test('a judge that rejects a handoff and names no place is heeded: nothing builds on it until it is judged again (JUD-33, A336)', async () => {
  await using opened = await testLedger()
  const run = drive(opened, 'r')
  await run.start({ policy: { judge: 'reject' } })
  ok(await run.hand('ann', FROZEN))
  const judge = async (said: Partial<RecordJudgement>) =>
    ok(await run.do({ kind: 'judgement', body: { step: 1, verdict: 'accept', judge: 'Ada', ...said } }))
  for (const said of [{}, { findings: [] }]) {
    await judge({ verdict: 'reject', ...said })
    const refusal = refusedWith(await run.hand('ann', { ...FROZEN, plan: 'discharge' }), 'contradiction')
    assert.equal(found(refusal.evidence ?? {}), [['judged', 'error', '']])
    assert.match(String(listed(refusal, 'findings')[0]?.message), 'judged again')
    refusedWith(
      await run.do({ kind: 'fork', body: { join: 'union', branches: [{ name: 'a' }] } as never }),
      'contradiction',
    )
  }
  await judge({})
  ok(await run.hand('ann', { ...FROZEN, plan: 'discharge' }))
})

for (const join of JOINS) {
  test(`what a judge comes to object to while a fork is open stops its join (${join}): on record, with the finding (JUD-33, F121)`, async () => {
    await using at = await forked(join)
    await at.open.offer('a', { plan: 'discharge' })
    await at.open.offer('strict', { ward: 3 })
    await at.judge(OBJECTION)
    const refusal = refusedWith(await at.open.join(), 'fork-failed')
    assert.equal(found(refusal.evidence ?? {}), [['judged', 'error', '/notes']])
    assert.equal(
      listed(refusal, 'receipts').map(({ status }) => status),
      ['discarded', 'discarded'],
    )
    const joined = (await at.run.events()).at(-1)
    assert.equal([joined?.header.type, joined?.data.outcome], ['ForkJoined', 'rejected'])
    assert.equal(found(joined?.data ?? {}), [['judged', 'error', '/notes']])
    const now = await at.opened.ledger.context(alice, 'r', {})
    assert.equal(now.ok && now.value.context, FROZEN)
    assert.equal((await at.open.join()).ok, false, 'asked again, the verdict is the same')
    refusedWith(await at.run.hand('ann', { ...FROZEN, plan: 'discharge' }), 'contradiction')
    ok(await at.run.hand('ann', { ...FROZEN, notes: 'allergic to latex' }))
    await verifiedFold(at.opened, 'r')
    assert.is((await replayed(at.opened.ledger, 'r')).verdict, 'VERIFIED')
  })

  test(`a join that says anew what was objected to, or why it stands, is taken (${join}) (JUD-33, F121)`, async () => {
    const supersedes = [{ path: '/notes', reason: 'ruled out by a test on 3 May' }]
    const answers: readonly Partial<ReportBranch>[] = [
      { output: { notes: 'allergic to latex' } },
      { output: { plan: 'discharge' }, supersedes },
    ]
    for (const answer of answers) {
      await using at = await forked(join)
      ok(await at.open.report('a', answer))
      ok(await at.open.report('strict', { error: { message: 'no bed' } }))
      await at.judge(OBJECTION)
      assert.equal(ok(await at.open.join()).winners, ['a'])
    }
  })
}

test('a verdict that is taken back for none stops a join as well, and assent given anew lets it pass (JUD-34, F121)', async () => {
  for (const [verdict, code] of [
    ['unavailable', 'fork-failed'],
    ['accept', undefined],
  ] as const) {
    await using at = await forked('vote')
    await at.open.offer('a', { plan: 'discharge' })
    ok(await at.open.report('strict', { error: { message: 'no bed' } }))
    await at.judge(OBJECTION)
    await at.judge({ verdict })
    const outcome = await at.open.join()
    assert.is(outcome.ok ? undefined : outcome.refusal.code, code)
  }
})

test('where the run only warns, a join is stopped if an agent whose work it takes has a manifest that says so (JUD-33)', async () => {
  for (const [winner, isStopped] of [
    ['strict', true],
    ['a', false],
  ] as const) {
    await using at = await forked('vote', { judge: 'warn' })
    for (const name of ['a', 'strict'] as const)
      ok(await at.open.report(name, { output: { by: name }, score: name === winner ? 2 : 1 }))
    await at.judge(OBJECTION)
    assert.is((await at.open.join()).ok, !isStopped)
  }
  await using at = await forked('union', { judge: 'warn' })
  await at.open.offer('a', { by: 'a' })
  ok(await at.open.report('strict', { error: { message: 'no bed' } }))
  ok(await at.open.join())
  const branches = [{ name: 'strict', agent: 'strict', scope: 'again' }]
  refusedWith(await at.run.do({ kind: 'fork', body: { branches, join: 'union' } }), 'contradiction')
})

test.run()
