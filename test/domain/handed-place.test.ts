import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Finding } from '../../schemas/finding.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { defaultPrompt } from '../../src/agent/pipeline/default-prompt.ts'
import { type Handed, withHandedPlaces } from '../../src/domain/handed-place.ts'
import { finish, Pauses } from '../../src/domain/yielding.ts'

const test = suite('the place of a finding in the handoff')

const placed = (findings: readonly Finding[], handed: Handed): readonly Finding[] =>
  finish(withHandedPlaces({ findings }, handed)).findings

const before = {
  order: {
    qty: 6,
    lines: [
      { sku: 'A', price: 1, tax: { rate: 7 } },
      { sku: 'B', price: 2 },
    ],
  },
  tags: ['a', 'b'],
  'odd/key': { 'a~b': 1 },
}

function placeOf(
  path: string,
  sent: Partial<Handed> & { readonly payload: JsonObject },
  after?: Json,
): string | undefined {
  const finding: Finding = {
    rule: 'contradicted',
    severity: 'error',
    path,
    message: 'it is another',
    ...(after !== undefined && { after }),
  }
  const [found] = placed([finding], { before, after: sent.payload, ...sent })
  return found?.inHandoff
}

test('a member of a list is found by its identity, not by its index, at any depth (JUD-98)', () => {
  const payload = {
    order: {
      lines: [
        { sku: 'C', price: 9 },
        { sku: 'B', price: 2 },
        { sku: 'A', price: 5, tax: { rate: 19 } },
      ],
    },
  }
  assert.is(placeOf('/order/lines/0/price', { payload }, 5), '/payload/order/lines/2/price')
  assert.is(placeOf('/order/lines/0/tax/rate', { payload }, 19), '/payload/order/lines/2/tax/rate')
  assert.is(placeOf('/order/lines/1/price', { payload }, 2), '/payload/order/lines/1/price')
})

test('of a value that is gone it is the place of what held it, and nothing where none of that was sent (JUD-98)', () => {
  assert.is(placeOf('/order/qty', { payload: { order: { lines: [] } } }), '/payload/order')
  assert.is(placeOf('/order/lines/0/price', { payload: { order: { lines: [{ sku: 'B' }] } } }), '/payload/order/lines')
  assert.is(
    placeOf('/order/lines/1/price', { payload: { order: { lines: [{ sku: 'B' }] } } }),
    '/payload/order/lines/0',
  )
  assert.is(placeOf('/order/qty', { payload: {} }), undefined)
  assert.is(placeOf('', { payload: { order: {} } }), undefined)
})

test('where another value is, it says no place rather than a wrong one (JUD-98)', () => {
  assert.is(placeOf('/order/qty', { payload: { order: { qty: 7 } } }, 5), undefined)
  assert.is(placeOf('/tags/0', { payload: { tags: ['c', 'b'] } }, 'c'), '/payload/tags/0')
  assert.is(placeOf('/tags/0', { payload: { tags: ['b', 'c'] } }, 'c'), undefined)
  // The identity itself changed: the same index has the value.
  assert.is(
    placeOf('/order/lines/0/sku', { payload: { order: { lines: [{ sku: 'Z' }] } } }, 'Z'),
    '/payload/order/lines/0/sku',
  )
})

test('what a rule says of the new context or of the payload is at that place, whatever was established at its index (JUD-98)', () => {
  const placeIn = (finding: Pick<Finding, 'rule' | 'path' | 'after'>, after: JsonObject, payload = after) =>
    placed([{ severity: 'error', message: 'm', ...finding }], { before, after, payload })[0]?.inHandoff
  const [a, again, b, c] = [
    { sku: 'A', price: 1 },
    { sku: 'A', price: 3 },
    { sku: 'B', price: 'x' },
    { sku: 'C', price: 9 },
  ]
  const of = (...lines: JsonObject[]) => ({ order: { lines } })
  const [duplicate, disagrees, schema] = ['duplicate-identity', 'disagrees-with-tool', 'schema-violation'] as const
  const twice = of(a, again, b)
  assert.is(placeIn({ rule: duplicate, path: '/order/lines/1', after: again }, twice), '/payload/order/lines/1')
  assert.is(
    placeIn({ rule: disagrees, path: '/order/lines/1/price', after: 9 }, of(a, c), of(c)),
    '/payload/order/lines/0/price',
  )
  assert.is(placeIn({ rule: schema, path: '/order/lines/0/price' }, of(a, b), of(b)), '/payload/order/lines/0/price')
})

test('what is only added is below /add; keys are escaped; a place that is too long is left out (JUD-98)', () => {
  assert.is(placeOf('/tags/2', { payload: {}, add: { tags: ['x', 'y', 'c'] } }, 'c'), '/add/tags/2')
  assert.is(placeOf('/odd~1key/a~0b', { payload: { 'odd/key': { 'a~b': 2 } } }, 2), '/payload/odd~1key/a~0b')
  const long = 'k'.repeat(1024)
  assert.is(placeOf(`/${long}`, { payload: { [long]: 1 } }, 1), undefined)
})

test('a long list is indexed once for all findings', () => {
  const members = (price: number) => Array.from({ length: 2_000 }, (_, i) => ({ sku: `S${i}`, price }))
  let reads = 0
  const lines = members(2).toReversed()
  const counted = new Proxy(lines, {
    get: (target, key, receiver) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) reads += 1
      return Reflect.get(target, key, receiver)
    },
  })
  const findings = Array.from({ length: 100 }, (_, i): Finding => {
    return { rule: 'contradicted', severity: 'error', path: `/lines/${i}/price`, message: 'm', after: 2 }
  })
  const payload = { lines: counted }
  const found = placed(findings, { before: { lines: members(1) }, after: payload, payload })
  assert.is(found[7]?.inHandoff, '/payload/lines/1992/price')
  assert.ok(reads < 2 * lines.length, String(reads))
})

test('large values are compared in counted steps, with a pause after each that took many', () => {
  const rows = Array.from({ length: 10_000 }, (_, i) => i)
  const findings = Array.from({ length: 100 }, (): Finding => {
    return { rule: 'total-disagrees', severity: 'error', path: '/rows', message: 'm' }
  })
  const pauses = new Pauses()
  const placing = withHandedPlaces({ findings }, { before: {}, after: { rows: [...rows] }, payload: { rows } }, pauses)
  let pausesTaken = 0
  while (placing.next().done !== true) pausesTaken += 1
  assert.is(pausesTaken, findings.length)
  assert.is(pauses.most, rows.length)
})

test('all paths of a verdict and the places in the handoff together have at most 64 KiB (JUD-98)', () => {
  // 100 paths of 600 characters leave room for nine places of 608.
  const names = Array.from({ length: 100 }, (_, i) => `${i}`.padStart(599, 'k'))
  const payload = Object.fromEntries(names.map((name) => [name, 1]))
  const findings = names.map((name): Finding => {
    return { rule: 'contradicted', severity: 'error', path: `/${name}`, message: 'm', after: 1 }
  })
  const found = placed(findings, { before: {}, after: payload, payload })
  assert.is(found.filter(({ inHandoff }) => inHandoff !== undefined).length, 9)
  assert.is(found[8]?.inHandoff, `/payload/${names[8]}`)
})

test('the prompt of the next try says the place in the answer where it is another than in the context (JUD-98)', () => {
  const finding = (path: string, inHandoff: string): Finding => {
    return { rule: 'contradicted', severity: 'error', path, message: 'it is another', inHandoff }
  }
  const findings = [
    finding('/order/qty', '/payload/order/qty'),
    finding('/order/lines/0/price', '/payload/order/lines/2/price'),
    finding('/tags/2', '/add/tags/0'),
    finding('/add/qty', '/payload/add/qty'),
  ]
  const context = { findings, shown: { omitted: [] } } as unknown as Parameters<typeof defaultPrompt>[1]
  const prompt = defaultPrompt({}, context)
  assert.match(prompt, /^- contradicted at \/order\/qty: it/m)
  assert.match(
    prompt,
    /^- contradicted at \/order\/lines\/0\/price \(in your answer at \/order\/lines\/2\/price\): it/m,
  )
  assert.match(prompt, /^- contradicted at \/tags\/2 \(in your answer at \/\$add\/tags\/0\): it/m)
  assert.match(prompt, /^- contradicted at \/add\/qty: it/m)
})

test.run()
