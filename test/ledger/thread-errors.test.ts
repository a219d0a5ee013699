import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DamagedIndexError } from '../../src/ledger/audit/audit-reads.ts'
import { ViewBehindError } from '../../src/ledger/read/view-behind.ts'
import { THREAD_ERRORS } from '../../src/ledger/thread-errors.ts'
import { ReaderLeftError } from '../../src/resources/work-queue.ts'
import { DerivedFileRenewedError } from '../../src/store/derived-file.ts'
import { StoreUnavailableError } from '../../src/store/event-store.ts'
import { errorOf, failureOf } from '../../src/workers/failure.ts'

const test = suite('errors between threads')

const crossed = (error: unknown): Error => errorOf(structuredClone(failureOf(error, THREAD_ERRORS)), THREAD_ERRORS)

test('whoever left is no error in the other thread either (F31)', () => {
  assert.instance(crossed(new ReaderLeftError()), ReaderLeftError)
})

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

test('an index or a file that was found damaged says what is damaged', () => {
  const before = new DamagedIndexError('run-a.r', 3)
  const damaged = crossed(before)
  assert.instance(damaged, DamagedIndexError)
  assert.equal([damaged.message, (damaged as DamagedIndexError).revision], [before.message, 3])
  const renewal = { file: 'f', reason: 'r' }
  const renewed = crossed(new DerivedFileRenewedError(renewal))
  assert.instance(renewed, DerivedFileRenewedError)
  assert.equal((renewed as DerivedFileRenewedError).renewal, renewal)
})

test('what may pass by itself says when to come again, and nothing else is taken for that', () => {
  const away = crossed(new StoreUnavailableError('the store does not answer', 700))
  assert.instance(away, StoreUnavailableError)
  assert.equal([away.message, (away as StoreUnavailableError).retryAfterMs], ['the store does not answer', 700])
  assert.not.instance(crossed(new TypeError('x is no y')), StoreUnavailableError)
  assert.is(crossed(new TypeError('x is no y')).message, 'x is no y')
  assert.is(crossed('a text').message, 'a text')
})

test.run()
