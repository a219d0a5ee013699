import { connect, type Socket } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startServer } from '../support/server-process.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('slow and silent connections')

interface Slow {
  readonly socket: Socket
  readonly closed: () => boolean
}

/** A connection that sends `start` and then a byte now and then. */
function drip(url: string, start: string, bytes: string): Slow {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let closed = false
  let sent = 0
  const timer = setInterval(() => {
    if (bytes === '') return
    socket.write(bytes[sent % bytes.length] ?? 'x')
    sent += 1
  }, 500)
  socket.on('error', () => {})
  socket.resume()
  socket.once('close', () => {
    closed = true
    clearInterval(timer)
  })
  socket.write(start)
  return { socket, closed: () => closed }
}

test('500 connections that send a byte now and then are closed in their time, and the server answers all the while (A41)', async () => {
  await using server = await startServer()
  const client = await server.client()
  await client.post('/v1/runs', { id: 'r', name: 'r' })
  const head = 'POST /v1/runs/r/envelopes HTTP/1.1\r\nHost: x\r\n'
  const whole = `${head}Authorization: Bearer ${client.token}\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n`
  const heads = Array.from({ length: 250 }, () => drip(server.url, head, 'X-Slow: 1'))
  const bodies = Array.from({ length: 250 }, () => drip(server.url, whole, ' '))

  const startedMs = Date.now()
  let answered = 0
  const open = (): number => [...heads, ...bodies].filter((each) => !each.closed()).length
  // Heads have 10 s and whole requests 30 s; the server looks once a second.
  while (open() > 0 && Date.now() - startedMs < 45_000) {
    const answer = await within(
      client.post('/v1/runs/r/envelopes', { agent: 'a', payload: { notes: answered } }),
      'an answer',
    )
    assert.is(answer.status, 201)
    answered += 1
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.is(open(), 0, 'all are closed')
  assert.ok(answered > 50, String(answered))
  for (const { socket } of [...heads, ...bodies]) socket.destroy()
})

test('2,000 silent connections keep nobody out (A41)', async () => {
  await using server = await startServer()
  const silent = Array.from({ length: 2_000 }, () => drip(server.url, '', ''))
  const client = await server.client()
  assert.is((await within(client.post('/v1/runs', { id: 'r', name: 'r' }), 'an answer')).status, 201)
  for (let n = 0; n < 50; n += 1) {
    const answer = await within(client.post('/v1/runs/r/envelopes', { agent: 'a', payload: { notes: n } }), 'an answer')
    assert.is(answer.status, 201)
  }
  for (const { socket } of silent) socket.destroy()
})

test('12,000 silent connections, of 10,000 that there may be, keep nobody with a token out (F32)', async () => {
  await using server = await startServer()
  const { port } = new URL(server.url)
  const silent: Socket[] = []
  while (silent.length < 12_000) {
    const some = Array.from({ length: 500 }, (_, n) =>
      connect({ port: Number(port), host: '127.0.0.1', localAddress: `127.0.0.${2 + (n % 5)}` }),
    )
    for (const socket of some) socket.on('error', () => undefined)
    silent.push(...some)
    await eventually(() => (some.every(({ pending }) => !pending) ? true : undefined), 'all were connected')
    const client = await server.client({}, 1)
    const answer = await within(client.post('/v1/runs', { id: `r${silent.length}`, name: 'r' }), 'an answer')
    assert.is(answer.status, 201, answer.text)
    await client.close()
  }
  for (const socket of silent) socket.destroy()
})

test.run()
