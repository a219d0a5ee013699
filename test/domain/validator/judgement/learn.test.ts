import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { PolicyObject } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { Learner, OBSERVATIONS_MIN, RUNS_MIN } from '../../../../src/domain/validator/declared/learn.ts'
import { stepsOf } from './bookkeeping/steps.ts'
import { TRADES } from './bookkeeping/trades.ts'
import { figuresOf } from './outcomes.ts'

const test = suite('judgement: learned places that move')

type Values = (step: number) => Json

/** What is proposed for `/at` after so many runs of so many steps. */
function learned(values: Values, { runs = 4, steps = 10 } = {}): readonly unknown[] {
  const learner = new Learner()
  for (let run = 0; run < runs; run++) {
    for (let step = 0; step < steps; step++) {
      const [before, after] = [{ at: values(step) }, { at: values(step + 1) }]
      learner.observe({ run: `r${run}`, before, after })
    }
  }
  return learner.proposals().map(({ path, as, order }) => [path, as, ...(order ?? [])])
}

const WORDS = ['new', 'packed', 'sent', 'done']

test('the narrowest kind that each change keeps is proposed, never free (JUD-47)', () => {
  const cases: readonly (readonly [string, Values])[] = [
    ['counter', (step) => step * 2],
    ['gauge', (step) => (step * 7) % 5],
    ['clock', (step) => new Date(Date.UTC(2026, 1, step + 1)).toISOString()],
    ['cursor', (step) => `place ${(step * 37) % 23}`],
    ['done', (step) => step > 4],
    ['log', (step) => Array.from({ length: step }, (_, i) => ({ i }))],
  ]
  for (const [as, values] of cases) assert.equal(learned(values), [['/at', as]], as)
  const forward = learned((step) => WORDS[Math.min(step, WORDS.length - 1)] ?? '', { runs: 8, steps: 3 })
  assert.equal(forward, [['/at', 'state', ...WORDS]])
  assert.equal(
    learned((step) => WORDS[step % WORDS.length] ?? ''),
    [['/at', 'cursor']],
  )
  assert.equal(
    learned((step) => (step % 2 === 0 ? { a: step } : [step])),
    [],
  )
})

test('nothing is proposed of fewer changes, or of fewer runs, than are asked for (JUD-47)', () => {
  const rising: Values = (step) => step
  assert.equal(learned(rising, { runs: RUNS_MIN - 1, steps: OBSERVATIONS_MIN }), [])
  assert.equal(learned(rising, { runs: RUNS_MIN, steps: Math.ceil(OBSERVATIONS_MIN / RUNS_MIN) - 1 }), [])
  assert.equal(learned(rising, { runs: RUNS_MIN, steps: Math.ceil(OBSERVATIONS_MIN / RUNS_MIN) }), [['/at', 'counter']])
})

test('what was superseded teaches nothing, and members of lists and of maps are learned together (JUD-47)', () => {
  const learner = new Learner()
  const beds = (step: number): JsonObject => ({
    list: [{ read: (step * 3) % 7 }, { read: (step * 5) % 7 }],
    map: { east: { n: step }, west: { n: 1 } },
    price: step,
  })
  for (let run = 0; run < RUNS_MIN; run++) {
    for (let step = 0; step < OBSERVATIONS_MIN; step++) {
      learner.observe({ run: `${run}`, before: beds(step), after: beds(step + 1), superseded: ['/price'] })
    }
  }
  assert.equal(
    learner.proposals().map(({ path, as }) => [path, as]),
    [
      ['/list/*/read', 'gauge'],
      ['/map/*/n', 'counter'],
    ],
  )
})

test('a policy that was learned from runs of each trade refuses no innocent step of another one but of a queue, and each spoilt one (JUD-47)', () => {
  for (const trade of TRADES) {
    const learner = new Learner()
    for (const run of ['a', 'b', 'c', 'd', 'e']) {
      for (const { before, after } of stepsOf(trade, 'innocent')) learner.observe({ run, before, after })
    }
    const moves = learner.proposals().map(({ path, as, order }) => ({ path, as, ...(order && { order: [...order] }) }))
    const policy = resolvePolicy(PolicyObject.parse({ suspect: 'refuse', moves }))
    const figures = (which: Parameters<typeof stepsOf>[1]) =>
      figuresOf(stepsOf(trade, which), policy, ({ kind }) => kind)
    const { innocent } = figures('innocent')
    // Members leave the head of the baker's queue at each step: no kind says that.
    assert.equal([innocent.refused, innocent.of], [trade.name === 'bakery' ? 25 : 0, 25], trade.name)
    assert.equal(figures('spoilt').spoilt.refused, 22, trade.name)
    for (const { path, as } of moves) {
      const declared = trade.moves.find((each) => each.path === path)
      const isWide = as === 'cursor' && !['cursor', 'gauge'].includes(declared?.as ?? 'cursor')
      assert.is(isWide, false, `${trade.name} ${path} ${as}`)
    }
  }
})

test.run()
