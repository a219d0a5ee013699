import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Policy, PolicyObject } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { underTenantPolicy } from '../../../../src/domain/validator/policy/with-tenant.ts'

const test = suite("a run's policy under its tenant's")

function under(run: unknown, tenant: unknown) {
  const declared = run === undefined ? undefined : Policy.parse(run)
  const started = underTenantPolicy(declared, PolicyObject.parse(tenant))
  return started.ok ? started.policy : { pointer: started.refusal.pointer, code: started.refusal.code }
}

test('a run that declares nothing has the policy of its tenant, and a tenant that declares nothing that of the run', () => {
  const declared = { ungrounded: 'reject', free: ['board'], immutable: ['/a'] } as const
  assert.equal(under(undefined, declared), resolvePolicy(declared as never))
  assert.equal(under(declared, {}), resolvePolicy(declared as never))
  assert.equal(under('relay', {}), resolvePolicy('relay'))
  assert.equal(under(undefined, { base: 'relay' }), resolvePolicy('relay'))
})

test('a run adds to what its tenant declares and loosens none of it (JUD-23)', () => {
  const tenant = {
    ...{ ungrounded: 'warn', restated: 'reject', judge: 'reject', minConfidence: 0.5, immutable: ['/a'] },
    ...{ protect: ['order', 'patient'], free: ['board', 'notes'], criticalKeys: ['patient'] },
    invariants: [{ name: 'one', expression: 'after.a == 1' }],
    supersede: { roles: ['lead', 'chief'], reasonMinChars: 20, never: ['/constraints'] },
  }
  const run = {
    ...{ ungrounded: 'off', restated: 'off', judge: 'warn', minConfidence: 0.1, immutable: ['/a', '/b'] },
    ...{ protect: ['facts'], free: ['board', 'patient'], criticalKeys: [] },
    invariants: [{ name: 'two', expression: 'after.b == 1' }],
    supersede: { roles: ['lead', 'intern'], reasonMinChars: 3, never: [] },
  }
  const { ungrounded, restated, judge, minConfidence, immutable, protect, free, criticalKeys, invariants, supersede } =
    under(run, tenant) as ReturnType<typeof resolvePolicy>
  assert.equal([ungrounded, restated, judge, minConfidence], ['warn', 'reject', 'reject', 0.5])
  assert.equal(
    [immutable, protect, free, criticalKeys],
    [['/a', '/b'], ['facts', 'order', 'patient'], ['board'], ['patient']],
  )
  assert.equal(
    invariants?.map(({ name }) => name),
    ['two', 'one'],
  )
  assert.equal(supersede, { roles: ['lead'], reasonMinChars: 20, never: ['/constraints'] })
  const all = under({ protect: ['facts'] }, { protect: '*' }) as ReturnType<typeof resolvePolicy>
  assert.is(all.protect, '*')
})

test("of one place the run's word counts before its tenant's (JUD-23)", () => {
  const tenant = {
    lists: { '/a': 'set', '/b': 'bag' },
    monotonic: { '/n': 'up' },
    tolerance: { '/t': { absolute: 1 } },
  }
  const run = { lists: { '/a': 'sequence' }, tolerance: { '/t': { absolute: 2 } } }
  const { lists, monotonic, tolerance } = under(run, tenant) as ReturnType<typeof resolvePolicy>
  assert.equal(lists, { '/a': 'sequence', '/b': 'bag' })
  assert.equal([monotonic, tolerance], [{ '/n': 'up' }, { '/t': { absolute: 2 } }])
})

test('a run does not leave the base that its tenant names, nor one whose members its tenant declares (A170)', () => {
  const code = 'policy-invalid'
  assert.equal(under('relay', { base: 'default' }), { pointer: '/policy/base', code })
  assert.equal(under('relay', { immutable: ['/a'] }), { pointer: '/policy/immutable', code })
})

test('what a run and its tenant declare together is bounded like a policy of its own (A171)', () => {
  const places = (prefix: string) =>
    Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`/${prefix}${i}`, 'set']))
  assert.equal(under({ lists: places('a') }, { lists: places('b') }), {
    pointer: '/policy/lists',
    code: 'policy-invalid',
  })
  assert.equal(under({ lists: places('a') }, { lists: places('a') }), resolvePolicy({ lists: places('a') } as never))
})

test.run()
