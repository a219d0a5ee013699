import { connect } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ApiClient } from '../support/api-client.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { lostOrDoubled, recordedMarks } from '../support/recorded-marks.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'
import { eventually, within } from '../support/within.ts'
import { Workload } from '../support/workload.ts'

const test = suite('stopping the server')

/** A request of which only a part has been sent; `rest` sends what is missing and gives everything that is answered. */
async function halfSent(server: ServerProcess, path: string, body: string): Promise<{ rest(): Promise<string> }> {
  const { hostname, port } = new URL(server.url)
  const token = await server.token()
  const socket = connect(Number(port), hostname)
  socket.setEncoding('utf8')
  let answer = ''
  socket.on('data', (text) => {
    answer += text
  })
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('error', () => {})
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body.slice(0, 10)}`)
  return {
    rest: async () => {
      socket.write(body.slice(10))
      await within(ended, 'the end of the connection')
      return answer
    },
  }
}

async function inMetrics(client: ApiClient, line: string): Promise<true | undefined> {
  return (await client.get('/metrics')).text.includes(`${line}\n`) ? true : undefined
}

test('SIGTERM under load: the end comes in five seconds with code 0, and every acknowledged append is there (F24)', async () => {
  await using server = await startServer()
  const token = await server.token()
  const client = server.clientOf(token)
  const workload = new Workload({ name: 'w' })
  await workload.startRuns(client)
  const driven = workload.drive(client, new AbortController().signal)
  await eventually(() => (workload.acknowledged.size > 200 ? true : undefined), 'load')

  const ended = within(server.stop('SIGTERM'), 'the end after SIGTERM')
  await driven
  // Code 0 is the end in time: a server that takes longer ends itself with 1.
  assert.equal(await ended, { code: 0, signal: null })
  assert.is((await runInProcess(['verify', '--data', server.data])).code, 0)

  await server.start()
  const after = server.clientOf(token)
  assert.equal(lostOrDoubled(workload, await recordedMarks(after, workload.runs)), [])
  await workload.settle(after)
  assert.equal(workload.unexpected, [])
  assert.equal(lostOrDoubled(workload, await recordedMarks(after, workload.runs)), [])
})

test('SIGHUP without a terminal, as for a reload, ends nothing: the server says so and goes on (F282)', async () => {
  await using server = await startServer()
  const client = await server.client()
  await client.post('/v1/runs', { id: 'r', name: 'r' })
  process.kill(server.pid, 'SIGHUP')
  await eventually(() => (server.output.includes('nothing to reload') ? true : undefined), 'the word about the signal')
  assert.is((await client.get('/v1/runs/r')).status, 200)
  assert.equal(await within(server.stop('SIGTERM'), 'the end after SIGTERM'), { code: 0, signal: null })
})

test('requests in flight are answered: one that is still being sent, and one that waits for a call (F24)', async () => {
  await using server = await startServer()
  const client = await server.client()
  await client.post('/v1/runs', { id: 'r', name: 'r' })
  const call = { tool: 'slow', args: {} }
  await client.post('/v1/runs/r/calls', call)
  const waiting = client.post('/v1/runs/r/calls', call, { prefer: 'wait=20' }).catch(() => undefined)
  const half = await halfSent(
    server,
    '/v1/runs/r/envelopes',
    JSON.stringify({ agent: 'a', payload: { notes: 'late' } }),
  )
  await eventually(() => inMetrics(client, 'countersign_http_streams 1'), 'the claim waits')
  // Both, and the one that asks.
  await eventually(() => inMetrics(client, 'countersign_http_in_flight 3'), 'the half request')

  const ended = server.stop('SIGTERM')
  const held = await within(waiting, 'the waiting claim')
  assert.is(held?.status, 409)
  assert.is(held?.body.code, 'call-in-progress')
  assert.match(await half.rest(), /^HTTP\/1\.1 201 /)
  assert.equal(await within(ended), { code: 0, signal: null })

  await server.start()
  const context = await (await server.client()).get('/v1/runs/r/context')
  assert.equal(context.body.context, { notes: 'late' }, 'what was answered is there')
})

test('tails end whole, with an id that a new server resumes from (F24)', async () => {
  await using server = await startServer()
  const token = await server.token()
  const client = server.clientOf(token)
  await client.post('/v1/runs', { id: 'r', name: 'r' })
  const lines: string[] = []
  const tail = (async () => {
    for await (const line of client.lines('/v1/runs/r/tail')) lines.push(line)
  })().then(
    () => 'whole',
    () => 'cut',
  )
  await eventually(() => (lines.includes('event: caught-up') ? true : undefined), 'history')
  await client.post('/v1/runs/r/envelopes', { agent: 'a', payload: { notes: 1 } })
  await eventually(() => (lines.includes('event: EnvelopeAccepted') ? true : undefined), 'live events')

  assert.equal(await within(server.stop('SIGTERM')), { code: 0, signal: null })
  assert.is(await within(tail, 'the end of the tail'), 'whole')
  const id = lines.findLast((line) => line.startsWith('id: '))?.slice(4) ?? ''

  await server.start()
  const after = server.clientOf(token)
  await after.post('/v1/runs/r/envelopes', { agent: 'a', payload: { notes: 2 } })
  const resumed: string[] = []
  for await (const line of after.lines(`/v1/runs/r/tail?after=${id}`)) {
    resumed.push(line)
    if (line === 'event: caught-up') break
  }
  const types = resumed.filter((line) => line.startsWith('event: '))
  assert.equal(types, ['event: EnvelopeAccepted', 'event: caught-up'], 'nothing twice, nothing missing')
})

test('with --drain-seconds it is not ready after SIGTERM and serves on until they are over (F323)', async () => {
  await using server = await startServer({ args: ['--drain-seconds', '3'] })
  const client = await server.client()
  assert.is((await client.get('/readyz')).status, 200)
  const ended = within(server.stop('SIGTERM'), 'the end after the drain')
  const sentMs = performance.now()
  await eventually(async () => ((await client.get('/readyz')).status === 503 ? true : undefined), 'readyz says no')
  // Over a connection of its own, as of one who asks only now.
  const late = await server.client()
  assert.is((await late.post('/v1/runs', { id: 'late', name: 'late' })).status, 201)
  assert.is((await late.get('/healthz')).status, 200)
  assert.equal(await ended, { code: 0, signal: null })
  assert.ok(performance.now() - sentMs >= 3_000, 'the drain was cut short')
  await server.start()
  assert.is((await (await server.client()).get('/v1/runs/late')).status, 200)
})

test('a second SIGTERM does not wait for a request that hangs, and loses nothing that was acknowledged (F24)', async () => {
  await using server = await startServer()
  const client = await server.client()
  await client.post('/v1/runs', { id: 'r', name: 'r' })
  assert.is((await client.post('/v1/runs/r/envelopes', { agent: 'a', payload: { notes: 1 } })).status, 201)
  await halfSent(server, '/v1/runs/r/envelopes', JSON.stringify({ agent: 'a', payload: { notes: 'never' } }))
  await eventually(() => inMetrics(client, 'countersign_http_in_flight 2'), 'the half request')
  await client.close()

  server.signal('SIGTERM')
  await eventually(() => (server.output.includes('"closing"') ? true : undefined), 'the first signal')
  const { code } = await within(server.stop('SIGTERM'), 'the end after the second')
  assert.is(code, 1)
  await server.start()
  assert.equal((await (await server.client()).get('/v1/runs/r/context')).body.context, { notes: 1 })
})

test('a request that never ends does not keep the server past five seconds (F24)', async () => {
  await using server = await startServer()
  const client = await server.client()
  await client.post('/v1/runs', { id: 'r', name: 'r' })
  await halfSent(server, '/v1/runs/r/envelopes', JSON.stringify({ agent: 'a', payload: { notes: 'never' } }))
  assert.equal(await within(server.stop('SIGTERM')), { code: 0, signal: null })
})

test.run()
