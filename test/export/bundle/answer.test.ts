import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { completePart, isSelected } from '../../../src/export/bundle/bundle-query.ts'
import { AUDIT_QUERIES, type AuditQueryName, followsFromLog } from '../../../src/ledger/audit/audit-queries.ts'
import type { LoggedEvent } from '../../../src/verify/bundle/gathered.ts'
import { AuditAnswer, eventsBehind, isQuestion, PROVABLE_QUESTIONS } from '../../../src/verify/bundle/questions.ts'
import { provenOf } from '../../../src/verify/bundle/report.ts'
import { answerBundle, judgedAnswer, rowsIn } from '../../support/answer-bundles.ts'
import { askAll, auditOf } from '../../support/audited.ts'
import { fork } from '../../support/fork-driver.ts'
import { randomRun } from '../../support/random-run.ts'
import { drive, ok } from '../../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../../support/test-ledger.ts'

const answers = suite<{ test: TestLedger }>('export: bundles of answers to auditors')

answers.before(async (context) => {
  const test = await testLedger({ audit: true, merkleLogs: true })
  context.test = test
  for (let seed = 1; seed <= 6; seed += 1) {
    await randomRun(test, `r${seed}`, { seed })
    const run = drive(test, `r${seed}`)
    if ((await run.state()).status !== 'open') continue
    const branches = await fork(run, 'union', ['left', 'right']).catch(() => undefined)
    await branches?.report('left', { output: { left: 1 }, tokens: 7 })
    await branches?.join()
  }
  await everyAnswer(test)
})
answers.after(async ({ test }) => {
  await test[Symbol.asyncDispose]()
})

/** A row for every query: what random runs seldom do. */
async function everyAnswer(test: TestLedger): Promise<void> {
  const own = drive(test, 'own', { ...alice, actor: 'bob', principal: 'carol' })
  await own.start({ budget: { tokens: 20 } })
  await own.do({
    kind: 'manifest',
    body: { agent: 'writer', manifest: { reads: ['/'], writes: ['/summary'] } },
  } as never)
  await own.hand('researcher', { entities: ['\u00c4pfel', '\u6797\u6a8e'], note: 'two words here' })
  await own.hand('writer', { entities: ['\u00c4pfel', '\u6797\u6a8e'], other: 1 })
  await own.hand('researcher', { summary: 'gone' })
  await own.settle(await own.claimed('ship', { agent: 'researcher' }), { unknown: { reason: 'timed out' } })
  await own.claimed('open', { agent: 'writer', key: 'k' })
  await own.claim('open', { agent: 'writer', key: 'k', args: { other: true } })
  await own.do({ kind: 'reserve', body: { agent: 'writer', tokens: 5, cost: '0', deadlineMs: 100_000 } })
  await own.do({ kind: 'reserve', body: { agent: 'writer', tokens: 500 } })
  await own.do({
    kind: 'usage',
    body: { agent: 'writer', usage: { tokens: 90, cost: '0.5', currency: 'EUR', model: 'm' } },
  })
  await suspects(test)
  const back = drive(test, 'back')
  await back.start()
  const undone = await back.called('pay', { agent: 'writer', compensate: { tool: 'undo' } })
  await back.do({ kind: 'compensate', body: { reason: 'undo it' } })
  await back.undo(undone, { error: { message: 'no' } })
  const seen = drive(test, 'seen')
  await seen.start()
  const doubtful = await seen.called('pay', { agent: 'writer', compensate: { tool: 'undo' } })
  await seen.called('keep', { compensate: { tool: 'undo' } })
  await seen.do({ kind: 'compensate', body: { reason: 'undo it' } })
  const callId = String(ok(await seen.undo(doubtful, { unknown: { reason: 'timed out' } })).callId)
  // Somebody's word on the call that was to undo it settles it.
  ok(await seen.do({ kind: 'resolve', callId, body: { outcome: 'executed', evidence: 'seen' } }))
  const unsure = drive(test, 'unsure')
  await unsure.start()
  const compensate = { tool: 'undo' }
  const perhaps = await unsure.claimed('pay', { agent: 'writer', compensate, compensateUnknown: true })
  for (const call of [perhaps, await unsure.claimed('chat', { agent: 'writer', phase: 'model' })])
    ok(await unsure.settle(call, { unknown: { reason: 'timed out' } }))
  await unsure.do({ kind: 'compensate', body: { reason: 'undo it' } })
  ok(await unsure.undo(perhaps))
  test.clock.nowMs -= 5_000
  await back.do({ kind: 'usage', body: { agent: 'late', usage: { tokens: 1 } } })
  test.clock.nowMs += 10_000
  await auditOf(test.ledger).record(alice, { query: 'replay', run: 'own', verdict: 'VERIFIED' } as never)
  await test.ledger.signReview?.(alice, { query: 'refusals', asOf: 1, findings: 'nothing odd' })
}

/** Handoffs with suspects that are open, reviewed, explained and rolled back, and one that is accepted only because its policy records. */
async function suspects(test: TestLedger): Promise<void> {
  const order = (carrier: string, gate: string, seat: string) => ({ order: { carrier, gate, seat } })
  const run = drive(test, 'doubt')
  await run.start()
  await run.hand('writer', order('K7Q', 'B22', 'A1'))
  await run.hand('writer', order('X9P', 'C31', 'A1'))
  const body = { suspects: ['2.1'], decision: 'confirmed' as const, reason: 'looked it up' }
  ok(await drive(test, 'doubt', { ...alice, actor: 'reviewer' }).do({ kind: 'review', body }))
  await run.hand('writer', order('X9P', 'D44', 'A1'), { supersedes: [{ path: '/order/gate', reason: 'it moved' }] })
  await run.hand('writer', order('X9P', 'D44', 'B9'))
  ok(await run.do({ kind: 'rollback', body: { toStep: 3, reason: 'wrong seat' } }))
  await run.hand('writer', order('X9P', 'E5', 'B9'))
  const lenient = drive(test, 'lenient')
  await lenient.start({ policy: { enforce: 'record' } })
  await lenient.hand('writer', { facts: { dose: 5 }, ...order('K7Q', 'B22', 'A1') })
  await lenient.hand('writer', { facts: { dose: 50 }, ...order('K7Q', 'C31', 'A1') })
}

/** Without the ledger's own word on seals, and ways back into the ledger. */
function comparable({ links: _, seal: __, snippet: ___, ...row }: JsonObject): JsonObject {
  const { rewind } = row
  if (typeof rewind !== 'object' || rewind === null || Array.isArray(rewind)) return row
  const { links: ____, ...rest } = rewind as JsonObject
  return { ...row, rewind: rest }
}

type Asked = EventQuery & { readonly by?: string; readonly seed?: string }

const FILTERS: Readonly<Record<string, readonly Asked[]>> = {
  events: [
    {},
    { run: 'own' },
    { actor: 'bob' },
    { principal: 'carol', types: ['ToolCallClaimed', 'ToolCallInDoubt'] },
    { tool: 'ship' },
    { agent: 'writer' },
    ...(['failed', 'in-doubt', 'overshoot', 'refused', 'compensated'] as const).map((verdict) => ({ verdict })),
    { rule: 'critical-key-removed' },
    { model: 'm' },
    { runContains: 'OW', principalContains: 'aro' },
    { agentContains: 'RIT', types: ['ToolCallInDoubt'] },
    { toolContains: 'hi' },
    { contains: 'BACK' },
    { contains: 'writ', actorContains: 'b' },
    { ruleContains: 'KEY-' },
    { text: '"two words"', types: ['EnvelopeAccepted'] },
  ],
  search: [
    ...['entities', 'OWN', '"two words"', 'note two'].map((text) => ({ text })),
    { text: 'apfel' },
    { text: '\u6797\u6a8e words' },
    { text: 'done' },
    { text: 'nowhere' },
  ],
  spend: ['run', 'agent', 'model', 'day', 'month', 'tenant'].flatMap((by) => [
    { by },
    { by, agent: 'writer' },
    { by, agentContains: 'RIT' },
  ]),
  sample: [{ seed: 'abc' }],
  access: [{}, { actor: 'alice' }, { actor: 'nobody' }, { actorContains: 'LIC', runContains: 'W' }],
  runs: [{}, { runContains: 'OW' }, { runContains: 'nowhere' }],
  'open-calls': [{}, { toolContains: 'PE' }, { contains: 'wri' }],
}

function asked({ by, seed, ...filter }: Asked): { filter: EventQuery; by?: string; seed?: string } {
  return { filter, ...(by !== undefined && { by }), ...(seed !== undefined && { seed }) }
}

const partsOf = (name: string) => ({
  ...(name === 'spend' && { estimates: true as const }),
  ...(name === 'open-calls' && { doubts: 2 as const }),
})

async function logOf({ ledger }: TestLedger, size: number): Promise<readonly LoggedEvent[]> {
  await ledger.exports.pin(alice)
  const events: LoggedEvent[] = []
  for await (const page of ledger.exports.leaves(alice, size))
    for (const { header, data } of page) events.push({ header, data })
  return events
}

/** As whoever verifies makes them: bodies are known of the events alone that the bundle holds. */
function madeFrom(log: readonly LoggedEvent[], question: AnswerQuestion): readonly JsonObject[] {
  const part = completePart(eventsBehind(question))
  const held = log.map(({ header, data }) => ({
    header,
    data: isSelected(header, alice.tenant, part) ? data : undefined,
  }))
  const answer = new AuditAnswer(question, alice.tenant)
  do for (const [leaf, event] of held.entries()) answer.gather(event, leaf)
  while (answer.nextPass())
  const rows = held.flatMap((event, leaf) => [...answer.rows(event, leaf)])
  return JSON.parse(JSON.stringify([...rows, ...answer.rest()]))
}

answers(
  'from the events that a bundle holds every row of an answer is made, as the index of the ledger answers it (HTTP-25)',
  async ({ test }) => {
    const { treeSize } = await auditOf(test.ledger).asOf(alice)
    const log = await logOf(test, treeSize)
    const without: string[] = []
    for (const name of PROVABLE_QUESTIONS as readonly AuditQueryName[]) {
      let count = 0
      for (const each of FILTERS[name] ?? [
        {},
        { since: '2000-01-01T00:00:00.000Z' },
        { until: '2000-01-01T00:00:00.000Z' },
      ]) {
        const question = {
          query: name,
          ...asked(each),
          ...(each.text !== undefined && { words: 2 as const }),
          ...partsOf(name),
        }
        const expected = await askAll(test.ledger, name, { ...asked(each), page: { treeSize } })
        assert.equal(madeFrom(log, question), expected.map(comparable), JSON.stringify(question))
        count += expected.length
      }
      if (count === 0) without.push(name)
    }
    assert.equal(without, [])
  },
)

answers(
  'a bundle of an answer verifies offline, and says in words what it answers, how many rows, and what is not shown (HTTP-25)',
  async ({ test }) => {
    for (const [name, filter] of [
      ['rejections', { run: 'own' }],
      ['events', { actor: 'bob' }],
      ['open-calls', {}],
      ['runs', {}],
    ] as const) {
      const files = await answerBundle(test, { name, filter })
      const { verdict, faults, about, lines } = await judgedAnswer(test, files)
      assert.equal([verdict, faults], ['VERIFIED', []], name)
      const expected = await askAll(test.ledger, name, { filter, page: { treeSize: Number(about?.size) } })
      assert.equal(rowsIn(files), expected.map(comparable), name)
      assert.is(about?.answer?.rows, expected.length)
      assert.match(lines, `answer: ${expected.length} rows to ${name}`)
      assert.match(lines, 'the headers of the whole log show')
      assert.match(String(files.get('report.html')), `${expected.length} rows. Each row follows from the events`)
    }
  },
)

answers(
  'the bundle of a search says what was not searched, and not that no other row follows; one by the first rule finds what that found (A414, LOG-62)',
  async ({ test }) => {
    const files = await answerBundle(test, { name: 'search', filter: { text: 'entities' } })
    const { verdict, lines, about } = await judgedAnswer(test, files)
    assert.is(verdict, 'VERIFIED')
    assert.ok(rowsIn(files).length > 0)
    for (const text of [lines, String(files.get('report.html'))]) {
      assert.match(text, 'Not searched are large values')
      assert.not.match(text, 'no other row does')
    }
    const log = await logOf(test, Number(about?.size))
    const first = { query: 'search', filter: { text: 'entities' } }
    // Places in findings have it as a text.
    assert.ok(madeFrom(log, first).length < madeFrom(log, { ...first, words: 2 }).length)
    assert.match(provenOf(first), 'names of members, and ids of runs')
  },
)

answers(
  'a call that is being undone is open no more, and one of a model is unanswered; by the first rule of open calls both are in doubt (HTTP-103)',
  async ({ test }) => {
    const { treeSize } = await auditOf(test.ledger).asOf(alice)
    const log = await logOf(test, treeSize)
    const first = { query: 'open-calls', filter: { run: 'unsure' } }
    const said = (question: AnswerQuestion) => madeFrom(log, question).map(({ tool, status }) => [tool, status])
    assert.equal(said(first), [
      ['pay', 'in-doubt'],
      ['chat', 'in-doubt'],
    ])
    assert.equal(said({ ...first, doubts: 2 }), [['chat', 'unanswered']])
    assert.not.ok(isQuestion({ query: 'runs', filter: {}, doubts: 2 }))
  },
)

answers(
  'a bundle as of fewer events is the answer of then, of every query, and one of more than its checkpoint covers fails (HTTP-34)',
  async ({ test }) => {
    const { treeSize } = await auditOf(test.ledger).asOf(alice)
    const log = await logOf(test, treeSize)
    const rejected = log.findIndex(({ header }) => header.type === 'EnvelopeRejected')
    for (const asOf of [0, rejected + 1, Math.floor(treeSize / 2)])
      for (const name of PROVABLE_QUESTIONS as readonly AuditQueryName[]) {
        const question = asked(FILTERS[name]?.[0] ?? {})
        const expected = await askAll(test.ledger, name, { ...question, page: { treeSize: asOf } })
        const words = question.filter.text !== undefined && { words: 2 as const }
        assert.equal(
          madeFrom(log, { query: name, ...question, ...words, ...partsOf(name), asOf }),
          expected.map(comparable),
          `${name} ${asOf}`,
        )
      }
    const files = await answerBundle(test, { name: 'rejections', filter: {}, treeSize: rejected + 1 })
    const { verdict, faults, lines } = await judgedAnswer(test, files)
    assert.equal([verdict, faults], ['VERIFIED', []])
    assert.equal(rowsIn(files).length, 1)
    assert.match(lines, `answer: 1 rows to rejections as of the first ${rejected + 1} events of the log.`)
    assert.match(lines, `up to event ${rejected + 1} of the log`)
    await answerBundle(test, { name: 'runs', filter: {}, treeSize: 99_999 }).then(
      () => assert.unreachable(),
      ({ message }) => assert.match(message, /events and no more/),
    )
  },
)

answers(
  'the one query whose answer no bundle proves rests on the ledger’s own log, and is refused',
  async ({ test }) => {
    const proved = Object.entries(AUDIT_QUERIES).flatMap(([name, { shape }]) => (followsFromLog(shape) ? [name] : []))
    assert.equal(proved.sort(), [...PROVABLE_QUESTIONS].sort())
    assert.not.ok(proved.includes('keys'))
    await answerBundle(test, { name: 'keys', filter: {} }).then(
      () => assert.unreachable(),
      ({ message }) => assert.match(message, "does not follow from the tenant's log alone"),
    )
  },
)

answers.run()
