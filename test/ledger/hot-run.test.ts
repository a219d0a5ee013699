import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { RecordedEvent } from '../../projections/projection.ts'
import type { Json, JsonObject } from '../../schemas/json.ts'
import { resolvePolicy } from '../../schemas/resolve-policy.ts'
import { addEvidence, dumpEvidence, emptyEvidence } from '../../src/domain/validator/evidence.ts'
import { HotRun } from '../../src/ledger/hot-run.ts'

const hotRun = suite('hot run')
const DIGEST = `sha256:${'0'.repeat(64)}`

type Mode = 'replace' | 'merge' | 'extend'
interface Step {
  readonly mode: Mode
  readonly payload: JsonObject
}

function event(revision: number, type: string, data: object): RecordedEvent {
  const header = {
    revision,
    stream: 'run-acme.r',
    tenant: 'acme',
    actor: 'alice',
    time: '2024-01-01T00:00:00.000Z',
    type,
  }
  return { type, data: { v: 1, ...data }, header } as unknown as RecordedEvent
}

function started(): RecordedEvent {
  return event(0, 'RunStarted', { name: 'r', tags: [], policy: resolvePolicy(), requestDigest: DIGEST })
}

function accepted(step: number, { mode, payload }: Step): RecordedEvent {
  return event(step, 'EnvelopeAccepted', {
    step,
    agent: 'a',
    mode,
    payload,
    parent: DIGEST,
    context: DIGEST,
    confidence: 1,
  })
}

function rewound(revision: number, restored: JsonObject): RecordedEvent {
  const place = { fromStep: 1, toStep: 0, snapshot: 0, cause: 'rollback', reason: 'x', context: DIGEST, callsSince: [] }
  return event(revision, 'RunRewound', { ...place, restored })
}

const leaf = fc.oneof(
  fc.constantFrom<Json>('Apple', ' apple ', 'Google', 1, 2.5, true, null),
  fc.string({ maxLength: 4 }),
)
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'constructor', 'entities'), tie('value'), { maxKeys: 3 }),
  ),
}))
const payload = fc.dictionary(fc.constantFrom('entities', 'facts', 'toString', 'notes'), value, { maxKeys: 4 })
const steps = fc.array(
  fc.record({
    mode: fc.constantFrom<Mode>('replace', 'merge', 'extend'),
    payload: payload as fc.Arbitrary<JsonObject>,
  }),
  { maxLength: 8 },
)

hotRun('the evidence of a run is every payload that was accepted, also where most of it was established before', () => {
  fc.assert(
    fc.property(steps, fc.boolean(), (given, rollback) => {
      const run = new HotRun('acme', 'r')
      run.fold(started())
      const every = emptyEvidence()
      given.forEach((step, i) => {
        // A rollback in between gives back a context whose payloads were folded before.
        if (rollback && i === 3) run.fold(rewound(i, {}))
        run.fold(accepted(i + 1, step))
        addEvidence(every, step.payload)
      })
      const sorted = (evidence: typeof every) => {
        const { numbers, texts } = dumpEvidence(evidence)
        return { numbers: [...numbers].sort(), texts: [...texts].sort() }
      }
      assert.equal(sorted(run.evidence), sorted(every))
    }),
  )
})

hotRun.run()
