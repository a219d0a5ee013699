import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { isSignedUnder, webhookReceiver } from '../support/webhook-receiver.ts'
import { eventually } from '../support/within.ts'

const test = suite('a server with a webhook that is killed')

const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
const ROUNDS = 6
const PER_ROUND = 8

test('whatever was acknowledged before a SIGKILL is announced in the end, each under one id, and serve goes on without its receiver (HTTP-14, F134)', async () => {
  using folder = tempFolder()
  const secrets = folder.file('secrets')
  writeFileSync(secrets, `${SECRET}\n`, { mode: 0o600 })
  await using at = await webhookReceiver()
  const args = ['--webhook', at.url, '--webhook-secrets', secrets]
  await using server = await startServer({ data: join(folder.path, 'data'), args })
  const ids = new Map<string, Set<string>>()
  const taken = new Set<string>()
  let isAway = false
  let unsigned = 0
  at.answer = (one, response) => {
    if (!isSignedUnder(one, SECRET)) unsigned += 1
    const run = `${one.body.data.run}`
    ids.set(run, (ids.get(run) ?? new Set()).add(one.id))
    if (!isAway) taken.add(run)
    response.writeHead(isAway ? 503 : 204).end()
  }
  const asked: string[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    isAway = round % 2 === 0
    const client = await server.client()
    for (let i = 0; i < PER_ROUND; i += 1) {
      const run = `run-${round}-${i}`
      await client.post('/v1/runs', { id: run, name: 'payments', policy: { approve: [{ tools: ['pay'] }] } })
      const { status } = await client.post(`/v1/runs/${run}/calls`, { tool: 'pay', args: { i }, key: 'k' })
      assert.is(status, 409)
      asked.push(run)
    }
    assert.is((await fetch(`${server.url}/readyz`)).status, 200)
    await server.restart()
  }
  isAway = false
  await eventually(() => (taken.size === asked.length ? true : undefined), 'every approval that was asked for')
  assert.is(unsigned, 0)
  assert.ok([...ids.values()].every((each) => each.size === 1))
  assert.is((await server.stop()).code, 0)
})

test.run()
