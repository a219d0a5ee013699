import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseExpression } from '../../../../schemas/expression.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { Policy } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { evaluate, STEPS_MAX } from '../../../../src/domain/validator/policy/evaluate.ts'
import { readPolicy, withManifestPolicy } from '../../../../src/domain/validator/policy/with-manifest.ts'
import { type HandoffInput, type Verdict, validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('judgement: policy')

function judge(before: JsonObject, after: JsonObject, policy: Policy, more: Partial<HandoffInput> = {}): Verdict {
  return validateHandoff({ before, after, policy: resolvePolicy(Policy.parse(policy)), ...more })
}
const found = ({ findings }: Verdict): string[] => findings.map(({ rule, path }) => `${rule} ${path}`)
const facts = (before: Json, after: Json, policy: Policy, more: Partial<HandoffInput> = {}): string[] =>
  found(judge({ facts: before }, { facts: after }, policy, more))

test('unknown words, paths that are no pointers, endless expressions and huge policies are refused with their place (JUD-23)', () => {
  const place = (policy: unknown): string => {
    const parsed = Policy.safeParse(policy)
    assert.not(parsed.success, JSON.stringify(policy).slice(0, 80))
    return JSON.stringify(parsed.error?.issues)
  }
  const deep = `${'('.repeat(50)}1${')'.repeat(50)}`
  const invariants = (expression: string) => ({ invariants: [{ name: 'n', expression }] })
  for (const [policy, at] of [
    [{ protekt: '*' }, 'protekt'],
    [{ monotonic: { 'facts/x': 'up' } }, 'facts/x'],
    [{ monotonic: { '/facts/~x': 'up' } }, 'facts/~x'],
    [{ monotonic: { '/facts/x': 'sideways' } }, '/facts/x'],
    [{ immutable: [''] }, 'immutable'],
    [{ lists: { '/x': { key: [] } } }, 'key'],
    [{ tolerance: { '/x': {} } }, 'tolerance'],
    [{ minConfidence: 2 }, 'minConfidence'],
    [{ base: 'relay', protect: '*' }, 'protect'],
    [{ rules: 1 }, 'leave it out'],
    [{ rules: 3 }, 'rules'],
    [{ supersede: { never: ['x'] } }, 'never'],
    [{ immutable: Array.from({ length: 300 }, (_, i) => `/x${i}`) }, 'immutable'],
    [{ free: ['x'.repeat(40_000)] }, 'free'],
    [invariants('process.exit(1)'), 'expression'],
    [invariants('after.x ='), 'expression'],
    [invariants('while (true) {}'), 'expression'],
    [invariants('all(after.x, all(y, all(z, 1 == 1)))'), 'expression'],
    [invariants(deep), 'expression'],
    [invariants(`1 == 1${' '.repeat(2000)}`), 'expression'],
  ] as const) {
    assert.ok(place(policy).includes(at), `${at}: ${place(policy)}`)
  }
})

test('a policy is recorded with the number of its rule set, and lists, orders and moves are as it declares (JUD-23)', () => {
  assert.is(resolvePolicy().rules, 2)
  assert.equal(facts({ pct: 5 }, { pct: 25 }, { monotonic: { '/facts/pct': 'up' } }), [])
  assert.equal(facts({ pct: 25 }, { pct: 5 }, { monotonic: { '/facts/pct': 'up' } }), ['contradicted /facts/pct'])
  assert.equal(facts({ left: 5 }, { left: 4 }, { monotonic: { '/facts/left': 'down' } }), [])
  assert.equal(
    facts({ t: [{ c: 20 }] }, { t: [{ c: 20.4 }] }, { tolerance: { '/facts/t/*/c': { absolute: 0.5 } } }),
    [],
  )
  assert.equal(facts({ x: 100 }, { x: 104 }, { tolerance: { '/facts/*': { relative: 0.05 } } }), [])
  assert.equal(facts({ x: 100 }, { x: 106 }, { tolerance: { '/facts/*': { relative: 0.05 } } }), [
    'contradicted /facts/x',
  ])
})

test('what is immutable, or never superseded, is refused whatever the agent gives as a reason (JUD-25)', () => {
  const supersedes = [{ path: '/facts/id', reason: 'it was wrong' }]
  assert.equal(facts({ id: 1 }, { id: 2 }, 'default', { supersedes }), ['superseded /facts/id'])
  assert.equal(facts({ id: 1 }, { id: 2 }, { immutable: ['/facts/id'] }, { supersedes }), ['immutable /facts/id'])
  assert.equal(facts({ id: { a: 1 } }, { id: { a: 2 } }, { immutable: ['/facts/id'] }), ['immutable /facts/id/a'])
  assert.equal(facts({ id: 1 }, { id: 2 }, { supersede: { never: ['/facts'] } }, { supersedes }), [
    'supersedes-invalid /facts/id',
  ])
  const short = { supersede: { reasonMinChars: 20 } }
  assert.ok(facts({ id: 1 }, { id: 2 }, short, { supersedes }).includes('supersedes-invalid /facts/id'))
  const roles = { supersede: { roles: ['lead'] } }
  assert.ok(facts({ id: 1 }, { id: 2 }, roles, { supersedes, agent: 'intern' }).includes('contradicted /facts/id'))
  assert.equal(facts({ id: 1 }, { id: 2 }, roles, { supersedes, agent: 'lead' }), ['superseded /facts/id'])
})

test('invariants hold over before and after; what is not there yet makes none of them fail (JUD-24)', () => {
  const holds = (expression: string, before: JsonObject, after: JsonObject): string =>
    found(judge(before, after, { protect: [], criticalKeys: [], invariants: [{ name: 'n', expression }] }))
      .filter((each) => each.startsWith('invariant'))
      .join()
  const after = { lines: [{ q: 2, p: '1,5', t: 3 }], total: { value: 3, currency: 'EUR' }, pct: 0.3 }
  for (const expression of [
    'sum(after.lines, t) == after.total',
    'all(after.lines, q * p == t)',
    'count(after.lines) >= count(before.lines)',
    'abs(after.pct - 0.1 - 0.2) < 0.001 && !(after.pct > 1)',
    'after.nothing.there == 1',
    "after['total']['currency'] == 'EUR' || false",
    'has(after.total) && !has(after.other)',
    'after.lines[0].q == 2',
    '-after.pct < 0 && 6 / 2 == 3 && 1 + 2 * 3 == 7 && (1 + 2) * 3 == 9',
  ]) {
    assert.is(holds(expression, { lines: [] }, after), '', expression)
  }
  for (const expression of [
    'sum(after.lines, t) == 4',
    'all(after.lines, q > 2)',
    'after.pct > 1',
    'has(after.other)',
    'false',
  ]) {
    assert.is(holds(expression, { lines: [] }, after), 'invariant ', expression)
  }
})

test('an invariant touches nothing outside and gives up after so many steps (JUD-24)', () => {
  for (const expression of [
    'constructor',
    'after.constructor.name == 1',
    'after.__proto__ == 1',
    'eval("1")',
    'globalThis',
  ]) {
    const parsed = parseExpression(expression)
    if (parsed.ok)
      assert.is(
        evaluate(parsed.expression, { before: {}, after: {} }, { stepsLeft: STEPS_MAX, members: new Map() }),
        'unknown',
      )
  }
  const list = Array.from({ length: 2000 }, (_, i) => ({ a: i, list: Array.from({ length: 200 }, () => 1) }))
  const parsed = parseExpression('all(after.list, sum(list, a + 1) == 1)')
  assert.ok(parsed.ok)
  if (parsed.ok)
    assert.is(
      evaluate(parsed.expression, { before: {}, after: { list } }, { stepsLeft: STEPS_MAX, members: new Map() }),
      'too-long',
    )
})

test('a share of what was established that is too small is refused, superseded or not', () => {
  const supersedes = [{ path: '/facts/a', reason: 'x' }]
  const verdict = facts({ a: 1, b: 2 }, { a: 2, b: 2 }, { minConfidence: 0.9 }, { supersedes })
  assert.equal(verdict, ['low-confidence ', 'superseded /facts/a'])
})

test("an agent's manifest adds to the policy of the run, and loosens none of it (JUD-23)", () => {
  const run = resolvePolicy({
    ungrounded: 'warn',
    immutable: ['/a'],
    minConfidence: 0.5,
    supersede: { roles: ['x', 'y'] },
  })
  const both = withManifestPolicy(run, {
    ungrounded: 'off',
    restated: 'reject',
    immutable: ['/b'],
    minConfidence: 0.1,
    supersede: { roles: ['y', 'z'] },
  })
  assert.equal([both.ungrounded, both.restated, both.minConfidence], ['warn', 'reject', 0.5])
  assert.equal([both.immutable, both.supersede?.roles], [['/a', '/b'], ['y']])
  const relay = resolvePolicy({ base: 'relay' })
  assert.is(withManifestPolicy(relay, { immutable: ['/b'] }), relay)
})

test('a policy that 0.1.0 recorded protects its critical keys alone, takes what a manifest adds, and is judged by the rules of now (JUD-82)', () => {
  const recorded = { base: 'default', criticalKeys: ['order'], ungrounded: 'warn' } as const
  const policy = readPolicy(recorded)
  assert.is(readPolicy(recorded), policy)
  const judge = (after: JsonObject): Verdict => {
    const before = { order: { qty: 6, by: 'Ann' }, notes: ['a'], stock: { left: 4 } }
    return validateHandoff({ before, after: { ...before, ...after }, policy })
  }
  assert.equal(judge({ order: { qty: '6', by: 'Ann' }, notes: {}, stock: 0 }).findings, [])
  const [finding] = judge({ order: { qty: 5, by: 'Ann' } }).findings
  assert.equal([finding?.severity, finding?.path], ['error', '/order/qty'])
  assert.equal(withManifestPolicy(recorded, { immutable: ['/stock'] }).immutable, ['/stock'])
  for (const each of [resolvePolicy(), resolvePolicy('relay')]) assert.is(readPolicy(each), each)
})

test.run()
