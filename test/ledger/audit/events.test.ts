import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { callOf, eventFacts, matchesFacts } from '../../../projections/event-facts.ts'
import { matchesText, parsePhrases } from '../../../projections/search-text.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { runBegunBy } from '../../../src/ledger/audit/page-to-index.ts'
import type { LedgerEvent } from '../../../src/ledger/ledger-event.ts'
import { askAll, auditOf, readPage } from '../../support/audited.ts'
import { drive, ok } from '../../support/run-driver.ts'
import { alice, ownCaller, type TestLedger, testLedger } from '../../support/test-ledger.ts'

const audit = suite('audit: events by filters')

const bob = ownCaller('acme', { actor: 'platform', principal: 'bob' })
const eve = ownCaller('beta', { actor: 'eve' })

/** Two runs of one tenant and one of another, with an outcome of every kind. */
async function scene(): Promise<TestLedger> {
  const test = await testLedger({ audit: 'unrecorded' })
  const first = drive(test, 'first')
  await first.start({ budget: { tokens: 1_000 } })
  ok(await first.hand('researcher', { entities: ['Crème Brûlée GmbH'], facts: { revenue: 2024 } }))
  await first.hand('writer', { summary: 'growth' })
  await first.called('charge', { agent: 'writer', args: { card: 'visa ending 4242' } })
  const failing = await first.claimed('ship', { agent: 'writer' })
  ok(await first.settle(failing, { error: { message: 'the address is unknown' } }))
  await first.claimed('charge', { agent: 'researcher' })
  test.clock.nowMs += 60_000
  const second = drive(test, 'second', bob)
  await second.start()
  ok(await second.hand('researcher', { entities: ['Äpfel'], note: 'the quick brown fox 東京都' }))
  ok(await second.do({ kind: 'complete', body: { output: 'done' } }))
  const theirs = drive(test, 'first', eve)
  await theirs.start()
  ok(await theirs.hand('researcher', { entities: ['Crème Brûlée GmbH'] }))
  return test
}

const places = (items: readonly JsonObject[]) => items.map(({ run, revision }) => `${run}@${revision}`)

async function wholeTenant(test: TestLedger): Promise<LedgerEvent[]> {
  const events: LedgerEvent[] = []
  for await (const page of test.ledger.tenantEvents(alice, {})) events.push(...page)
  return events
}

audit('the outcome of a call is found by the tool and the agent of its claim', async () => {
  await using test = await scene()
  const failed = await askAll(test.ledger, 'events', { filter: { tool: 'ship', types: ['ToolCallFailed'] } })
  assert.is(failed.length, 1)
  assert.equal([failed[0]?.agent, failed[0]?.verdict, failed[0]?.seal], ['writer', 'failed', 'valid'])
  assert.match(JSON.stringify(failed[0]?.links), `/v1/log/events/${failed[0]?.event}/proof.tlog-proof`)
})

audit('everything in the name of a person is found by the principal, whoever acted', async () => {
  await using test = await scene()
  const items = await askAll(test.ledger, 'events', { filter: { principal: 'bob' } })
  assert.ok(items.length >= 3)
  assert.ok(items.every(({ run, actor }) => run === 'second' && actor === 'platform'))
})

audit('any filters together find exactly what the pure rules say, in the order of the log', async () => {
  await using test = await scene()
  const events = await wholeTenant(test)
  const claims = new Map<string, { agent?: string; tool?: string }>()
  const facts = events.map(({ header, data }) => {
    const call = callOf(header.type, data)
    const found = eventFacts(header, data, call === undefined ? {} : claims.get(call))
    if (header.type === 'ToolCallClaimed' && found.call !== undefined) claims.set(found.call, found)
    return found
  })
  const some = <T>(values: readonly (T | undefined)[]) =>
    fc.constantFrom(...new Set(values.filter((value): value is T & {} => value !== undefined)))
  const times = events.map(({ header }) => header.time)
  const members = {
    run: fc.constantFrom('first', 'second', 'none'),
    types: fc.uniqueArray(some(facts.map(({ type }) => type)), { minLength: 1, maxLength: 6 }),
    actor: some([...facts.map(({ actor }) => actor), 'eve']),
    principal: some(facts.map(({ principal }) => principal)),
    agent: some(facts.map(({ agent }) => agent)),
    tool: some(facts.map(({ tool }) => tool)),
    call: some(facts.map(({ call }) => call)),
    rule: some(facts.flatMap(({ rules }) => rules)),
    verdict: some(facts.map(({ verdict }) => verdict)),
    kid: some(facts.map(({ kid }) => kid)),
    since: some(times),
    until: some(times),
    text: fc.constantFrom('creme', '"quick brown"', 'brown quick', '東京', 'address unknown', '4242'),
  }
  const names = Object.keys(members) as (keyof typeof members)[]
  const filters = fc
    .tuple(fc.record(members), fc.subarray(names, { minLength: 1, maxLength: 3 }))
    .map(([all, picked]) => Object.fromEntries(picked.map((name) => [name, all[name]])) as EventQuery)
    // A period that ends before it begins is refused.
    .filter(({ since, until }) => since === undefined || until === undefined || since <= until)
  let hits = 0
  await fc.assert(
    fc.asyncProperty(filters, async (filter) => {
      const phrases = filter.text === undefined ? undefined : parsePhrases(filter.text)
      const expected = events.filter(({ header, data }, at) => {
        if (filter.run !== undefined && header.stream !== runStream(alice.tenant, filter.run)) return false
        const isSearched = header.type !== 'SnapshotTaken'
        const found = facts[at]
        if (phrases !== undefined && !(isSearched && matchesText(phrases, data, runBegunBy(header)))) return false
        return found !== undefined && matchesFacts(filter, found)
      })
      const items = await askAll(test.ledger, 'events', { filter, page: { limit: 3 } })
      hits += items.length
      assert.equal(
        items.map(({ event }) => event),
        expected.map(({ header }) => header.id),
      )
    }),
    { numRuns: 150 },
  )
  assert.ok(hits > 100, 'the filters must find something')
})

audit('pages of one listing are one snapshot: what is appended meanwhile is in none of them', async () => {
  await using test = await scene()
  const first = await readPage(test.ledger, 'events', { page: { limit: 5 } })
  assert.ok(first.ok)
  const { treeSize } = first.asOf
  await drive(test, 'third').start()
  const rest = await askAll(test.ledger, 'events', {
    page: { after: first.next ?? [], treeSize, eventId: first.asOf.eventId ?? '' },
  })
  assert.is(first.items.length + rest.length, treeSize)
  assert.not.ok(places(rest).some((place) => place.startsWith('third')))
  const later = await askAll(test.ledger, 'events')
  assert.is(later.length, treeSize + 1)
  assert.equal((await askAll(test.ledger, 'events', { page: { treeSize } })).length, treeSize)
})

audit('a page that is pinned to another log than this one is refused, never answered from this one', async () => {
  await using test = await scene()
  const other = await readPage(test.ledger, 'events', { page: { treeSize: 3, eventId: 'another' } })
  assert.equal([other.ok, !other.ok && other.code], [false, 'cursor-gone'])
  const beyond = await readPage(test.ledger, 'events', { page: { treeSize: 1_000_000 } })
  assert.equal([beyond.ok, !beyond.ok && beyond.code], [false, 'invalid-query'])
})

audit('the newest come first where that is requested, page by page', async () => {
  await using test = await scene()
  const forwards = await askAll(test.ledger, 'events')
  const backwards = await askAll(test.ledger, 'events', { page: { newestFirst: true, limit: 4 } })
  assert.equal(places(backwards), places(forwards).reverse())
})

audit('no query finds, counts or leads to an event of another tenant (A11)', async () => {
  await using test = await scene()
  const caller = eve
  const items = await askAll(test.ledger, 'events', { caller })
  assert.ok(items.every(({ actor }) => actor === 'eve'))
  assert.is((await auditOf(test.ledger).asOf(eve)).treeSize, items.length)
  const found = await askAll(test.ledger, 'events', { filter: { text: 'creme brulee' }, caller })
  assert.equal(places(found), ['first@1'])
  const [own] = await askAll(test.ledger, 'events', { filter: { run: 'second' } })
  assert.is(await auditOf(test.ledger).event(eve, String(own?.event)), undefined)
})

audit('a search is words and never syntax of the index (A22)', async () => {
  await using test = await scene()
  const syntax = [
    'tenant : acme',
    'NEAR(quick fox)',
    'quick OR zebra',
    'quic*',
    'body:quick',
    'NOT zebra',
    'fox"',
    "fox';--",
  ]
  const hits = await Promise.all(
    syntax.map(async (text) => (await askAll(test.ledger, 'events', { filter: { text } })).length),
  )
  assert.equal(hits, [0, 0, 0, 0, 0, 0, 1, 1])
})

audit('a search without a word, or with too many, is refused with what to do', async () => {
  await using test = await scene()
  for (const text of ['--- ***', '""', Array.from({ length: 17 }, (_, at) => `w${at}`).join(' ')]) {
    const answer = await readPage(test.ledger, 'search', { filter: { text } })
    assert.equal([answer.ok, !answer.ok && answer.code], [false, 'invalid-query'], text)
    assert.match(answer.ok ? '' : answer.detail, /1 to 16 words/)
  }
})

audit('a hit says where the words stand, without markup', async () => {
  await using test = await scene()
  const [hit] = await askAll(test.ledger, 'search', { filter: { text: '"brown fox"' } })
  assert.equal(hit?.snippet, { path: '/payload/note', before: 'the quick ', match: 'brown', after: ' fox 東京都' })
  assert.not.match(JSON.stringify(hit?.detail), 'payload')
})

audit('a filter that a query does not take is refused, never passed over', async () => {
  await using test = await scene()
  const answer = await readPage(test.ledger, 'runs', { filter: { tool: 'charge' } })
  assert.match(answer.ok ? '' : answer.detail, /takes no tool/)
})

audit('an export of a query holds the sealed texts of exactly the events that the query lists', async () => {
  await using test = await scene()
  const { ledger } = test
  const filter: EventQuery = { agent: 'researcher' }
  const asOf = await auditOf(ledger).asOf(alice)
  const listed = await askAll(ledger, 'events', { filter })
  const leaves: number[] = []
  for await (const page of auditOf(ledger).matching(alice, filter, { asOf }))
    leaves.push(...page.map(({ leaf }) => leaf))
  assert.equal(
    leaves,
    listed.map(({ leaf }) => leaf),
  )
  const rest: number[] = []
  const afterLeaf = leaves[0] ?? 0
  for await (const page of auditOf(ledger).matching(alice, filter, { asOf, afterLeaf }))
    rest.push(...page.map(({ leaf }) => leaf))
  assert.equal(rest, leaves.slice(1))
})

audit.run()
