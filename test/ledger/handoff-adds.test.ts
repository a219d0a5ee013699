import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { open, type Run } from '../../src/agent/index.ts'
import { alice, testLedger } from '../support/test-ledger.ts'

const test = suite('what a handoff adds')

const CONSTRAINTS = ['no flights before 8', 'at most 900 EUR']
const BEFORE: JsonObject = {
  constraints: CONSTRAINTS,
  order: { lines: [{ sku: 'A', qty: 1 }], route: ['Oslo', 'Bergen'], amounts: [5, 5] },
}

async function run() {
  const opened = await testLedger()
  await opened.run('r', { kind: 'start', body: { id: 'r', name: 'r', policy: { suspect: 'refuse' } } })
  const handOver = async (payload: JsonObject, more: { add?: JsonObject; mode?: 'merge' | 'extend' } = {}) => {
    const outcome = await opened.run('r', { kind: 'envelope', body: { agent: 'a', payload, ...more } })
    if (outcome.ok) return 'accepted'
    return ((outcome.refusal.evidence?.findings ?? []) as { rule: string; path: string }[])
      .map((f) => `${f.rule} ${f.path}`)
      .join()
  }
  const context = async (): Promise<JsonObject> => {
    const found = await opened.ledger.context(alice, 'r', {})
    return found.ok ? (found.value.context as JsonObject) : {}
  }
  await handOver(BEFORE)
  return { opened, handOver, context, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() }
}

test('a list of constraints in a payload is the whole list, and one that is added is more of it (JUD-35)', async () => {
  await using at = await run()
  const aisle = { constraints: ['an aisle seat'] }
  assert.match(await at.handOver(aisle, { mode: 'extend' }), /^contradicted \/constraints/)
  assert.is(await at.handOver({}, { mode: 'merge', add: aisle }), 'accepted')
  assert.equal((await at.context()).constraints, [...CONSTRAINTS, 'an aisle seat'])
  assert.is(await at.handOver({}, { mode: 'merge', add: aisle }), 'accepted')
  assert.equal((await at.context()).constraints, [...CONSTRAINTS, 'an aisle seat'])
  // Beside a payload that says everything anew.
  const whole = await at.context()
  assert.is(await at.handOver(whole, { add: { constraints: ['a window'], facts: { from: 'Oslo' } } }), 'accepted')
  assert.equal((await at.context()).facts, { from: 'Oslo' })
})

test('what is added goes to the end where the order or the number counts, and is judged like everything else (JUD-35)', async () => {
  await using at = await run()
  const add = { order: { lines: [{ sku: 'B', qty: 2 }], amounts: [5] } }
  assert.is(await at.handOver({}, { mode: 'merge', add }), 'accepted')
  assert.equal((await at.context()).order, {
    lines: [
      { sku: 'A', qty: 1 },
      { sku: 'B', qty: 2 },
    ],
    ...{ route: ['Oslo', 'Bergen'], amounts: [5, 5, 5] },
  })
  const changes = { order: { lines: [{ sku: 'A', qty: 9 }] } }
  assert.is(await at.handOver({}, { mode: 'merge', add: changes }), 'contradicted /order/lines/0/qty')
  const again = await at.opened.sibling()
  const found = await again.context(alice, 'r', {})
  assert.equal(found.ok && found.value.context, await at.context())
  await again[Symbol.asyncDispose]()
})

test("what is added is held against the agent's manifest: its schema and the keys that it may change (JUD-35)", async () => {
  await using at = await run()
  const schema = { type: 'object', properties: { order: { type: 'object', maxProperties: 0 } } }
  await at.opened.run('r', { kind: 'manifest', body: { agent: 'a', schema, writes: ['order'] } })
  const add = { order: { gift: true }, facts: { a: 1 } }
  assert.equal(
    (await at.handOver({}, { mode: 'merge', add }))
      .split(',')
      .map((each) => each.split(' ')[0])
      .sort(),
    ['manifest-violation', 'schema-violation'],
  )
})

test('in code an addition is on record, and a replay is served it and no other (JUD-35)', async () => {
  await using cs = await open({ path: ':memory:' })
  const program = (more: string) => async (live: Run) => {
    await live.handoff({ constraints: ['a'] }, { agent: 'x' })
    const { ok } = await live.handoff({}, { agent: 'x', mode: 'merge', add: { constraints: [more] } })
    return [ok, (await live.context()).context]
  }
  assert.equal(await cs.run({ id: 'r', name: 'r' }, program('b')), [true, { constraints: ['a', 'b'] }])
  assert.equal((await cs.replay('r', program('b'))).output, [true, { constraints: ['a', 'b'] }])
  const diverged = await cs.replay('r', program('c')).catch((error: { code: string }) => error.code)
  assert.is(diverged, 'replay-diverged')
})

test.run()
