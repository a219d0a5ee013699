import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import type { PolicyObject } from '../../../../schemas/policy.ts'
import { DEFAULT_FREE_KEYS, resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { underTenantPolicy } from '../../../../src/domain/validator/policy/with-tenant.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('judgement: keys of prose')

function said(before: Json, after: Json, policy: PolicyObject = {}): string {
  const { verdict, findings } = validateHandoff({
    before: { order: { id: 'A1' }, ...(before as JsonObject) },
    after: { order: { id: 'A1' }, ...(after as JsonObject) },
    policy: resolvePolicy(policy),
  })
  return [verdict, ...findings.map(({ path, suspect }) => `${path}${suspect === true ? ' suspect' : ''}`)].join(' ')
}

const FREE: readonly (readonly [before: Json, after: Json])[] = [
  [{ summary: 'one' }, { summary: 'two' }],
  [{ notes: 'one' }, {}],
  [{ plan: ['a', 'b'] }, { plan: ['c'] }],
  [{ plan: ['a', 'b'] }, { plan: ['b', 'a'] }],
  [{ draft: { title: 'x', body: 'y' } }, { draft: { title: 'z', body: 'y' } }],
  [{ messages: [{ role: 'user', content: 'a' }] }, { messages: [{ role: 'system', content: 'summary of 1' }] }],
  [{ output: null }, { output: { total: 3 } }],
  [{ output: { total: 3 } }, { output: { total: 3, more: 4 } }],
]

const DATA: readonly (readonly [before: Json, after: Json, path: string])[] = [
  [{ output: { total: 3 } }, { output: { total: 4 } }, '/output/total'],
  [{ output: { total: 3 } }, { output: {} }, '/output/total'],
  [{ plan: { steps: [{ id: 1, cost: 3 }] } }, { plan: { steps: [{ id: 1, cost: 9 }] } }, '/plan/steps/0/cost'],
  [{ content: { paid: true } }, { content: { paid: false } }, '/content/paid'],
  [{ summary: { iban: { bank: 'B' } } }, {}, '/summary'],
]

test('below a key of prose texts are free, and data is suspect at most, whatever becomes of suspects (JUD-1)', () => {
  for (const [before, after] of FREE)
    assert.is(said(before, after, { suspect: 'refuse' }), 'accept', JSON.stringify(before))
  for (const [before, after, path] of DATA) {
    assert.is(said(before, after), `accept ${path} suspect`, JSON.stringify(before))
    assert.is(said(before, after, { suspect: 'refuse' }), `reject ${path} suspect`, JSON.stringify(before))
  }
})

test('what a policy names free is free whole, freeOnly takes the place of the default, and a declaration holds there too (JUD-1)', () => {
  const [before, after, path] = [
    { board: { n: 3 }, output: { n: 3 } },
    { board: { n: 4 }, output: { n: 4 } },
    '/output/n',
  ]
  assert.is(said(before, after, { free: ['board'] }), `accept ${path} suspect`)
  assert.is(said(before, after, { free: ['board', 'output'] }), 'accept')
  assert.is(said(before, after, { freeOnly: ['output'] }), 'accept /board/n suspect')
  assert.is(said({ notes: 'a' }, { notes: 'b' }, { freeOnly: ['output'] }), 'accept /notes suspect')
  assert.is(said({ notes: 'a' }, { notes: 'b' }, { immutable: ['/notes'] }), 'reject /notes')
})

const turns = (...said: readonly string[]) => ({
  messages: said.map((content, i) => ({ type: i % 2 === 0 ? 'human' : 'ai', content })),
})

test('a conversation grows, and gives way to its summary; a message among others that are kept is not rewritten (JUD-1)', () => {
  const strict = { suspect: 'refuse' } as const
  const before = turns('a', 'b', 'c')
  const free: readonly Json[] = [
    turns('a', 'b', 'c', 'd'),
    turns('a', 'b', 'c and more'),
    turns('b and c'),
    turns('summary', 'c'),
    turns('x', 'y', 'z'),
    turns(),
    {},
  ]
  for (const after of free) assert.is(said(before, after, strict), 'accept', JSON.stringify(after))
  assert.is(said(before, turns('a', 'x', 'c'), strict), 'reject /messages/1 suspect')
  assert.is(said(before, turns('a', 'b', 'x', 'd'), strict), 'reject /messages/2 suspect')
  assert.is(said(before, turns('x', 'b', 'c', 'd')), 'accept /messages/0 suspect')
  const system = { role: 'system', content: 's' }
  const [own, others] = [
    { role: 'user', content: 'a' },
    { role: 'user', content: 'b' },
  ]
  assert.is(said({ messages: [system, own] }, { messages: [system, others] }, strict), 'accept')
})

test('a text that is a measure or a time is data, below a key of prose as well (JUD-1)', () => {
  for (const [was, is] of [
    ['2026-03-10', '2026-03-20'],
    ['4.2 kg', '2.4 kg'],
    ['17', '71'],
  ] as const)
    assert.is(said({ plan: [{ op: 'x', at: was }] }, { plan: [{ op: 'x', at: is }] }), 'accept /plan/0/at suspect', is)
  assert.is(said({ plan: [{ op: 'x', at: 'dawn' }] }, { plan: [{ op: 'x', at: 'dusk' }] }), 'accept')
})

test('of run and tenant a key is as free as the stricter has it (JUD-23)', () => {
  const freed = (run: PolicyObject, tenant: PolicyObject): unknown => {
    const started = underTenantPolicy(run, tenant)
    return started.ok ? [started.policy.free, started.policy.prose] : started
  }
  const usual = [...DEFAULT_FREE_KEYS]
  assert.equal(freed({ free: ['a', 'b'] }, { free: ['b', 'c'] }), [['b'], usual])
  assert.equal(freed({ free: ['a'] }, {}), [['a'], usual])
  assert.equal(freed({ free: ['a'] }, { freeOnly: ['b'] }), [[], []])
  assert.equal(freed({ freeOnly: ['a', 'notes'] }, { free: ['b'] }), [[], ['notes']])
  assert.equal(freed({ free: ['notes'] }, { prose: ['notes', 'x'], free: ['y'] }), [[], ['notes']])
  assert.equal(freed({ freeOnly: [] }, {}), [[], []])
})

test.run()
