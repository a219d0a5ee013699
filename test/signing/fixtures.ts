/** @module A ring, its run keys, and a stream of sealed events, all the same at every run. */
import { createHash } from 'node:crypto'
import type { Json } from '../../schemas/json.ts'
import {
  type CheckKeys,
  type CheckResult,
  checkRecord,
  type Expectation,
  firstExpectation,
  nextExpectation,
} from '../../src/signing/check.ts'
import { createKeyRing, createRunKeys, currentKey, type KeyRing } from '../../src/signing/key-ring.ts'
import { type EventDraft, type SealContext, type SealedEvent, sealEvents } from '../../src/signing/seal.ts'

export const NOW = '2026-01-02T03:04:05.678Z'
const TENANT = 'acme'
export const STREAM = 'run-acme.run-1'

/** Bytes that look random and repeat at every run. */
export function seededRandom(seed: string): (bytes: number) => Uint8Array {
  let count = 0
  return (bytes) => {
    let drawn = Buffer.alloc(0)
    while (drawn.length < bytes) {
      drawn = Buffer.concat([drawn, createHash('sha256').update(`${seed}/${count++}`).digest()])
    }
    return new Uint8Array(drawn.subarray(0, bytes))
  }
}

export function testRing(seed = 'ring'): KeyRing {
  return createKeyRing(NOW, seededRandom(seed))
}

export function checkKeys(ring: KeyRing): CheckKeys {
  return { ring, runKeys: createRunKeys(ring) }
}

export function sealContext(ring: KeyRing, given: Partial<SealContext> = {}): SealContext {
  const { kid } = currentKey(ring)
  const stream = given.stream ?? STREAM
  const tenant = given.tenant ?? TENANT
  const key = createRunKeys(ring).keyFor(kid, tenant, stream)
  if (key === undefined) throw new TypeError('the ring holds its own keys')
  const random = seededRandom(`${stream}/${given.revision ?? 0}`)
  let ids = 0
  return {
    stream,
    tenant,
    actor: 'agent-1',
    revision: 0,
    clock: NOW,
    kid,
    key,
    newId: () => `01890a5d-ac96-774b-bcce-${String(++ids).padStart(12, '0')}`,
    newSalt: () => random(16),
    ...given,
  }
}

/** A whole stream of sealed events, one request each. */
export function sealedStream(ring: KeyRing, bodies: readonly Json[], given: Partial<SealContext> = {}): SealedEvent[] {
  const events: SealedEvent[] = []
  for (const [revision, data] of bodies.entries()) {
    const before = events.at(-1)
    const context = sealContext(ring, { revision, prev: before?.digest, prevTime: before?.header.time, ...given })
    events.push(...sealEvents([{ type: 'EnvelopeAccepted', data } satisfies EventDraft], context))
  }
  return events
}

/** What the codes of a stream's events are, judged in order as a verifier does; an event that failed is stepped over. */
export function verifyStream(events: readonly SealedEvent['record'][], stream: string, keys: CheckKeys): string[][] {
  let expected: Expectation = firstExpectation(stream)
  return events.map((record) => {
    const result = checkRecord(record, expected, keys)
    expected = result.ok ? nextExpectation(result) : { ...expected, revision: expected.revision + 1 }
    return faultCodes(result)
  })
}

export function faultCodes(result: CheckResult): string[] {
  return result.ok ? [] : result.faults.map((fault) => fault.code)
}
