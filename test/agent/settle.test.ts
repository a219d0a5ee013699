import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { LedgerErrorCode } from '../../schemas/error-code.ts'
import { backoffMs } from '../../src/agent/calls/backoff.ts'
import { underLease } from '../../src/agent/calls/lease.ts'
import { recordable } from '../../src/agent/calls/recordable.ts'
import { settleSuccess } from '../../src/agent/calls/settle.ts'
import { OutcomeNotRecorded } from '../../src/agent/errors.ts'
import type { Connection, Reply } from '../../src/agent/runtime/connection.ts'
import type { Command } from '../../src/client/commands.ts'
import { UnreachableError } from '../../src/client/errors.ts'
import { eventually } from '../support/within.ts'
import { rejection } from './homes.ts'

const settling = suite('leases and outcomes')

const claimed = { callId: 'c', fence: 3, leaseMs: 6, attempt: 1, claimedAt: '2026-01-01T00:00:00.000Z' }

/** A ledger that answers as told, and notes what it was asked. */
function told(...answers: (Reply | Error)[]) {
  const received: { command: Command; key: string | undefined }[] = []
  const connection = {
    place: 'test',
    execute: async (_: string, command: Command, options?: { idempotencyKey?: string }) => {
      received.push({ command, key: options?.idempotencyKey })
      const answer = answers.length > 1 ? answers.shift() : answers[0]
      if (answer === undefined || answer instanceof Error) throw answer
      return answer
    },
  } as unknown as Connection
  return { received, connection }
}

const done: Reply = { ok: true, created: true, body: { leaseMs: 12 } }
const gone = new UnreachableError('gone')
const refused = (code: LedgerErrorCode): Reply => ({ ok: false, problem: { code, detail: code, evidence: {} } })

settling('an outcome is sent until the ledger has it, under one key of call and fence', async () => {
  const { received, connection } = told(gone, gone, done)
  const kept = await settleSuccess({ connection, runId: 'r', tool: 't', claimed, waitsMs: [0, 0, 0] }, { paid: true })
  assert.equal(kept, { kind: 'result', value: { paid: true }, answer: { leaseMs: 12 } })
  assert.equal(
    received.map(({ key }) => key),
    ['outcome:c:3', 'outcome:c:3', 'outcome:c:3'],
  )
})

settling('one that cannot be sent is an error that holds the result', async () => {
  const { connection } = told(gone)
  const error = await rejection(settleSuccess({ connection, runId: 'r', tool: 't', claimed, waitsMs: [0] }, 'label'))
  assert.instance(error, OutcomeNotRecorded)
  assert.is((error as OutcomeNotRecorded).result, 'label')
})

settling('a result that the ledger cannot hold is recorded as executed all the same', async () => {
  const { received, connection } = told(refused('append-too-large'), done)
  const kept = await settleSuccess({ connection, runId: 'r', tool: 't', claimed }, 'much')
  assert.equal(kept, { kind: 'unrecorded', reason: 'append-too-large', answer: { leaseMs: 12 } })
  assert.equal(received[1]?.command.body, { fence: 3, unrecorded: { reason: 'append-too-large' } })
})

settling('a lease is renewed while its tool runs, and not after (RUN-13)', async () => {
  const { received, connection } = told(done)
  await underLease({ connection, runId: 'r', claimed }, () =>
    eventually(() => (received.length >= 2 ? true : undefined), 'two renewals'),
  )
  const { length } = received
  await new Promise((resolve) => setTimeout(resolve, 20))
  assert.is(received.length, length)
  assert.ok(received.every(({ command }) => command.kind === 'renew' && command.body.fence === 3))
})

settling('a lease that was lost is let go', async () => {
  const { received, connection } = told(refused('stale-fence'))
  await underLease({ connection, runId: 'r', claimed }, async () => {
    await eventually(() => (received.length >= 1 ? true : undefined), 'a renewal')
    await new Promise((resolve) => setTimeout(resolve, 20))
    assert.is(received.length, 1)
  })
})

settling('waits grow up to their limit, and jitter takes at most half', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.double({ min: 0, max: 0.999, noNaN: true }), (failures, random) => {
      const plain = backoffMs({ type: 'exponential', delayMs: 10, maxMs: 500 }, failures, random)
      assert.is(plain, Math.min(500, 10 * 2 ** (failures - 1)))
      const spread = backoffMs({ type: 'exponential', delayMs: 10, maxMs: 500, jitter: true }, failures, random)
      assert.ok(spread >= plain / 2 && spread <= plain)
      assert.is(backoffMs({ type: 'fixed', delayMs: 7 }, failures, random), 7)
    }),
  )
})

settling('what the ledger would refuse is no recordable value; the rest is what JSON makes of it', () => {
  const cycle: Record<string, unknown> = {}
  cycle.self = cycle
  for (const value of [cycle, 1n, 'a\ud800', JSON.parse('{"__proto__":1}'), 'x'.repeat(600_000), deep(70)]) {
    assert.is(recordable(value).ok, false)
  }
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const kept = recordable(value)
      if (kept.ok) assert.equal(kept.value, JSON.parse(JSON.stringify(value)))
    }),
  )
  assert.equal(recordable({ a: undefined, b: new Date(0), c: Number.NaN }), {
    ok: true,
    value: { b: '1970-01-01T00:00:00.000Z', c: null },
  })
})

function deep(levels: number): unknown {
  return levels === 0 ? 1 : [deep(levels - 1)]
}

settling.run()
