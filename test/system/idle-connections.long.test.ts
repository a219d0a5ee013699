import { connect, type Socket } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startServer } from '../support/server-process.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('connections and rates')

test('a tenant over its rate gets 429 and learns when to come back; another tenant is served all the while (A40)', async () => {
  await using server = await startServer({ args: ['--rate-per-second', '20', '--rate-burst', '40'] })
  const loud = await server.client({ tenant: 'loud' })
  const quiet = await server.client({ tenant: 'quiet' })
  await quiet.post('/v1/runs', { id: 'r', name: 'r' })
  const flood = Promise.all(Array.from({ length: 400 }, () => loud.get('/v1/runs')))
  for (let n = 0; n < 10; n += 1) {
    const answer = await quiet.post('/v1/runs/r/envelopes', { agent: 'a', payload: { notes: n } })
    assert.is(answer.status, 201, answer.text)
  }
  const answers = await flood
  const refused = answers.filter(({ status }) => status === 429)
  assert.ok(refused.length >= 200, `${refused.length} refused`)
  assert.ok(
    answers.some(({ status }) => status === 200),
    'and served up to its rate',
  )
  for (const { headers, body } of refused) {
    assert.match(String(headers['retry-after']), /^\d+$/)
    assert.is(body.code, 'rate-limited')
  }
})

test('idle connections are closed by the server while it answers others (A41)', async () => {
  await using server = await startServer()
  const { hostname, port } = new URL(server.url)
  let closed = 0
  const idle: Socket[] = Array.from({ length: 300 }, () => {
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.once('close', () => {
      closed += 1
    })
    // An answered request, then silence: keep-alive that is never used again.
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n')
    socket.resume()
    return socket
  })
  const client = await server.client()
  await client.post('/v1/runs', { id: 'r', name: 'r' })
  const allClosed = eventually(() => (closed === idle.length ? true : undefined), 'the end of idle connections')
  while (closed < idle.length) {
    assert.is((await within(client.get('/v1/runs/r'), 'an answer')).status, 200)
    await new Promise((resolve) => setTimeout(resolve, 100))
    if (idle.length - closed > 0) await Promise.race([allClosed, new Promise((resolve) => setTimeout(resolve, 200))])
  }
  await allClosed
})

test('twice as many silent connections as there may be keep nobody with a token out (F32)', async () => {
  await using server = await startServer({ args: ['--max-connections', '300'] })
  const { port } = new URL(server.url)
  const idle: Socket[] = []
  // From three addresses: none of them is over its share.
  for (let n = 0; n < 600; n += 1) {
    const socket = connect({ port: Number(port), host: '127.0.0.1', localAddress: `127.0.0.${2 + (n % 3)}` })
    socket.on('error', () => undefined)
    idle.push(socket)
  }
  await eventually(() => (idle.every(({ connecting }) => !connecting) ? true : undefined), 'all were connected')
  for (let n = 0; n < 5; n += 1) {
    // A client each: every request comes over a connection of its own.
    const client = await server.client({}, 1)
    const answer = await within(client.post('/v1/runs', { id: `r${n}`, name: 'r' }), 'an answer')
    assert.is(answer.status, 201, answer.text)
  }
  const open = (): number => idle.filter(({ destroyed }) => !destroyed).length
  await eventually(() => (open() <= 300 ? true : undefined), 'no more than may be')
  for (const socket of idle) socket.destroy()
})

test.run()
