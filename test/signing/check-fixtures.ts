/** @module One sealed event with every field there is, and ways to forge it. */
import * as assert from 'uvu/assert'
import type { AppendRecord, Header } from '../../schemas/header.ts'
import type { Json } from '../../schemas/json.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { checkRecord, type Expectation, firstExpectation, nextExpectation } from '../../src/signing/check.ts'
import { headerMac, headerParts, type SealedEvent, sealEvents } from '../../src/signing/seal.ts'
import { checkKeys, STREAM, sealContext, sealedStream, testRing } from './fixtures.ts'

export const ring = testRing()
export const keys = checkKeys(ring)

/** One event with every optional field, and the expectation that it meets. */
export function fullEvent(): { readonly event: SealedEvent; readonly expected: Expectation } {
  const events = sealedStream(ring, [{ a: 1 }, { b: 2 }], {
    principal: 'alice',
    via: ['desk', 'hub'],
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    request: { id: '2ed6657d-e927-568b-95e1-2665a8aea6a2', mac: 'A'.repeat(43) },
  })
  const [first] = events
  assert.ok(first)
  const passed = checkRecord(first.record, firstExpectation(STREAM), keys)
  assert.ok(passed.ok)
  const expected = passed.ok ? nextExpectation(passed) : firstExpectation(STREAM)
  const behind = sealContext(ring, {
    revision: 1,
    prev: first.digest,
    prevTime: first.header.time,
    clock: '2025-12-31T00:00:00.000Z',
    principal: 'alice',
    via: ['desk', 'hub'],
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    request: { id: '2ed6657d-e927-568b-95e1-2665a8aea6a2', mac: 'A'.repeat(43) },
  })
  const [event] = sealEvents([{ type: 'EnvelopeAccepted', data: { b: 2 }, causation: first.header.id }], behind)
  assert.ok(event)
  return { event, expected }
}

/** The record with another header, sealed anew with the right key where `reseal` is set. */
export function withHeader(record: AppendRecord, header: object, reseal = false): AppendRecord {
  if (!reseal) return { ...record, header: canonicalJson(header as Json) }
  const { stream, tenant, kid } = header as Header
  const key = keys.runKeys.keyFor(kid, tenant, stream)
  assert.ok(key)
  return { ...record, header: canonicalJson({ ...header, mac: headerMac(headerParts(header as Header), key) } as Json) }
}
