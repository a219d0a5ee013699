import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { type Policy, PolicyObject } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { MOVE_KINDS } from '../../../../schemas/value-forms.ts'
import { underTenantPolicy } from '../../../../src/domain/validator/policy/with-tenant.ts'
import { type Verdict, validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { stepsOf } from './bookkeeping/steps.ts'
import { TRADES } from './bookkeeping/trades.ts'
import { figuresOf } from './outcomes.ts'

const test = suite('judgement: places that move')

type Move = NonNullable<PolicyObject['moves']>[number]

function judge(before: Json, after: Json, move: Omit<Move, 'path'>, more: Policy = {}): Verdict {
  const policy = resolvePolicy({ moves: [{ path: '/books/at', ...move }], ...(more as PolicyObject) })
  const [was, is] = [{ books: { at: before } }, { books: { at: after } }] as unknown as [JsonObject, JsonObject]
  return validateHandoff({ before: was, after: is, policy })
}

const ORDER: Omit<Move, 'path'> = { as: 'state', order: ['loading', 'driving', 'back'] }

const KEPT: readonly (readonly [move: Omit<Move, 'path'>, before: Json, after: Json])[] = [
  [{ as: 'counter' }, 3, 4],
  [{ as: 'counter' }, '1,200', '1,300'],
  [{ as: 'clock' }, '2026-05-01', '2026-05-02'],
  [{ as: 'clock' }, '2026-05-01T08:00:00Z', '2026-05-01T10:30:00+02:00'],
  [{ as: 'gauge' }, 31, -4],
  [{ as: 'gauge' }, '3 kg', '200 g'],
  [{ as: 'gauge' }, 'north', 'west'],
  [{ as: 'cursor' }, 'a', 7],
  [{ as: 'cursor' }, 'a', null],
  [{ as: 'done' }, false, true],
  [ORDER, 'loading', 'back'],
  [{ as: 'log' }, [1, 2], [1, 2, 3]],
  [{ as: 'derived', by: 'total' }, 3, 4],
  [{ as: 'text' }, 'the van was not late at 8', 'at 8 it was not late, the van'],
  [{ as: 'log' }, [{ a: 10 }], [{ a: 10 }, { a: 11 }]],
  [{ as: 'free' }, { a: 1, b: [1] }, { c: 2 }],
  [{ as: 'free' }, [1, 2], 'gone'],
]

const BROKEN: readonly (readonly [move: Omit<Move, 'path'>, before: Json, after: Json])[] = [
  [{ as: 'counter' }, 4, 3],
  [{ as: 'counter' }, 4, true],
  [{ as: 'counter' }, 4, 'many'],
  [{ as: 'clock' }, '2026-05-02', '2026-05-01'],
  [{ as: 'clock' }, '2026-05-02', 'later'],
  [{ as: 'gauge' }, 31, 'warm'],
  [{ as: 'gauge' }, '3 kg', '3 m'],
  [{ as: 'gauge' }, 31, null],
  [{ as: 'cursor' }, 'a', ['a', 'b']],
  [{ as: 'done' }, true, false],
  [{ as: 'done' }, false, 'yes'],
  [ORDER, 'driving', 'loading'],
  [ORDER, 'driving', 'lost'],
  [{ as: 'log' }, [1, 2], [2, 1]],
  [{ as: 'derived', by: 'total' }, 3, [4]],
  [{ as: 'text' }, 'the van was not late', 'the van was late'],
  [{ as: 'text' }, 'the van was late', 3],
  [{ as: 'log' }, [1, 2], [1]],
  [{ as: 'log' }, [{ a: 10 }, { a: 12 }], [{ a: 11 }, { a: 12 }]],
]

test('each kind of a declared place accepts what keeps it without a word, and refuses what breaks it, whatever becomes of suspects (JUD-44)', () => {
  assert.equal([...new Set(KEPT.map(([{ as }]) => as))].sort(), [...MOVE_KINDS].sort())
  for (const [move, before, after] of KEPT) {
    const { verdict, findings } = judge(before, after, move, { suspect: 'refuse' })
    assert.equal([verdict, findings], ['accept', []], JSON.stringify([move, before, after]))
  }
  for (const [move, before, after] of BROKEN) {
    const { verdict, findings } = judge(before, after, move)
    assert.is(verdict, 'reject', JSON.stringify([move, before, after]))
    assert.is(findings[0]?.suspect, undefined)
  }
})

test('what moved is not preserved, and what is immutable or never superseded does not move (JUD-44)', () => {
  assert.is(judge(3, 4, { as: 'counter' }).confidence, 0)
  for (const more of [
    { immutable: ['/books/at'] },
    { immutable: ['/books'] },
    { supersede: { never: ['/books/at'] } },
  ]) {
    for (const as of ['counter', 'cursor', 'free'] as const) assert.is(judge(3, 4, { as }, more).verdict, 'reject')
  }
})

test('where the tenant speaks of what moves, a run does not; a state has its order, and nothing else has one (JUD-44)', () => {
  const run: PolicyObject = { moves: [{ path: '/a', as: 'free' }] }
  const moves = (tenant: PolicyObject): unknown => {
    const started = underTenantPolicy(run, tenant)
    return started.ok ? started.policy.moves : started
  }
  assert.equal(moves({ restated: 'off' }), run.moves)
  assert.equal(moves({ moves: [] }), [])
  for (const move of [{ as: 'state' }, { as: 'counter', order: ['a', 'b'] }, { as: 'anything' }]) {
    assert.is(PolicyObject.safeParse({ moves: [{ path: '/a', ...move }] }).success, false)
  }
  assert.is(PolicyObject.safeParse({ base: 'relay', ...run }).success, false)
})

test('with its books declared no innocent step of 25 is refused or suspect under the strict policy, and each spoilt or broken one is refused (JUD-44)', () => {
  for (const trade of TRADES) {
    const policy = resolvePolicy(PolicyObject.parse({ suspect: 'refuse', moves: trade.moves }))
    const figures = (which: Parameters<typeof stepsOf>[1]) =>
      figuresOf(stepsOf(trade, which), policy, ({ kind }) => kind)
    assert.equal(figures('innocent').innocent, { of: 25, refused: 0, suspect: 0, silent: 25 }, trade.name)
    assert.equal(figures('spoilt').spoilt, { of: 22, refused: 22, suspect: 0, silent: 0 }, trade.name)
    assert.equal(figures('broken').spoilt, { of: 22, refused: 22, suspect: 0, silent: 0 }, trade.name)
  }
})

test.run()
