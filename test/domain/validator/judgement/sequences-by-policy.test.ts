/**
 * Runs of 25 steps in ten trades under each way to run the validator: silent, suspect or refused, of the innocent steps, of their twins
 * with one leaf spoilt at a place that nobody declared, and of those that break a declared kind.
 */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Move } from '../../../../schemas/place-policy.ts'
import { PolicyObject, type ResolvedPolicy } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { Learner } from '../../../../src/domain/validator/declared/learn.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { FRAMEWORKS } from './bookkeeping/frameworks.ts'
import { STEPS, stepsOf, type Trade } from './bookkeeping/steps.ts'
import { TRADES } from './bookkeeping/trades.ts'
import { type Counts, figuresOf } from './outcomes.ts'

const test = suite('judgement: sequences by policy')

const WHICH = ['innocent', 'spoilt', 'broken'] as const
type Row = Readonly<Record<(typeof WHICH)[number], Counts>>

const strictWith = (more: object): ResolvedPolicy => resolvePolicy(PolicyObject.parse({ suspect: 'refuse', ...more }))

function learned(trade: Trade): ResolvedPolicy {
  const learner = new Learner()
  for (const run of ['a', 'b', 'c', 'd', 'e']) {
    for (const { before, after } of stepsOf(trade, 'innocent')) learner.observe({ run, before, after })
  }
  const moves = learner.proposals().map(({ path, as, order }) => ({ path, as, ...(order && { order: [...order] }) }))
  return strictWith({ moves })
}

const rowOf = (trade: Trade, policy: ResolvedPolicy): Row => {
  const counts = (which: (typeof WHICH)[number]): Counts => {
    const { innocent, spoilt } = figuresOf(stepsOf(trade, which), policy, ({ why }) => why)
    return which === 'innocent' ? innocent : spoilt
  }
  return { innocent: counts('innocent'), spoilt: counts('spoilt'), broken: counts('broken') }
}

const framework = FRAMEWORKS.map((each) => ({ ...each, moves: [], broken: each.spoilt }))

/** Each way with the most innocent steps of 25 that may be refused in a trade, and the share of spoilt ones that may pass in silence. */
const WAYS: readonly {
  readonly name: string
  readonly trades: readonly Trade[]
  readonly policy: (trade: Trade) => ResolvedPolicy
  readonly refusedMax: number
  readonly silentMax: number
}[] = [
  { name: 'default', trades: TRADES, policy: () => resolvePolicy(), refusedMax: 0, silentMax: 0 },
  { name: 'strict, bare', trades: TRADES, policy: () => strictWith({}), refusedMax: STEPS, silentMax: 0 },
  {
    name: 'strict, declared',
    trades: TRADES,
    policy: ({ moves }) => strictWith({ moves }),
    refusedMax: 0,
    silentMax: 0,
  },
  // Members leave the head of the baker's queue at each step: no kind says that.
  {
    name: 'strict, learned',
    trades: TRADES.filter(({ name }) => name !== 'bakery'),
    policy: learned,
    refusedMax: 0,
    silentMax: 0.05,
  },
  {
    name: 'strict, preset',
    trades: framework,
    policy: ({ name }) => strictWith({ preset: [name] }),
    refusedMax: 0,
    silentMax: 0,
  },
]

const printed = ({ refused, suspect, silent }: Counts): string => `${refused}/${suspect}/${silent}`.padStart(9)

for (const { name, trades, policy, refusedMax, silentMax } of WAYS) {
  test(`${name}: innocent steps refused, and spoilt or broken ones silent, within the bounds (JUD-38, JUD-44)`, () => {
    console.log(`${name}: refused/suspect/silent of innocent, spoilt, broken`)
    for (const trade of trades) {
      const row = rowOf(trade, policy(trade))
      console.log(`${trade.name.padEnd(24)}${WHICH.map((which) => printed(row[which])).join(' ')}`)
      assert.ok(row.innocent.refused <= refusedMax, `${trade.name}: ${row.innocent.refused} innocent refused`)
      for (const which of ['spoilt', 'broken'] as const) {
        const { silent, of } = row[which]
        assert.ok(silent <= silentMax * of, `${trade.name}: ${silent} of ${of} ${which} silent`)
      }
    }
  })
}

/** An agent that takes what its refusals offer declares each place once, narrowly: what rises at first is taken for a counter, and refused when it falls. */
const STICKY_REFUSED_MAX: ReadonlyMap<string, number> = new Map([
  // Members leave the head of the queue at each step: no kind says that.
  ['bakery', STEPS],
  ['dialysis', 9],
])
const STICKY_REFUSED_USUALLY = 2

function refusedWhileDeclaring(trade: Trade): { readonly refused: number; readonly passed: number } {
  const given = new Set(Object.keys(trade.given))
  const establishedBy = ([key = '']: readonly string[]): string => (given.has(key) ? 'user' : 'agent')
  const base = { policy: strictWith({}), agent: 'agent', establishedBy }
  let inForce: readonly Move[] = []
  let refused = 0
  for (const { before, after } of stepsOf(trade, 'innocent')) {
    const { verdict, findings } = validateHandoff({ ...base, before, after, inForce })
    if (verdict === 'accept') continue
    refused += 1
    const offers = findings.flatMap(({ declare }) => (declare === undefined ? [] : [declare]))
    inForce = [...inForce, ...offers.map(({ path, as }) => ({ path, as }) as Move)]
  }
  const passed = stepsOf(trade, 'spoilt').filter(
    ({ before, after }) => validateHandoff({ ...base, before, after, inForce }).verdict === 'accept',
  )
  return { refused, passed: passed.length }
}

test('strict, with sticky declarations: few innocent steps are refused, and no spoilt one passes (JUD-45)', () => {
  console.log('strict, with sticky declarations: innocent refused of 25, spoilt accepted of 22')
  for (const trade of TRADES) {
    const { refused, passed } = refusedWhileDeclaring(trade)
    console.log(`${trade.name.padEnd(24)}${refused} ${passed}`)
    assert.is(passed, 0, trade.name)
    const most = STICKY_REFUSED_MAX.get(trade.name) ?? STICKY_REFUSED_USUALLY
    assert.ok(refused <= most, `${trade.name}: ${refused} refused`)
  }
})

test.run()
