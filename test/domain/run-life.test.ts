import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { decideCompensation } from '../../src/domain/compensation.ts'
import type { Draft } from '../../src/domain/decision.ts'
import { covers } from '../../src/domain/decision.ts'
import { decideManifest, MANIFESTS_MAX_CHARS } from '../../src/domain/manifest.ts'
import { decideComplete, decideFail, decideStart } from '../../src/domain/run-life.ts'
import { digestOf, given, id } from '../support/decider.ts'
import {
  called,
  claimed,
  ended,
  failed,
  inDoubt,
  reserved,
  resumed,
  rollingBack,
  started,
  undoing,
  undone,
} from '../support/run-events.ts'

const life = suite('the decisions that start and end a run')

type Decide = Parameters<ReturnType<typeof given>['when']>[0]
const start =
  (name: string): Decide =>
  (state, env) =>
    decideStart(state, { body: { id: 'r', name } }, env)
const complete: Decide = (state, env) => decideComplete(state, { output: 1 }, env)
const fail: Decide = (state, env) => decideFail(state, { error: { message: 'x' } }, env)

life('the same content takes the run up again under the next fence; other content is refused (RUN-20)', () => {
  given(started())
    .when(start('test'))
    .appends(['RunResumed', { fence: 2 }])
  given(started(), resumed(2))
    .when(start('test'))
    .appends(['RunResumed', { fence: 3 }])
  given(started())
    .when(start('other'))
    .refused('run-exists', { expected: digestOf({ name: 'test' }), actual: digestOf({ name: 'other' }) })
  given(started(), ended('RunCompleted')).when(start('test')).is('as-is')
  given(started(), ended('RunCompleted')).when(start('other')).refused('run-exists')
})

life('nothing that was started is left open by a completion', () => {
  given(started(), ...called(1), claimed(2), failed(2))
    .when(complete)
    .appends(['RunCompleted', { output: 1 }])
  given(started(), claimed(1)).when(complete).refused('open-work').recorded()
  given(started(), claimed(1), inDoubt(1)).when(complete).refused('open-work')
  given(started(), reserved(1, 5))
    .when(complete)
    .refused('open-work', { reservations: [id(1)] })
  given(started(), rollingBack()).when(complete).refused('compensating')
  given(started(), ended('RunFailed')).when(complete).refused('run-ended')
})

life('the refusal of an open end names the first of what is open, and what to do with each kind', () => {
  const calls = [1, 2, 3, 4, 5].map((n) => claimed(n))
  const ofCalls = [`t ${id(1)} (claimed)`, `t ${id(2)} (in-doubt)`, `t ${id(3)} (claimed)`]
  given(started(), ...calls, inDoubt(2), reserved(6, 5))
    .when(complete)
    .because(
      `not everything in the run has ended: settle or resolve the calls ${ofCalls.join(', ')} and 2 more; settle or release the reservation ${id(6)}`,
    )
})

life('work past its deadline: a reservation is charged and is no hindrance, a call is in doubt and is one', () => {
  given(started(), reserved(1, 5)).when(complete, { ms: 70_000 }).appends('ReservationExpired', 'RunCompleted')
  given(started(), claimed(1))
    .when(complete, { ms: 70_000 })
    .refused('open-work', { calls: [{ callId: id(1), tool: 't', status: 'in-doubt' }] })
    .recorded('ToolCallInDoubt')
})

life('a failure lists what was open, in order of claim, and ends what is past its deadline', () => {
  given(
    started(),
    claimed(1),
    claimed(2, { leaseUntil: '2030-01-01T00:00:00.000Z' }),
    claimed(3),
    inDoubt(3),
    reserved(4, 1),
  )
    .when(fail, { ms: 70_000 })
    .appends('ToolCallInDoubt', 'ReservationExpired', ['RunFailed', { openCalls: [id(1), id(2), id(3)] }])
    .leads((state) => assert.is(state.status, 'failed'))
})

life('a run with a call whose result is lost can only go back, until that call is undone', () => {
  const lost: Draft = { type: 'ResultNotRecorded', data: { v: 1, callId: id(1), fence: 1, reason: 'too large' } }
  given(started(), ...called(1), lost)
    .when(complete)
    .refused('result-not-recorded', { calls: [{ callId: id(1), tool: 't' }] })
  given(started(), ...called(1, { scope: 's' }), lost, rollingBack('s'), undoing(2, 1), undone(2, 1))
    .when(complete)
    .appends('RunCompleted')
})

life('an owner that was taken over ends the run in no way', () => {
  const owned = [started(), ...called(1), resumed(2)] as const
  const older = { runFence: 1 }
  given(...owned)
    .when((state, env) => decideComplete(state, older, env))
    .refused('run-taken-over', { expected: 1, actual: 2 })
  given(...owned)
    .when((state, env) => decideFail(state, { error: { message: 'x' }, ...older }, env))
    .refused('run-taken-over')
  given(...owned)
    .when((state, env) => decideCompensation(state, { reason: 'x', ...older }, env))
    .refused('run-taken-over')
  given(...owned)
    .when((state, env) => decideCompensation(state, { reason: 'x', runFence: 2 }, env))
    .appends('CompensationStarted')
  given(...owned, rollingBack())
    .when((state, env) => decideCompensation(state, { reason: 'x', ...older }, env))
    .is('as-is')
})

life('a manifest that says the same again adds nothing', () => {
  const manifest: Decide = (state, env) => decideManifest(state, { agent: 'ann', writes: ['x'] }, env)
  const decided = given(started()).when(manifest)
  decided.appends(['ManifestRegistered', { agent: 'ann', hash: digestOf({ writes: ['x'] }) }])
  given(started(), {
    type: 'ManifestRegistered',
    data: { v: 1, agent: 'ann', manifest: { writes: ['x'] }, hash: digestOf({ writes: ['x'] }) },
  })
    .when(manifest)
    .is('as-is')
  given(started(), ended('RunFailed')).when(manifest).refused('run-ended')
})

life(
  'the manifests of a run have a bound together, whoever registers how many; one may always become smaller (F117)',
  () => {
    const task = 'x'.repeat(16_000)
    const many = Math.floor(MANIFESTS_MAX_CHARS / (task.length + 20))
    const registered = Array.from({ length: many }, (_, n) => ({
      type: 'ManifestRegistered' as const,
      data: { v: 1 as const, agent: `a${n}`, manifest: { task }, hash: digestOf({ task }) },
    }))
    const full = given(started(), ...registered)
    full
      .when((state, env) => decideManifest(state, { agent: 'new', task }, env))
      .refused('manifest-invalid', { limit: MANIFESTS_MAX_CHARS })
    full
      .when((state, env) =>
        decideManifest(state, { agent: 'a0', task: `${task}${'y'.repeat(384)}`, writes: [task] }, env),
      )
      .refused('manifest-invalid')
    full
      .when((state, env) => decideManifest(state, { agent: 'a0', task: 'short' }, env))
      .appends(['ManifestRegistered', { agent: 'a0' }])
  },
)

life('a scope covers itself and what lies below it', () => {
  const table: readonly [string | undefined, string | undefined, boolean][] = [
    [undefined, undefined, true],
    [undefined, 'a', true],
    ['a', undefined, false],
    ['a', 'a', true],
    ['a', 'a/b', true],
    ['a', 'ab', false],
    ['a/b', 'a', false],
  ]
  for (const [scope, inner, covered] of table) assert.is(covers(scope, inner), covered, `${scope} > ${inner}`)
})

life.run()
