import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../../../schemas/json.ts'
import { PolicyObject } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { underTenantPolicy } from '../../../../src/domain/validator/policy/with-tenant.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('members of a policy without effect')

/** A policy that says something in vain, where, and what to write; beside it the same with effect. */
const POLICIES: readonly (readonly [place: string, says: RegExp, vain: PolicyObject, effective: PolicyObject])[] = [
  [
    'monotonic./a/n',
    /moves declares it as gauge; keep one/,
    { monotonic: { '/a/n': 'up' }, moves: [{ path: '/a/n', as: 'gauge' }] },
    { monotonic: { '/a/n': 'up' }, moves: [{ path: '/a', as: 'free' }] },
  ],
  [
    'tolerance./a/n',
    /monotonic speaks of it/,
    { monotonic: { '/a/n': 'up' }, tolerance: { '/a/n': { absolute: 1 } } },
    { monotonic: { '/a/n': 'up' }, tolerance: { '/a/m': { absolute: 1 } } },
  ],
  [
    'moves.1',
    /declares .a.n as counter before/,
    {
      moves: [
        { path: '/a/n', as: 'counter' },
        { path: '/a/n', as: 'cursor' },
      ],
    },
    {
      moves: [
        { path: '/a/n', as: 'counter' },
        { path: '/a/*', as: 'cursor' },
      ],
    },
  ],
  [
    'moves.0',
    /says that .a stays/,
    { immutable: ['/a'], moves: [{ path: '/a/n', as: 'counter' }] },
    { immutable: ['/a/n'], moves: [{ path: '/a', as: 'free' }] },
  ],
  [
    'moves.0',
    /says that .a.. stays/,
    { supersede: { never: ['/a/*'] }, moves: [{ path: '/a/n', as: 'counter' }] },
    { supersede: { never: ['/a/*'] }, moves: [{ path: '/b/n', as: 'counter' }] },
  ],
  [
    'moves.0.by',
    /write one called sum under invariants/,
    { moves: [{ path: '/a/n', as: 'derived', by: 'sum' }] },
    {
      moves: [{ path: '/a/n', as: 'derived', by: 'sum' }],
      invariants: [{ name: 'sum', expression: 'after.a.n == after.a.m + 1' }],
    },
  ],
  ['free', /freeOnly, which replaces it/, { free: ['a'], freeOnly: ['b'] }, { freeOnly: ['a', 'b'] }],
  ['free.0', /critical key by default/, { free: ['facts'] }, { free: ['facts'], criticalKeys: ['order'] }],
  ['free.0', /take it out of one/, { free: ['a'], criticalKeys: ['a'] }, { free: ['a'], criticalKeys: ['b'] }],
  ['freeOnly.0', /protect names it/, { freeOnly: ['a'], protect: ['a'] }, { freeOnly: ['a'], protect: ['b'] }],
  [
    'free.0',
    /immutable has no effect at .my_board.x/,
    { free: ['myBoard'], immutable: ['/my_board/x'] },
    { free: ['a'], immutable: ['/my_board/x'] },
  ],
  [
    'free.0',
    /monotonic has no effect/,
    { free: ['a'], monotonic: { '/a/x': 'up' } },
    { free: ['a'], monotonic: { '/*/x': 'up' } },
  ],
]

test('a member of a policy that another one leaves without effect is refused, with its place and what to write; with effect it is taken (JUD-72)', () => {
  for (const [place, says, vain, effective] of POLICIES) {
    const issue = PolicyObject.safeParse(vain).error?.issues[0]
    assert.is(issue?.path.join('.'), place, JSON.stringify(vain))
    assert.match(issue?.message ?? '', says)
    assert.is(PolicyObject.safeParse(effective).success, true, JSON.stringify(effective))
  }
})

test('a run frees no key of which the policy of its tenant says something; what the tenant keeps immutable a run may still declare in vain (JUD-72)', () => {
  const refused = underTenantPolicy({ free: ['board'] }, { immutable: ['/board/mrn'] })
  assert.is(refused.ok, false)
  if (!refused.ok) {
    assert.is(refused.refusal.pointer, '/policy/free')
    assert.match(refused.refusal.detail, /frees board, so that immutable has no effect/)
  }
  assert.ok(underTenantPolicy({ free: ['notepad'] }, { immutable: ['/board/mrn'] }).ok)
  assert.ok(underTenantPolicy({ moves: [{ path: '/board/mrn', as: 'free' }] }, { immutable: ['/board/mrn'] }).ok)
})

/** What a policy says of `/a/v`, a value there that it can say nothing of, what to write instead, and a value that it is about. */
const VALUES: readonly (readonly [policy: PolicyObject, vain: Json, says: RegExp, about: Json])[] = [
  [{ monotonic: { '/a/v': 'up' } }, true, /boolean has no order.*"as": "done"/, 3],
  [{ monotonic: { '/a/v': 'up' } }, 'economy', /"as": "state"/, '2026-05-01'],
  [{ monotonic: { '/a/v': 'up' } }, [1], /no single value/, '3 kg'],
  [{ tolerance: { '/a/*': { absolute: 1 } } }, 'warm', /gauge/, '21 °C'],
  [{ tolerance: { '/a/*': { absolute: 1 } } }, false, /boolean/, 21],
  [{ lists: { '/a/v': 'set' } }, { x: 1 }, /no list/, ['x']],
  [{ lists: { '/a/v': { key: ['no'] } } }, [{ id: 1 }], /no member of the list has no/, [{ no: 1 }]],
  [{ moves: [{ path: '/a/v', as: 'counter' }] }, true, /counter is a number/, 3],
  [{ moves: [{ path: '/a/v', as: 'clock' }] }, 'soon', /clock is a time/, '2026-05-01'],
  [{ moves: [{ path: '/a/v', as: 'done' }] }, 'yes', /false before/, false],
  [{ moves: [{ path: '/a/v', as: 'log' }] }, 'x', /log is a list/, []],
  [{ moves: [{ path: '/a/v', as: 'cursor' }] }, { x: 1 }, /no single value/, 'x'],
  [{ moves: [{ path: '/a/v', as: 'state', order: ['in', 'out'] }] }, 'lost', /no word of its order/, 'in'],
]

test('a value that what the policy says of its place cannot be about is a warning when it is established, once, and refuses nothing (JUD-72)', () => {
  for (const [policy, vain, says, about] of VALUES) {
    const judge = (before: Json, after: Json) => {
      const [was, is] = [before, after].map((v) => ({ order: { id: 'A-1' }, a: { v, beside: 1 } }))
      if (was === undefined || is === undefined) throw new Error('two contexts')
      return validateHandoff({ before: was, after: is, policy: resolvePolicy({ ...policy, suspect: 'refuse' }) })
    }
    const { verdict, findings } = judge(null, vain)
    const at = JSON.stringify([policy, vain])
    assert.equal(
      [verdict, findings.map(({ rule, severity, path }) => [rule, severity, path])],
      ['accept', [['no-effect', 'warning', '/a/v']]],
      at,
    )
    assert.match(findings[0]?.message ?? '', says)
    assert.equal(judge(null, about).findings, [], at)
    assert.equal(judge(vain, vain).findings, [], at)
  }
})

test.run()
