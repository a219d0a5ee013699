import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { parsePointer } from '../../../../schemas/json-pointer.ts'
import { type Policy, PolicyObject, ResolvedPolicy } from '../../../../schemas/policy.ts'
import { PRESETS } from '../../../../schemas/presets.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { PRESET_NAMES, type PresetName } from '../../../../schemas/value-forms.ts'
import { underTenantPolicy } from '../../../../src/domain/validator/policy/with-tenant.ts'
import { type Verdict, validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { BOOKKEEPING, FRAMEWORKS } from './bookkeeping/frameworks.ts'
import { stepsOf } from './bookkeeping/steps.ts'
import { figuresOf } from './outcomes.ts'

const test = suite('judgement: presets')

type Move = NonNullable<PolicyObject['moves']>[number]

/** Nothing is prose and free by its key alone: what a row lets move moves by that row. */
const STRICT: PolicyObject = { suspect: 'refuse', freeOnly: [] }

const GIVEN: JsonObject = { order: { id: 'A-1001', qty: 6 } }

function contextWith(path: string, value: Json | undefined): JsonObject {
  const nest = (tokens: readonly string[]): JsonObject => {
    const [first = '', ...rest] = tokens
    const key = first === '*' ? 'm1' : first
    if (rest.length > 0) return { [key]: nest(rest) }
    return value === undefined ? { beside: 'kept' } : { beside: 'kept', [key]: value }
  }
  return { ...GIVEN, ...nest(parsePointer(path) ?? []) }
}

/** A change that the kind permits, and one of another kind. */
const PROBES = {
  free: [{ made: 41, of: 'brass' }, undefined, 0],
  cursor: ['north-17', 'west-3', ['west-3']],
  counter: [31, 42, 7],
  clock: ['2026-05-01T08:00:00Z', '2026-05-01T09:00:00Z', '2026-04-01T09:00:00Z'],
  text: ['order A-1001 is due', 'due is order A-1001', 'order A-1001 is not due'],
} satisfies Partial<Record<Move['as'], readonly [before: Json, after: Json | undefined, broken: Json]>>

function isProbed(as: Move['as']): as is keyof typeof PROBES {
  return Object.hasOwn(PROBES, as)
}

function judged(policy: Policy, path: string, [before, after]: readonly [Json, Json | undefined]): Verdict {
  const [was, is] = [contextWith(path, before), contextWith(path, after)]
  return validateHandoff({ before: was, after: is, policy: resolvePolicy(policy) })
}

test('each preset names the places that its framework keeps for itself: each of them moves under the strict policy by its row alone (JUD-70)', () => {
  for (const name of PRESET_NAMES) {
    const spelt = BOOKKEEPING[name].trim().split(/\s+/)
    assert.equal(
      PRESETS[name].map(({ path }) => path),
      spelt,
      name,
    )
    assert.is(new Set(spelt).size, spelt.length)
    for (const { path, as } of PRESETS[name]) {
      assert.ok(isProbed(as), as)
      const [before, after, broken] = PROBES[as]
      const moved = judged({ ...STRICT, preset: [name] }, path, [before, after])
      assert.equal([moved.verdict, moved.findings], ['accept', []], path)
      assert.is(judged(STRICT, path, [before, after]).verdict, 'reject', `${path} moves without its row`)
      if (as !== 'free') assert.is(judged({ preset: [name] }, path, [before, broken]).verdict, 'reject', path)
    }
  }
})

test('no preset frees a fact: what stands beside a place of its rows stays (JUD-70)', () => {
  const names = ['name', 'id', 'type', 'files', 'task', 'output', 'content', 'runtimeContext', 'pydantic', 'json_dict']
  for (const preset of PRESET_NAMES) {
    const beside = PRESETS[preset].map(({ path }) => `${path}_of_order`)
    for (const path of [...beside, ...names.map((name) => `/${name}`)]) {
      for (const change of [
        ['Bern', 'Basel'],
        [6, 5],
        [{ a: 1 }, undefined],
      ] as const) {
        assert.is(judged({ ...STRICT, preset: [preset] }, path, change).verdict, 'reject', `${preset} ${path}`)
      }
    }
  }
})

test('25 steps of the bookkeeping of each framework pass without a word under the strict policy, and a twin with one leaf spoilt is refused (JUD-70)', () => {
  for (const framework of FRAMEWORKS) {
    const trade = { ...framework, moves: [], broken: [] }
    const figures = (which: 'innocent' | 'spoilt', policy: PolicyObject) =>
      figuresOf(stepsOf(trade, which), resolvePolicy(PolicyObject.parse(policy)), ({ why }) => why)
    for (const strict of [STRICT, { suspect: 'refuse' } as const]) {
      const policy = { ...strict, preset: [framework.name] }
      const innocent = figures('innocent', policy).innocent
      assert.equal(innocent, { of: 25, refused: 0, suspect: 0, silent: 25 }, framework.name)
      const { spoilt, groups } = figures('spoilt', policy)
      const missed = [...groups].filter(([, { refused }]) => refused === 0)
      assert.equal([spoilt.of, spoilt.refused, missed], [22, 22, []], framework.name)
      assert.is(figures('innocent', strict).innocent.refused, 25, framework.name)
    }
  }
})

test('what the policy itself names counts more than a preset: protect, critical keys, immutable and never, and its own word about a place (JUD-70)', () => {
  const under = (more: PolicyObject, path: string, change: readonly [Json, Json]): string =>
    judged({ ...STRICT, preset: ['langgraph', 'autogen'], ...more }, path, change).verdict
  const freed = [{ a: 1 }, { a: 2 }] as const
  assert.is(under({}, '/todos', freed), 'accept')
  const words: readonly PolicyObject[] = [
    { protect: ['todos'] },
    { criticalKeys: ['todos'] },
    { immutable: ['/todos'] },
    { immutable: ['/*/a'] },
    { supersede: { never: ['/todos/a'] } },
    { moves: [{ path: '/todos', as: 'log' }] },
    { moves: [{ path: '/todos', as: 'cursor' }] },
    { moves: [{ path: '/todos/*', as: 'done' }] },
    { monotonic: { '/todos/a': 'down' } },
    { tolerance: { '/todos/*': { absolute: 0.1 } } },
  ]
  for (const more of words) assert.is(under(more, '/todos', freed), 'reject', JSON.stringify(more))
  assert.is(under({ criticalKeys: ['todos'] }, '/values/todos', [3, 4]), 'reject')
  const rewritten = ['due: A-1001', 'A-1001 is due'] as const
  assert.is(under({}, '/facts', rewritten), 'accept')
  assert.is(under({ criticalKeys: ['facts'] }, '/facts', rewritten), 'reject')
})

test('a policy in force is recorded with the rows of its presets; unknown presets are refused with the known ones (JUD-70)', () => {
  const policy = resolvePolicy({ preset: [...PRESET_NAMES], moves: [{ path: '/todos', as: 'counter' }] })
  assert.equal(ResolvedPolicy.parse(policy), policy)
  assert.equal(policy.moves?.[0], { path: '/todos', as: 'counter' })
  assert.is(policy.moves?.filter(({ path }) => path === '/todos').length, 1)
  assert.equal(resolvePolicy({ preset: ['crewai'] }).moves, [...PRESETS.crewai])
  assert.is('moves' in resolvePolicy({}), false)
  const refused = PolicyObject.safeParse({ preset: ['langchain'] })
  assert.match(refused.error?.issues[0]?.message ?? '', PRESET_NAMES.join(', '))
  assert.is(PolicyObject.safeParse({ base: 'relay', preset: ['crewai'] }).success, false)
})

test("where the tenant speaks of what moves, by moves or by a preset, a run's presets count for nothing (JUD-70)", () => {
  const moves = (run: PolicyObject, tenant: PolicyObject): readonly string[] => {
    const started = underTenantPolicy(run, tenant)
    return (started.ok ? (started.policy.moves ?? []) : []).map(({ path }) => path)
  }
  const of = (name: PresetName) => PRESETS[name].map(({ path }) => path)
  assert.equal(moves({ preset: ['crewai'] }, { restated: 'off' }), of('crewai'))
  assert.equal(moves({ preset: ['crewai'] }, { moves: [] }), [])
  assert.equal(moves({ moves: [{ path: '/a', as: 'free' }] }, { preset: ['crewai'] }), of('crewai'))
  assert.equal(moves({ preset: ['crewai'] }, { criticalKeys: ['token_usage'] }).includes('/token_usage'), false)
})

test.run()
