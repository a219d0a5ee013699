import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runCommand } from '../support/command-line.ts'
import { startServer } from '../support/server-process.ts'
import { within } from '../support/within.ts'

const test = suite('a server under limits of the system')
const hasPrlimit = (await runCommand(['sh', '-c', 'command -v prlimit'])).code === 0
const limited = hasPrlimit ? test : test.skip
if (!hasPrlimit) console.log('skipped: limits of the system, there is no prlimit')

limited('a limit on the size of files is a refusal with 503 or 507, never a crash; reads go on (F7)', async () => {
  await using server = await startServer({ under: ['prlimit', '--fsize=400000'] })
  const client = await server.client()
  await client.post('/v1/runs', { id: 'r', name: 'r' })
  let accepted = 0
  let status = 201
  while (status === 201 && accepted < 200) {
    const payload = { notes: accepted, text: 'x'.repeat(8_000) }
    status = (await client.post('/v1/runs/r/envelopes', { agent: 'a', payload })).status
    if (status === 201) accepted += 1
  }
  assert.ok(status === 503 || status === 507, String(status))
  assert.ok(accepted > 5, String(accepted))
  assert.is((await client.get('/healthz')).status, 200)
  await server.stop()

  await using free = await startServer({ data: server.data })
  assert.is((await (await free.client()).get('/v1/runs/r')).body.step, accepted, 'all that was acknowledged is there')
})

limited('connections beyond the limit of open files are refused, and the server goes on (F7)', async () => {
  await using server = await startServer()
  // Node's loader alone needs more while it starts.
  const limit = await runCommand(['prlimit', `--pid=${server.pid}`, '--nofile=64'])
  assert.is(limit.code, 0, limit.stderr)
  const crowd = server.clientOf('', 200)
  await Promise.allSettled(Array.from({ length: 200 }, () => within(crowd.get('/healthz'), 'an answer', 1_000)))
  await crowd.close()
  const client = await server.client({}, 1)
  assert.is((await client.post('/v1/runs', { id: 'r', name: 'r' })).status, 201)
})

test.run()
