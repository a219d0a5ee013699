import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Client, createClient } from '../../src/client/client.ts'
import { UnreachableError } from '../../src/client/errors.ts'
import { within } from '../support/within.ts'

const test = suite('client: answers that are cut')

const ANSWER = JSON.stringify({ callId: 'c', text: 'x'.repeat(40) })

/** Serves what `answer` writes to the socket. */
async function served(answer: (requests: number, key: string) => { readonly bytes: string; readonly cut: boolean }) {
  let requests = 0
  const server: Server = createServer((request, response) => {
    requests += 1
    const { bytes, cut } = answer(requests, String(request.headers['idempotency-key']))
    request.resume()
    request.on('end', () => {
      // Not before it has left: a reset takes with it what the other side has not read.
      response.socket?.write(bytes, () => cut && setImmediate(() => response.socket?.destroy()))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    requests: () => requests,
    [Symbol.dispose]: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

const head = (length: number): string =>
  `HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n`

test('an answer that is cut at any byte is requested again, under the same key, until it is there whole (F102)', async () => {
  const whole = head(ANSWER.length) + ANSWER
  for (let at = 1; at < whole.length; at += 7) {
    const keys = new Set<string>()
    using ledger = await served((requests, key) => {
      keys.add(key)
      return { bytes: requests < 3 ? whole.slice(0, at) : whole, cut: true }
    })
    const client = createClient({ url: ledger.url, token: 't', backoffMs: 1 })
    const { created, body } = await within(client.execute('r', { kind: 'claim', body: { tool: 't', args: {} } }))
    assert.equal([created, body.callId, keys.size, ledger.requests()], [true, 'c', 1, 3], `cut at byte ${at}`)
  }
})

/** A fetch whose answer has this body. */
function clientOf(body: ReadableStream<Uint8Array>, timeoutMs = 10_000): Client {
  return createClient({
    url: 'http://ledger.test',
    token: 't',
    retries: 0,
    timeoutMs,
    fetch: async () => new Response(body),
  })
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

test('an abort while an answer is read ends with its own reason, an answer and a stream alike (F102)', async () => {
  for (const ask of ['run', 'exportRun'] as const) {
    const aborting = new AbortController()
    const reason = new Error('no more')
    const body = new ReadableStream<Uint8Array>({
      start: (into) => into.enqueue(bytes('{"half":')),
      pull: () => aborting.abort(reason),
    })
    const client = clientOf(body)
    const requests =
      ask === 'run'
        ? client.run('r', { signal: aborting.signal })
        : read(client.exportRun('r', { signal: aborting.signal }))
    assert.is(await within(rejection(requests)), reason, ask)
  }
})

test('a stream that falls silent, or breaks, is a ledger out of reach; one that goes on is read however long it takes (F102)', async () => {
  const silent = new ReadableStream<Uint8Array>({ start: (into) => into.enqueue(bytes('line\n')) })
  const error = await within(rejection(read(clientOf(silent, 50).exportRun('r'))))
  assert.instance(error, UnreachableError)
  const broken = new ReadableStream<Uint8Array>({
    start: (into) => into.enqueue(bytes('line\n')),
    pull: (into) => into.error(new TypeError('terminated')),
  })
  assert.instance(await rejection(read(clientOf(broken).exportRun('r'))), UnreachableError)

  let parts = 0
  const slow = new ReadableStream<Uint8Array>({
    pull: async (into) => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      parts += 1
      if (parts > 12) into.close()
      else into.enqueue(bytes('line\n'))
    },
  })
  assert.is((await read(clientOf(slow, 1_000).exportRun('r'))).length, 60)
})

test('a reader who leaves a stream lets go of the connection (F102)', async () => {
  let cancelled = false
  const endless = new ReadableStream<Uint8Array>({
    pull: (into) => into.enqueue(bytes('line\n')),
    cancel: () => {
      cancelled = true
    },
  })
  for await (const text of clientOf(endless).exportRun('r')) {
    assert.is(text, 'line\n')
    break
  }
  assert.is(cancelled, true)
})

async function read(parts: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const part of parts) text += part
  return text
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.unreachable('it should have failed'),
    (error: unknown) => error,
  )
}

test.run()
