import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ViewBehindError } from '../../src/ledger/read/view-behind.ts'
import { DerivedFileRenewedError } from '../../src/store/derived-file.ts'
import { StoreUnavailableError } from '../../src/store/event-store.ts'
import { errorOf, failureOf } from '../../src/upkeep/upkeep-failure.ts'

const test = suite('upkeep: failures between threads')

const crossed = (error: unknown): Error => errorOf(structuredClone(failureOf(error)))

test('a file that takes no writes, as on a full disk, is a view behind in the other thread too, and says which (F200)', () => {
  const full = Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' })
  for (const view of ['the run list', "the auditors' index"] as const) {
    for (const cause of [
      full,
      new RangeError('too large'),
      Object.assign(new Error('x'), { code: 'SQLITE_MISMATCH' }),
    ]) {
      const [before, error] = [new ViewBehindError(view, cause), crossed(new ViewBehindError(view, cause))]
      assert.instance(error, ViewBehindError)
      assert.equal(
        [error.message, (error as ViewBehindError).retryAfterMs, (error as ViewBehindError).view],
        [before.message, before.retryAfterMs, view],
      )
    }
  }
})

test('what may pass by itself says when to come again, and nothing else is taken for that', () => {
  const away = crossed(new StoreUnavailableError('the store does not answer', 700))
  assert.instance(away, StoreUnavailableError)
  assert.equal([away.message, (away as StoreUnavailableError).retryAfterMs], ['the store does not answer', 700])
  assert.instance(crossed(new DerivedFileRenewedError({ file: 'f', reason: 'r' })), StoreUnavailableError)
  assert.not.instance(crossed(new TypeError('x is no y')), StoreUnavailableError)
  assert.is(crossed(new TypeError('x is no y')).message, 'x is no y')
  assert.is(crossed('a text').message, 'a text')
})

test.run()
