import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { errorOf, failureOf } from '../../src/reading/read-failure.ts'
import { ReaderLeftError } from '../../src/resources/work-queue.ts'
import { StoreUnavailableError } from '../../src/store/event-store.ts'

const test = suite('reading: failures between threads')

const crossed = (error: unknown): Error => errorOf(structuredClone(failureOf(error)))

test('whoever left is no error in the other thread either (F31)', () => {
  assert.instance(crossed(new ReaderLeftError()), ReaderLeftError)
})

test('a store that does not answer says so in the other thread, and when to come again', () => {
  const error = crossed(new StoreUnavailableError('the store does not answer', 700))
  assert.instance(error, StoreUnavailableError)
  assert.equal([error.message, (error as StoreUnavailableError).retryAfterMs], ['the store does not answer', 700])
})

test('whatever else was thrown keeps its message', () => {
  assert.is(crossed(new TypeError('x is no y')).message, 'x is no y')
  assert.is(crossed('a text').message, 'a text')
})

test.run()
