import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { HttpContext } from '../../src/http/http-context.ts'
import { runStream } from '../../src/http/run-stream.ts'
import { StoreUnavailableError } from '../../src/store/event-store.ts'

const test = suite('http: the life of a streamed answer')

/** What is logged of a stream whose source throws at its second read, where its reader waits for it or has left. */
async function loggedOf(error: Error, { closing, left }: { readonly closing: boolean; readonly left: boolean }) {
  const lines: string[] = []
  const say = (level: string) => (fields: object, message: string) => {
    lines.push(`${level}: ${message}${'err' in fields ? ' with its error' : ''}`)
  }
  const log = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
  const draining = new AbortController()
  let fail: () => void = () => undefined
  const broken = new Promise<never>((_, reject) => {
    fail = () => reject(error)
  })
  broken.catch(() => undefined)
  const released = new Promise<void>((resolve) => {
    const stream = runStream(
      { log, draining: draining.signal, liveTokens: { watch: () => () => undefined } as never },
      {
        c: { req: { path: '/v1/export' } } as unknown as HttpContext,
        token: '',
        expiresAt: 0,
        release: resolve,
        endless: false,
        chunks: () => source(broken),
      },
    )
    void (async () => {
      const reader = stream.getReader()
      await reader.read()
      const next = reader.read().catch(() => undefined)
      // By then the stream has asked its source for more.
      await new Promise(setImmediate)
      if (left) reader.cancel().catch(() => undefined)
      if (closing) draining.abort()
      fail()
      await next
    })()
  })
  await released
  await new Promise(setImmediate)
  return lines
}

async function* source(broken: Promise<never>): AsyncGenerator<Uint8Array, void> {
  yield new Uint8Array(1)
  await broken
}

const CUT = 'info: a stream was cut at the end of this server: its reader has to ask again'

test('a stream that ends with its server is one line without an error, whether or not its reader is still there', async () => {
  const away = new StoreUnavailableError('the thread that reads is gone', 1_000)
  assert.equal(await loggedOf(away, { closing: true, left: false }), [CUT])
  assert.equal(await loggedOf(away, { closing: true, left: true }), [CUT])
})

test('any other error of a stream is logged as what it is, also while the server closes', async () => {
  const fault = new TypeError('no such member')
  assert.equal(await loggedOf(fault, { closing: true, left: false }), ['error: a stream broke with its error'])
  const away = new StoreUnavailableError('the store is away', 1_000)
  assert.equal(await loggedOf(away, { closing: false, left: false }), ['error: a stream broke with its error'])
  assert.equal(await loggedOf(away, { closing: false, left: true }), [
    'warn: a stream without a reader ended with an error with its error',
  ])
})

test.run()
