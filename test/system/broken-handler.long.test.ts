import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { countersign } from '../support/command-line.ts'
import { startServer } from '../support/server-process.ts'
import { within } from '../support/within.ts'

const test = suite('faults in the program itself')
/** Loaded before the server: makes it fail on command. */
const SABOTAGE = ['--import', fileURLToPath(new URL('sabotage-child.js', import.meta.url))]

test('a handler that throws, or runs out of stack, is a 500 with an id and nothing else; the server goes on (F25)', async () => {
  await using server = await startServer({ nodeArgs: SABOTAGE })
  const client = await server.client()
  for (const id of ['boom-throw', 'boom-stack', 'well']) {
    await client.post('/v1/runs', { id, name: 'r' })
  }
  for (const id of ['boom-throw', 'boom-stack']) {
    const answer = await client.get(`/v1/runs/${id}`)
    assert.is(answer.status, 500, answer.text)
    assert.is(answer.body.code, 'internal')
    assert.match(String(answer.body.errorId), /^[0-9a-f-]{36}$/)
    assert.not.match(answer.text, /sabotage|RangeError|\.js/, 'no details')
    assert.ok(server.output.includes(String(answer.body.errorId)), 'the log knows more')
  }
  assert.is((await client.get('/v1/runs/well')).status, 200)
  assert.equal(await server.stop(), { code: 0, signal: null })
})

test('an error that nobody handles ends the process; the next start has all that was acknowledged (F25)', async () => {
  await using server = await startServer({ nodeArgs: SABOTAGE })
  for (const [index, signal] of (['SIGUSR2', 'SIGHUP'] as const).entries()) {
    const client = await server.client()
    const id = `r${index}`
    await client.post('/v1/runs', { id, name: 'r' })
    assert.is((await client.post(`/v1/runs/${id}/envelopes`, { agent: 'a', payload: { notes: 1 } })).status, 201)
    const { code } = await within(server.stop(signal), 'the end of the process')
    assert.is.not(code, 0)
    await server.start()
    const after = await server.client()
    assert.equal((await after.get(`/v1/runs/${id}/context`)).body.context, { notes: 1 })
  }
  await server.stop()
  assert.is((await countersign(['verify', '--data', server.data])).code, 0)
})

test.run()
