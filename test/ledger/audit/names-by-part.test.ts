import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { callOf, eventFacts, matchesFacts } from '../../../projections/event-facts.ts'
import { AUDIT_FILTERS, type AuditRow, PART_FIELDS } from '../../../schemas/audit-fields.ts'
import { EventQuery } from '../../../schemas/event-query.ts'
import { parseStream } from '../../../schemas/names.ts'
import { hasPart } from '../../../schemas/one-case.ts'
import { openSqliteAudit } from '../../../src/store/sqlite/sqlite-audit.ts'
import { auditEntry } from '../../support/audit-entry.ts'
import { askAll } from '../../support/audited.ts'
import { rounds } from '../../support/rounds.ts'
import { drive, ok } from '../../support/run-driver.ts'
import { alice, ownCaller, type TestLedger, testLedger } from '../../support/test-ledger.ts'

const parts = suite('audit: names by a part of them')

const bob = ownCaller(alice.tenant, { actor: 'Platform%1', principal: 'BOB@example.com' })

async function scene(): Promise<TestLedger> {
  const test = await testLedger({ audit: 'unrecorded' })
  const first = drive(test, 'Order-1_a')
  await first.start()
  ok(await first.hand('researcher', { entities: ['Apple'] }))
  assert.not.ok((await first.hand('Ärzte-Writer', { summary: 'growth' })).ok)
  await first.called('charge_card', { agent: 'Ärzte-Writer' })
  const second = drive(test, 'order-22', bob)
  await second.start()
  ok(await second.settle(await second.claimed('chargeXcard', { agent: 'ﬁnance' }), { unknown: { reason: 'late' } }))
  const usage = { tokens: 9, provider: 'OpenAI', model: 'GPT-4o' }
  ok(await second.do({ kind: 'usage', body: { agent: 'ﬁnance', usage } }))
  return test
}

const BY_PART = AUDIT_FILTERS.filter(({ compare }) => compare === 'part' || compare === 'any-part')

/** What the pure rules say of every event. */
async function factsOf(test: TestLedger) {
  const claims = new Map<string, { agent?: string; tool?: string }>()
  const facts: (ReturnType<typeof eventFacts> & { readonly id: string; readonly run?: string | undefined })[] = []
  for await (const page of test.ledger.tenantEvents(alice, {})) {
    for (const { header, data } of page) {
      const call = callOf(header.type, data)
      const found = eventFacts(header, data, call === undefined ? {} : claims.get(call))
      if (header.type === 'ToolCallClaimed' && found.call !== undefined) claims.set(found.call, found)
      facts.push({ ...found, id: header.id, run: parseStream(header.stream)?.runId })
    }
  }
  return facts
}

parts('any parts of names together find exactly what the pure rules say, in any case (HTTP-32)', async () => {
  await using test = await scene()
  const facts = await factsOf(test)
  const names = [...new Set(facts.flatMap((each) => [...PART_FIELDS.map((name) => each[name]), ...each.rules]))]
  const part = fc
    .tuple(fc.constantFrom(...names.filter((name) => name !== undefined)), fc.nat(30), fc.integer({ min: 1, max: 9 }))
    .map(([name, from, length]) => name.slice(from % name.length, (from % name.length) + length))
  const drawn = fc.tuple(part, fc.boolean()).map(([text, upper]) => (upper ? text.toUpperCase() : text.toLowerCase()))
  const filters = fc.dictionary(fc.constantFrom(...BY_PART.map(({ name }) => name)), drawn, { minKeys: 1, maxKeys: 2 })
  let hits = 0
  await fc.assert(
    fc.asyncProperty(filters, async (filter: EventQuery) => {
      const items = await askAll(test.ledger, 'events', { filter: { ...filter } })
      hits += items.length
      assert.equal(
        items.map(({ event }) => event),
        facts.filter((each) => matchesFacts(filter, each)).map(({ id }) => id),
      )
    }),
    { numRuns: rounds(120, 300) },
  )
  assert.ok(hits > 20, 'the parts must find something')
})

parts('no character of a part has a meaning of its own, and forms of a character are one (A293)', async () => {
  await using test = await scene()
  const toolsBy = async (filter: EventQuery) => {
    const items = await askAll(test.ledger, 'events', { filter: { ...filter, types: ['ToolCallClaimed'] } })
    return items.map(({ tool }) => tool)
  }
  assert.equal(await toolsBy({ toolContains: 'CHARGE' }), ['charge_card', 'chargeXcard'])
  assert.equal(await toolsBy({ toolContains: 'charge_card' }), ['charge_card'], 'no wildcard for one character')
  for (const wildcard of ['%', '*', 'charge%card', 'charge.card', "' OR 1=1 --", '[a-z]', '\\'])
    assert.equal(await toolsBy({ toolContains: wildcard }), [], wildcard)
  assert.equal(await toolsBy({ actorContains: 'M%1' }), ['chargeXcard'])
  assert.equal(await toolsBy({ agentContains: 'ärzte' }), ['charge_card'])
  assert.equal(await toolsBy({ agentContains: 'FIN' }), ['chargeXcard'], 'a ligature is its letters')
  assert.equal(await toolsBy({ contains: 'bob@' }), ['chargeXcard'])
  assert.equal(await toolsBy({ runContains: 'R-1_', contains: 'bob' }), [])
})

parts('runs, sums and reads are found by a part as events are (HTTP-32)', async () => {
  await using test = await scene()
  const runs = async (filter: EventQuery) => (await askAll(test.ledger, 'runs', { filter })).map(({ run }) => run)
  assert.equal(await runs({ runContains: 'ORDER' }), ['Order-1_a', 'order-22'])
  assert.equal(await runs({ runContains: '-22' }), ['order-22'])
  assert.equal(await runs({ runContains: '-22', run: 'Order-1_a' }), [])
  const spend = await askAll(test.ledger, 'spend', {
    by: 'model',
    filter: { modelContains: 'gpt', contains: 'OPENAI' },
  })
  assert.equal(
    spend.map(({ key, tokens }) => [key, tokens]),
    [['GPT-4o', 9]],
  )
})

parts('a part is one to 256 characters, and is asked for where its query has the name', () => {
  for (const text of ['', 'x'.repeat(257)]) assert.not.ok(EventQuery.safeParse({ agentContains: text }).success)
  const named = BY_PART.filter(({ compare }) => compare === 'part').map(({ field }) => field)
  assert.equal([...named].sort(), [...PART_FIELDS, 'rules'].sort())
})

/** Rows by a part, in an index where so many names are on record; the part is in every third. */
function partOf(names: number) {
  const index = openSqliteAudit({ path: ':memory:' })
  const rows: AuditRow[] = []
  const add = (count: number): void => {
    const entries = Array.from({ length: count }, (_, at) => {
      const leaf = rows.length + at
      const name = rows.length === 0 ? `${leaf % names}` : `late-${leaf % names}`
      const tool = leaf % 3 === 0 ? `Refund-${name}` : `pay-${name}`
      return auditEntry(leaf, { time: '2026-01-01T00:00:00.000Z', run: `r${leaf}`, revision: 0, tool })
    })
    const from = rows.length === 0 ? undefined : String(rows.length)
    rows.push(...entries.map(({ row }) => row))
    const progress = { position: String(rows.length), digest: 'd' }
    assert.ok(index.save({ entries, states: new Map(), foreign: [], progress }, from))
  }
  const found = (part: string, size: number) =>
    index.rows({ tenant: 'acme', size }, { toolContains: part }, { after: undefined, limit: 10_000 })
  const expected = (part: string, size: number) => rows.slice(0, size).filter(({ tool = '' }) => hasPart(tool, part))
  return { index, add, found, expected, rows }
}

parts('few names, many, and more than are looked through give the same rows, also of names that came later', () => {
  for (const names of [4, 60, 2_500]) {
    const { index, add, found, expected, rows } = partOf(names)
    using _ = index
    add(2_400)
    for (const part of ['REFUND', 'fund-1', '-3', 'nobody'])
      assert.equal(found(part, 2_000), expected(part, 2_000), `${part} of ${names}`)
    add(300)
    for (const part of ['REFUND', '-24', 'd-2', 'nobody'])
      assert.equal(found(part, rows.length), expected(part, rows.length), `${part} of ${names}, later`)
  }
})

parts.run()
