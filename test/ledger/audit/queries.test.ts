import { randomUUID } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import type { SettleCall } from '../../../schemas/requests.ts'
import { AUDIT_QUERIES } from '../../../src/ledger/audit/audit-queries.ts'
import { Sealer } from '../../../src/ledger/identity/sealer.ts'
import { openMemoryStore } from '../../../src/store/memory/memory-store.ts'
import { openSqliteAudit } from '../../../src/store/sqlite/sqlite-audit.ts'
import { auditOfStore } from '../../support/audit-of-store.ts'
import { askAll, readPage } from '../../support/audited.ts'
import { rotate } from '../../support/key-rotation.ts'
import { record } from '../../support/records.ts'
import { drive, ok } from '../../support/run-driver.ts'
import { alice, type TestLedger, type TestLedgerOptions, testLedger } from '../../support/test-ledger.ts'

const queries = suite('audit: the named queries')

const audited = (options: TestLedgerOptions = {}) => testLedger({ audit: 'unrecorded', ...options })
const pick = (items: readonly JsonObject[], ...names: readonly string[]) =>
  items.map((item) => names.map((name) => item[name]))

async function contradicted(test: TestLedger, runId: string): Promise<void> {
  const run = drive(test, runId)
  await run.start()
  ok(await run.hand('researcher', { entities: ['Apple'] }))
  assert.not.ok((await run.hand('writer', { summary: 'growth' })).ok)
}

queries('the population is every run with its count of events; a revision that is gone is named', async () => {
  await using test = await audited()
  for (const id of ['a', 'b', 'c']) await contradicted(test, id)
  ok(await drive(test, 'b').do({ kind: 'complete', body: {} }))
  const page = await readPage(test.ledger, 'runs', { page: { limit: 2 } })
  assert.is(page.ok && page.total, 3)
  const runs = await askAll(test.ledger, 'runs', { page: { limit: 2 } })
  assert.equal(pick(runs, 'run', 'status', 'rejections', 'missingCount'), [
    ['a', 'open', 1, 0],
    ['b', 'completed', 1, 0],
    ['c', 'open', 1, 0],
  ])
  for (const { run, events } of runs) assert.is(events, (await drive(test, String(run)).events()).length)
  const open = await askAll(test.ledger, 'open-runs')
  assert.equal(pick(open, 'run'), [['a'], ['c']])
})

async function rolledBack(test: TestLedger, runId: string, outcome: Partial<SettleCall>): Promise<void> {
  const run = drive(test, runId)
  await run.start()
  const paid = await run.called('pay', { compensate: { tool: 'refund' } })
  ok(await run.do({ kind: 'compensate', body: { reason: 'undo it' } }))
  ok(await run.undo(paid, outcome))
}

queries(
  'the population and a sample say of each rolled-back run how the rollback ended, then as now; others have no verdict (RUN-33)',
  async () => {
    await using test = await audited()
    await rolledBack(test, 'back', { result: { refunded: true } })
    await rolledBack(test, 'doubtful', { unknown: { reason: 'timed out' } })
    await rolledBack(test, 'failed', { error: { message: 'no' } })
    await drive(test, 'whole').start()
    ok(await drive(test, 'whole').do({ kind: 'complete', body: {} }))
    const told = [
      ['back', 'compensated', 'COMPENSATED'],
      ['doubtful', 'compensated', 'IN_DOUBT'],
      ['failed', 'compensated', 'COMPENSATION_FAILED'],
      ['whole', 'completed', undefined],
    ]
    const shown = (items: readonly JsonObject[]) => pick(items, 'run', 'status', 'compensation')
    const runs = await askAll(test.ledger, 'runs')
    assert.equal(shown(runs), told)
    assert.equal(shown(await askAll(test.ledger, 'sample', { seed: 's' })).toSorted(), told)
    const before = (await askAll(test.ledger, 'events', { filter: { types: ['RunCompensated'], run: 'failed' } }))[0]
    const then = await askAll(test.ledger, 'runs', { page: { treeSize: Number(before?.leaf) } })
    assert.equal(shown(then).at(-1), ['failed', 'open', undefined])
    assert.equal(pick(runs, 'seal'), [[undefined], [undefined], [undefined], [undefined]])
  },
)

queries("a rollback's verdict that does not fit its seal is shown with the broken seal", async () => {
  await using store = openMemoryStore()
  await using test = await testLedger({ store })
  await using index = openSqliteAudit({ path: ':memory:' })
  await drive(test, 'r').start()
  const stream = runStream(alice.tenant, 'r')
  const data = { v: 1, status: 'COMPENSATED' }
  const header = {
    v: 1,
    id: randomUUID(),
    stream,
    revision: 1,
    type: 'RunCompensated',
    time: new Date(test.clock.nowMs).toISOString(),
  }
  const sealed = { tenant: alice.tenant, actor: 'a', dataDigest: `sha256:${'0'.repeat(64)}`, kid: 'k1', mac: 'x' }
  const planted = {
    ...record({ type: 'RunCompensated', data: JSON.stringify(data) }),
    header: JSON.stringify({ ...header, ...sealed }),
  }
  await store.append({ stream, expectedRevision: 0, records: [planted] })
  const answer = await auditOfStore({ store, index, sealer: new Sealer(test.keys) }).ask(
    alice,
    { name: 'runs', filter: {} },
    { limit: 5 },
  )
  if (!answer.ok) throw new Error(answer.detail)
  assert.equal(pick(answer.items, 'status', 'compensation', 'seal'), [['compensated', 'COMPENSATED', 'invalid']])
})

queries('a run that completed later was open as of before', async () => {
  await using test = await audited()
  const run = drive(test, 'r')
  await run.start()
  const before = await readPage(test.ledger, 'runs')
  ok(await run.do({ kind: 'complete', body: {} }))
  assert.ok(before.ok)
  const { treeSize } = before.asOf
  assert.equal(pick(await askAll(test.ledger, 'open-runs', { page: { treeSize } }), 'run'), [['r']])
  assert.equal(await askAll(test.ledger, 'open-runs'), [])
})

queries('a refused handoff is listed with its rules and with where the run was rewound to', async () => {
  await using test = await audited()
  await contradicted(test, 'r')
  const [rejection, ...more] = await askAll(test.ledger, 'rejections')
  assert.equal(more, [])
  assert.equal(
    [rejection?.agent, rejection?.rules, rejection?.verdict],
    ['writer', ['critical-key-removed'], 'rejected'],
  )
  const rewind = rejection?.rewind as JsonObject
  assert.equal([rewind.fromStep, rewind.toStep, rewind.revision], [1, 1, Number(rejection?.revision) + 1])
  assert.equal(await askAll(test.ledger, 'rejections', { filter: { rule: 'ungrounded' } }), [])
  assert.is((await askAll(test.ledger, 'rejections', { filter: { rule: 'critical-key-removed' } })).length, 1)
})

const doubtful = (gate: string, dose = 5) => ({ order: { carrier: 'K7Q', gate }, facts: { dose } })

queries(
  'handoffs with suspects are listed, each with how many of these were open then, as the run itself has them (JUD-96)',
  async () => {
    await using test = await audited()
    const run = drive(test, 'r')
    await run.start()
    ok(await run.hand('a', doubtful('B22')))
    ok(await run.hand('b', doubtful('C31')))
    ok(await run.hand('b', { ...doubtful('C31'), order: { carrier: 'X1', gate: 'C31' } }))
    const told = async (treeSize?: number) =>
      pick(
        await askAll(test.ledger, 'suspects', treeSize === undefined ? {} : { page: { treeSize } }),
        ...['agent', 'status', 'suspects', 'open', 'marks'],
      )
    const before = (await run.events()).length
    const both = [
      ['b', 'open', 1, 1, ['suspect']],
      ['b', 'open', 1, 1, ['suspect']],
    ]
    assert.equal(await told(), both)
    const review = { suspects: ['2.1'], decision: 'confirmed' as const, reason: 'seen' }
    ok(await drive(test, 'r', { ...alice, actor: 'bob' }).do({ kind: 'review', body: review }))
    assert.equal(
      (await told()).map(([, status, , open]) => [status, open]),
      [
        ['closed', 0],
        ['open', 1],
      ],
    )
    assert.equal(await told(before), both)
    ok(await run.do({ kind: 'rollback', body: { toStep: 2, reason: 'no' } }))
    assert.equal(
      (await told()).map(([, status, , open]) => [status, open]),
      [
        ['closed', 0],
        ['rolled-back', 0],
      ],
    )
    assert.equal(await askAll(test.ledger, 'suspects', { filter: { agent: 'a' } }), [])
  },
)

queries(
  'what a policy that only records would have refused is listed apart, marked wherever it is listed, and no refusal (JUD-97)',
  async () => {
    await using test = await audited()
    const run = drive(test, 'r')
    await run.start({ policy: { enforce: 'record' } })
    ok(await run.hand('a', doubtful('B22')))
    ok(await run.hand('b', doubtful('C31', 50)))
    const found = await askAll(test.ledger, 'would-refuse')
    assert.equal(pick(found, 'agent', 'verdict', 'marks'), [['b', 'accepted', ['suspect', 'would-refuse']]])
    assert.equal(await askAll(test.ledger, 'rejections'), [])
    const twin = drive(test, 'refusing')
    await twin.start()
    ok(await twin.hand('a', doubtful('B22')))
    assert.not.ok((await twin.hand('b', doubtful('C31', 50))).ok)
    assert.equal(pick(await askAll(test.ledger, 'rejections'), 'run', 'agent'), [['refusing', 'b']])
    assert.equal(pick(await askAll(test.ledger, 'would-refuse'), 'run'), [['r']])
    const handed = await askAll(test.ledger, 'events', { filter: { types: ['EnvelopeAccepted'] } })
    assert.equal(pick(handed, 'run', 'marks'), [
      ['r', undefined],
      ['r', ['suspect', 'would-refuse']],
      ['refusing', undefined],
    ])
  },
)

queries('a handoff outside its boundary is found as a violation, and no other refusal is', async () => {
  await using test = await audited()
  await contradicted(test, 'other')
  const run = drive(test, 'r')
  await run.start()
  ok(await run.do({ kind: 'manifest', body: { agent: 'writer', writes: ['summary'] } }))
  assert.not.ok((await run.hand('writer', { entities: ['new'] })).ok)
  const violations = await askAll(test.ledger, 'violations')
  assert.equal(pick(violations, 'run', 'agent', 'verdict'), [['r', 'writer', 'rejected']])
})

queries(
  'calls without an outcome are listed until one comes, and told apart from calls in doubt (LOG-19)',
  async () => {
    await using test = await audited()
    const run = drive(test, 'r')
    await run.start()
    await run.called('done')
    const open = await run.claimed('charge', { agent: 'writer' })
    const doubtful = await run.claimed('ship')
    ok(await run.settle(doubtful, { unknown: { reason: 'timeout' } }))
    const first = await askAll(test.ledger, 'open-calls')
    assert.equal(pick(first, 'tool', 'status'), [
      ['charge', 'claimed'],
      ['ship', 'in-doubt'],
    ])
    assert.equal(pick(await askAll(test.ledger, 'open-calls', { filter: { agent: 'writer' } }), 'call'), [[open]])
    ok(await run.settle(open))
    ok(await run.do({ kind: 'resolve', callId: doubtful, body: { outcome: 'executed', evidence: 'seen' } }))
    assert.equal(await askAll(test.ledger, 'open-calls'), [])
  },
)

queries('a call that failed and was claimed anew is open once', async () => {
  await using test = await audited()
  const run = drive(test, 'r')
  await run.start()
  const call = await run.claimed('charge', { key: 'k' })
  ok(await run.settle(call, { error: { message: 'no' } }))
  assert.equal(await askAll(test.ledger, 'open-calls'), [])
  ok(await run.claim('charge', { key: 'k' }))
  assert.is((await askAll(test.ledger, 'open-calls')).length, 1)
})

queries(
  'reservations are listed until they are settled or released; an expired one is still owed an account',
  async () => {
    await using test = await audited()
    const run = drive(test, 'r')
    await run.start({ budget: { tokens: 100 } })
    const reserve = async (agent: string) =>
      String(ok(await run.do({ kind: 'reserve', body: { agent, tokens: 5, deadlineMs: 1_000 } })).reservationId)
    const settled = await reserve('a')
    const released = await reserve('b')
    const expired = await reserve('c')
    ok(await run.do({ kind: 'settle-reservation', reservationId: settled, body: { usage: { tokens: 1 } } }))
    ok(await run.do({ kind: 'release', reservationId: released, body: {} }))
    test.clock.nowMs += 60_000
    const open = await reserve('d')
    const rows = await askAll(test.ledger, 'open-reservations')
    assert.equal(pick(rows, 'reservation', 'status'), [
      [expired, 'expired'],
      [open, 'open'],
    ])
  },
)

queries('a limit that is crossed after the fact shows as overshoot, one that held as a refusal', async () => {
  await using test = await audited()
  const run = drive(test, 'r')
  await run.start({ budget: { tokens: 10 } })
  assert.not.ok((await run.do({ kind: 'reserve', body: { agent: 'a', tokens: 50 } })).ok)
  ok(await run.do({ kind: 'usage', body: { agent: 'a', usage: { tokens: 15 } } }))
  const [over, ...more] = await askAll(test.ledger, 'overshoots')
  assert.equal(more, [])
  assert.match(JSON.stringify(over?.detail), `"overshoot":{"cost":"0","tokens":5}`)
  assert.equal(pick(await askAll(test.ledger, 'refusals'), 'rules', 'agent'), [[['budget-exceeded'], 'a']])
})

queries('compensations that failed are listed until one succeeds', async () => {
  await using test = await audited()
  const run = drive(test, 'r')
  await run.start()
  const call = await run.called('charge', { compensate: { tool: 'refund' } })
  ok(await run.do({ kind: 'compensate', body: { reason: 'because' } }))
  ok(await run.undo(call, { error: { message: 'the bank is closed' }, willRetry: true }))
  const [failed, ...more] = await askAll(test.ledger, 'open-compensations')
  assert.equal(more, [])
  assert.equal([failed?.compensates, failed?.verdict], [call, 'compensation-failed'])
  assert.is((await askAll(test.ledger, 'search', { filter: { text: 'bank closed' } })).length, 0 + 1)
})

queries('each key is shown with its recorded period and with what it sealed outside of it', async () => {
  await using test = await audited({ rotates: true })
  const run = drive(test, 'r')
  await run.start()
  const [one] = await askAll(test.ledger, 'keys')
  assert.equal([one?.before, one?.after, one?.retired], [0, 0, null])
  test.clock.nowMs += 1_000
  await rotate(test)
  test.clock.nowMs += 1_000
  ok(await run.hand('a', { n: 1 }))
  const rows = await askAll(test.ledger, 'keys')
  assert.is(rows.length, 2)
  assert.ok(rows.every(({ before, after }) => before === 0 && after === 0))
  assert.is(rows.filter(({ retired }) => retired !== null).length, 1)
})

queries('the same seed draws the same runs, another seed others, and the pages together are all runs', async () => {
  await using test = await audited()
  for (let at = 0; at < 12; at += 1) await drive(test, `r${at}`).start()
  const drawn = async (seed: string) =>
    pick(await askAll(test.ledger, 'sample', { seed, page: { limit: 5 } }), 'run').flat()
  const first = await drawn('root-1')
  assert.equal(await drawn('root-1'), first)
  assert.not.equal(await drawn('root-2'), first)
  assert.is(new Set(first).size, 12)
  const answer = await readPage(test.ledger, 'sample', {})
  assert.match(answer.ok ? '' : answer.detail, /needs a seed/)
})

queries('every query in the table answers', async () => {
  await using test = await audited()
  await contradicted(test, 'r')
  for (const name of Object.keys(AUDIT_QUERIES) as (keyof typeof AUDIT_QUERIES)[]) {
    const more = name === 'sample' ? { seed: 's' } : name === 'search' ? { filter: { text: 'apple' } } : {}
    const answer = await readPage(test.ledger, name, more)
    assert.ok(answer.ok, name)
  }
})

queries.run()
