import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { RecordedEvent } from '../../projections/projection.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { Policy } from '../../schemas/policy.ts'
import { resolvePolicy } from '../../schemas/resolve-policy.ts'
import { dumpEvidence, loadEvidence } from '../../src/domain/validator/evidence.ts'
import { validateHandoff } from '../../src/domain/validator/validate.ts'
import { RunAggregate } from '../../src/ledger/write/run-aggregate.ts'
import type { AppendResult } from '../../src/store/event-store.ts'

const hotRun = suite('cached run')
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

function started(policy: Policy): RecordedEvent {
  return event(0, 'RunStarted', { name: 'r', tags: [], policy: resolvePolicy(policy), requestDigest: DIGEST })
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

hotRun('what was handed over is no evidence, and what tools answered is; a kept fold knows the same (JUD-20)', () => {
  const run = new RunAggregate('acme', 'r')
  run.fold(started('default'))
  run.fold(accepted(1, { mode: 'replace', payload: { notes: 'the certificate is worth 4711' } }))
  const result = { order_id: 'A-1001', total: 120 }
  const call = { callId: 'c', key: 'k', tool: 't', phase: 'forward', fence: 1 }
  const lease = { argsDigest: DIGEST, onUnknown: 'ask', generation: 1, attempt: 1, leaseMs: 1, leaseUntil: '' }
  run.fold(event(2, 'ToolCallClaimed', { ...call, ...lease, args: {} }))
  run.fold(event(3, 'ToolCallSucceeded', { ...call, result }))
  const waiting = run.bytes
  for (const evidence of [run.evidence, loadEvidence(JSON.parse(JSON.stringify(dumpEvidence(run.evidence))))]) {
    const judge = (after: JsonObject) =>
      validateHandoff({ before: {}, after, evidence, policy: resolvePolicy({ ungrounded: 'reject' }) })
    assert.equal(
      judge({ facts: { worth: 4711 } }).findings.map(({ rule }) => rule),
      ['ungrounded'],
    )
    assert.equal(judge({ facts: { worth: 120 } }).findings, [])
    const [finding] = judge({ orders: [{ ...result, total: 121 }] }).findings
    assert.equal([finding?.rule, finding?.source], ['disagrees-with-tool', { revision: 3 }])
  }
  const again = loadEvidence(JSON.parse(JSON.stringify(dumpEvidence(run.evidence))))
  assert.is(JSON.stringify(dumpEvidence(again)), JSON.stringify(dumpEvidence(run.evidence)))
  assert.ok(run.bytes > waiting, 'what is indexed is weighed')
})

hotRun(
  'a run whose append failed is dead before it seems idle: nothing is handed over onto what was never written',
  async () => {
    for (const failure of ['conflict', 'error'] as const) {
      const run = new RunAggregate('acme', 'r')
      let fail = (): void => undefined
      const append = (): Promise<AppendResult> =>
        new Promise((resolve, reject) => {
          fail = () => (failure === 'error' ? reject(new Error('the disk')) : resolve({ kind: 'conflict', actual: 7 }))
        })
      const appending = run.append({ append }, { stream: run.stream, expectedRevision: -1, records: [] })
      const ended = appending.catch(() => undefined)
      assert.not(run.idle)
      fail()
      for (let turn = 0; turn < 20; turn += 1) {
        assert.ok(!run.idle || run.dead, `${failure}, ${turn}`)
        await undefined
      }
      await ended
      assert.ok(run.idle && run.dead, failure)
      assert.not(await run.durable())
    }
  },
)

hotRun.run()
