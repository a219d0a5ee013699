import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RecordedFailure } from '../../../src/agent/errors.ts'
import { isRetryable, modelWaitMs, retryAfterMs } from '../../../src/agent/models/provider-errors.ts'

const errors = suite('errors of providers')

const failed = (fields: object): Error => Object.assign(new Error('x'), fields)

errors('busy, broken and out of reach are worth another try, and nothing else is', () => {
  for (const status of [408, 429, 500, 503, 529]) assert.ok(isRetryable(failed({ status })), String(status))
  for (const status of [400, 401, 403, 404, 413, 422]) assert.not(isRetryable(failed({ status })), String(status))
  assert.ok(isRetryable(new TypeError('fetch failed', { cause: failed({ code: 'ECONNREFUSED' }) })))
  assert.ok(isRetryable(failed({ name: 'APIConnectionError' })))
  assert.ok(isRetryable(new Error('x', { cause: failed({ code: 'ECONNRESET' }) })))
  assert.ok(isRetryable(failed({ statusCode: 500, isRetryable: true })))
  assert.not(isRetryable(failed({ statusCode: 500, isRetryable: false })))
  assert.not(isRetryable(failed({ status: 429, code: 'insufficient_quota' })))
  assert.not(isRetryable(new TypeError('x is not a function')))
  assert.not(isRetryable('a text'))
})

errors('a failure on record is what it was judged to be then', () => {
  const recorded = (retryable: boolean) => new RecordedFailure({ message: 'x', details: { name: 'E', retryable } })
  assert.equal([isRetryable(recorded(true)), isRetryable(recorded(false))], [true, false])
})

errors('a provider that says when is heard, in seconds, milliseconds or as a date', () => {
  const after = (headers: object) => retryAfterMs(failed({ headers }), Date.parse('2026-01-01T00:00:00Z'))
  assert.is(after({ 'retry-after': '7' }), 7_000)
  assert.is(after(new Headers({ 'retry-after': '7', 'retry-after-ms': '250' })), 250)
  assert.is(after({ 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' }), 9_000)
  assert.is(after({ 'retry-after': 'soon' }), undefined)
  assert.is(after({ 'retry-after': '-1' }), undefined)
  const given = { backoff: { type: 'fixed', delayMs: 100 }, random: 0, nowMs: 0 } as const
  assert.is(modelWaitMs(failed({ status: 429, headers: { 'retry-after': '7' } }), 1, given), 7_000)
  assert.is(modelWaitMs(failed({ status: 429 }), 1, given), 100)
  assert.is(modelWaitMs(failed({ status: 429, headers: { 'retry-after': '3600' } }), 1, given), undefined)
})

errors.run()
