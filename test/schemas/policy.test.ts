import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Policy, ResolvedPolicy } from '../../schemas/policy.ts'
import { DEFAULT_FREE_KEYS, resolvePolicy } from '../../schemas/resolve-policy.ts'
import { DEFAULT_CRITICAL_KEYS } from '../../schemas/value-forms.ts'

const test = suite('policies')

test('a policy left out is the default one', () => {
  const first = { base: 'default', criticalKeys: [...DEFAULT_CRITICAL_KEYS], ungrounded: 'warn' }
  const expected = {
    ...first,
    rules: 2,
    protect: '*',
    free: [],
    prose: [...DEFAULT_FREE_KEYS],
    restated: 'sure',
    suspect: 'record',
  }
  for (const policy of [resolvePolicy(), resolvePolicy('default'), resolvePolicy({})]) assert.equal(policy, expected)
})

test('relay looks for no grounds unless told to', () => {
  assert.is(resolvePolicy('relay').ungrounded, 'off')
  assert.equal(resolvePolicy({ base: 'relay', ungrounded: 'warn' }), {
    base: 'relay',
    criticalKeys: [...DEFAULT_CRITICAL_KEYS],
    ungrounded: 'warn',
  })
})

test('a critical key named twice is one', () => {
  assert.equal(resolvePolicy({ criticalKeys: ['a', 'b', 'a'] }).criticalKeys, ['a', 'b'])
})

test('what resolves is a resolved policy', () => {
  const plain = ['default', 'relay', {}, { criticalKeys: [] }] as const
  for (const policy of [...plain, { free: ['a'] }, { freeOnly: ['a'] }, { prose: ['b'], free: ['a'] }]) {
    const resolved = resolvePolicy(Policy.parse(policy))
    assert.equal(ResolvedPolicy.parse(resolved), resolved)
    assert.equal(resolvePolicy(Policy.parse(resolved)), resolved, 'and a policy that another run may begin with')
  }
})

test('a recorded policy is read with the snapshotEvery that policies once had', () => {
  const recorded = { ...resolvePolicy(), snapshotEvery: 5 }
  assert.equal(ResolvedPolicy.parse(recorded), recorded)
})

test('other names and members are refused', () => {
  const refused = [
    'strict',
    null,
    { base: 'other' },
    { critical: [] },
    { criticalKeys: [''] },
    { criticalKeys: 'facts' },
    { snapshotEvery: 1 },
  ]
  for (const policy of refused) assert.is(Policy.safeParse(policy).success, false, JSON.stringify(policy))
})

test.run()
