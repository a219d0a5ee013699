import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import type { PostEnvelope } from '../../schemas/requests.ts'
import { resolvePolicy } from '../../schemas/resolve-policy.ts'
import type { Decision, Draft } from '../../src/domain/decision.ts'
import { decideHandoff } from '../../src/domain/handoff.ts'
import { decideRollback } from '../../src/domain/rewind.ts'
import { finish, isYielding, type Yielding } from '../../src/domain/yielding.ts'
import { digestAt, digestOf, given, id } from '../support/decider.ts'
import { accepted, called, ended, resumed, rollingBack, started } from '../support/run-events.ts'

const handoffs = suite('the decision on a handoff')

const decided = (made: Decision | Yielding<Decision>): Decision => (isYielding(made) ? finish(made) : made)
type Decide = Parameters<ReturnType<typeof given>['when']>[0]
const hand =
  (payload: JsonObject, more: Partial<PostEnvelope> = {}): Decide =>
  (state, env) =>
    decided(decideHandoff(state, { agent: 'ann', payload, ...more }, env))
const signed =
  (fault?: string): Decide =>
  (state, env) =>
    decided(
      decideHandoff(
        state,
        { agent: 'ann', payload: {}, parent: digestAt(0), signature: 's' },
        { ...env, signatureFault: () => fault },
      ),
    )
const rollBack =
  (contexts: Record<number, JsonObject>, toStep?: number): Decide =>
  (state) =>
    decideRollback(state, {
      reason: 'x',
      ...(toStep === undefined ? {} : { toStep }),
      contextAt: (revision) => contexts[revision],
    })

const facts = { facts: ['one'] }
const unguarded = started({ policy: resolvePolicy({ ungrounded: 'off', protect: [] }) })

handoffs(
  "an accepted handoff is the next step, with its context's digest, and the snapshot that a run goes back to",
  () => {
    given(started())
      .when(hand(facts))
      .appends([
        'EnvelopeAccepted',
        { v: 2, step: 1, agent: 'ann', mode: 'replace', parent: digestAt(0), context: digestOf(facts) },
      ])
      .leads(({ snapshot }) =>
        assert.equal(snapshot, { step: 1, revision: 1, contextDigest: digestOf(facts), context: facts }),
      )
  },
)

handoffs('a refused handoff is kept whole, and takes nothing back that was accepted (JUD-28)', () => {
  const now = { fromStep: 2, toStep: 2, snapshot: 2, cause: 'contradiction', context: digestOf({ ...facts, n: 2 }) }
  given(unguarded, accepted(1, facts), accepted(2, { ...facts, n: 2 }), ...called(1))
    .when(hand({ other: 1 }, { tokens: 7 }))
    .appends(
      ['EnvelopeRejected', { payload: { other: 1 }, tokens: 7, findingsTotal: 1, parent: digestAt(2) }],
      ['RunRewound', { ...now, callsSince: [id(1)] }],
    )
    .leads((state) => assert.equal([state.context, state.step, state.lineage.length], [{ ...facts, n: 2 }, 2, 3]))
})

handoffs(
  'in a run that 0.1.0 began, a refusal takes nothing back from now on, and what it took back then stays so',
  () => {
    const first = (step: number, payload: JsonObject): Draft => accepted(step, payload, { v: 1 })
    const [two, empty] = [{ ...facts, n: 2 }, {}]
    const then: Draft = {
      type: 'RunRewound',
      data: {
        v: 1,
        fromStep: 2,
        toStep: 0,
        snapshot: 0,
        cause: 'contradiction',
        context: digestOf(empty),
        callsSince: [],
      },
    }
    const events = [unguarded, first(1, facts), first(2, two)] as const
    given(...events)
      .when(hand({ other: 1 }))
      .appends('EnvelopeRejected', ['RunRewound', { fromStep: 2, toStep: 2, snapshot: 2, context: digestOf(two) }])
      .leads(({ context, lineage, snapshot }) => assert.equal([context, lineage.length, snapshot.step], [two, 3, 0]))
    const taken = given(...events, then).state()
    assert.equal([taken.context, taken.contextDigest, taken.lineage.length], [empty, digestOf(empty), 1])
  },
)

handoffs('a rewind names the calls claimed since the step it goes back to, and no earlier ones', () => {
  const events = [unguarded, ...called(1), accepted(1, {}), accepted(2, facts), ...called(2)] as const
  const since = (decide: Decide): unknown => {
    let named: unknown
    given(...events).when((state, env) => {
      const decision = decide(state, env)
      const rewound = decision.kind === 'append' ? decision.drafts.at(-1) : undefined
      named = rewound?.type === 'RunRewound' && [rewound.data.toStep, rewound.data.callsSince]
      return decision
    })
    return named
  }
  assert.equal(since(rollBack({ 3: {} })), [1, [id(2)]])
  assert.equal(since(rollBack({ 0: {} }, 0)), [0, [id(1), id(2)]])
})

handoffs('what it builds on is the established event, not the last one', () => {
  const events = [started(), accepted(1, facts), ...called(1)] as const
  given(...events)
    .when(hand(facts, { parent: digestAt(1) }))
    .appends(['EnvelopeAccepted', { step: 2 }])
  given(...events)
    .when(hand(facts, { parent: digestAt(3) }))
    .refused('stale-parent', { expected: digestAt(3), actual: digestAt(1) })
  given(...events)
    .when(hand(facts, { parent: digestAt(0) }))
    .refused('stale-parent')
})

handoffs('an ended run, a newer owner and a rollback of the run refuse it', () => {
  given(started(), ended('RunFailed')).when(hand(facts)).refused('run-ended')
  given(started(), resumed(2))
    .when(hand(facts, { runFence: 1 }))
    .refused('run-taken-over')
  given(started(), rollingBack()).when(hand(facts)).refused('compensating')
  given(started(), rollingBack('a')).when(hand(facts)).appends('EnvelopeAccepted')
})

handoffs('a bad or used signature is refused on record; one without a parent is only refused', () => {
  given(started())
    .when(signed())
    .appends(['EnvelopeAccepted', { signature: 's' }])
  given(started()).when(signed('no key')).refused('signature-invalid').recorded('RequestRefused')
  given(started(), accepted(1, {}, { signature: 's' }))
    .when(hand({}, { parent: digestAt(1), signature: 's' }))
    .refused('signature-reused')
    .recorded('RequestRefused')
  given(started())
    .when(hand({}, { signature: 's' }))
    .refused('parent-required')
    .recorded()
})

handoffs('a context over 512 KiB is refused, whatever mode made it (REC-15)', () => {
  const half = 'x'.repeat(300_000)
  const events = [started(), accepted(1, { a: half })] as const
  for (const mode of ['merge', 'extend'] as const) {
    given(...events)
      .when(hand({ b: half }, { mode }))
      .refused('context-too-large', { limit: 524_288, actual: 600_015 })
  }
  given(...events)
    .when(hand({ a: half }))
    .appends('EnvelopeAccepted')
})

handoffs('a rollback by hand needs the context it restores, which is then on record', () => {
  const events = [started(), accepted(1, facts), accepted(2, { ...facts, n: 2 })] as const
  given(...events)
    .when(rollBack({}))
    .is('needs-context')
  given(...events)
    .when(rollBack({ 1: facts }))
    .appends([
      'RunRewound',
      {
        fromStep: 2,
        toStep: 1,
        snapshot: 1,
        cause: 'rollback',
        reason: 'x',
        restored: facts,
        context: digestOf(facts),
      },
    ])
    .leads((state) => assert.equal([state.context, state.step, state.lineage.at(-1)?.step], [facts, 2, 1]))
  given(...events)
    .when(rollBack({ 0: {} }, 0))
    .appends(['RunRewound', { toStep: 0 }])
  given(...events)
    .when(rollBack({}, 2))
    .refused('unknown-step', { steps: [0, 1] })
  given(...events)
    .when(rollBack({}, 9))
    .refused('unknown-step')
  given(started()).when(rollBack({})).refused('nothing-to-roll-back')
})

handoffs.run()
