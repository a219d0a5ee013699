import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { createClient } from '../../../src/client/client.ts'
import { event, UPSTREAM_KEY } from '../../support/gateway-rig.ts'
import { listening } from '../../support/listening.ts'
import { ASK, CHAT } from '../../support/provider-streams.ts'
import { seededRandom, testSeed } from '../../support/random.ts'
import { startServer } from '../../support/server-process.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { eventually } from '../../support/within.ts'

const served = suite('capture: a served gateway')

/** Every byte below the folder. */
function bytesBelow(folder: string): string {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .map((path) => (statSync(path).isDirectory() ? bytesBelow(path) : readFileSync(path).toString('latin1')))
    .join('')
}

served(
  'after slow drips, refusals, clients that leave and a kill in mid-stream no key is in the data folder or the log, and no call is lost (CAP-25, CAP-26)',
  async () => {
    using folder = tempFolder()
    const random = seededRandom(testSeed(1))
    const below = (most: number): number => Math.floor(random() * most)
    let received = 0
    const provider = createServer((request, response) => {
      request.resume().once('end', async () => {
        received += 1
        if (request.headers.authorization !== `Bearer ${UPSTREAM_KEY}`) return response.writeHead(500).end()
        if (received % 5 === 0) {
          response.writeHead(401, { 'content-type': 'application/json' })
          return response.end(JSON.stringify({ error: { message: `Incorrect API key provided: ${UPSTREAM_KEY}` } }))
        }
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        const text = `${CHAT.slice(0, 3).join('')}${event({ choices: [{ index: 0, delta: { content: UPSTREAM_KEY } }] })}${CHAT.slice(3).join('')}`
        const bytes = Buffer.from(text)
        for (let at = 0; at < bytes.length && !response.destroyed; ) {
          const to = at + 1 + below(60)
          response.write(bytes.subarray(at, to))
          at = to
          await new Promise(setImmediate)
        }
        response.end()
      })
    })
    const url = `http://127.0.0.1:${await listening(provider)}/v1`
    const file = folder.file('gateway.json')
    writeFileSync(file, JSON.stringify({ upstreams: { openai: { url, key: { env: 'TEST_UPSTREAM_KEY' } } } }))
    await using server = await startServer({ args: ['--gateway', file], env: { TEST_UPSTREAM_KEY: UPSTREAM_KEY } })
    const key = await server.token()
    const ask = async (leaving?: AbortSignal): Promise<string> => {
      const response = await fetch(`${server.url}/openai/v1/chat/completions`, {
        method: 'POST',
        headers: {
          authorization: `Bearer sk-cs-${key}`,
          'content-type': 'application/json',
          'x-countersign-run': 'r-1',
        },
        body: JSON.stringify({ ...ASK, user: key, stream: true }),
        ...(leaving && { signal: leaving }),
      })
      return response.text()
    }
    const direct = await (
      await fetch(`${url}/x`, { method: 'POST', headers: { authorization: `Bearer ${UPSTREAM_KEY}` } })
    ).text()
    const shown = direct.replace(CHAT[4] ?? '', '')
    for (let n = 0; n < 20; n += 1) {
      if (below(4) === 0) await ask(AbortSignal.timeout(1 + below(5))).catch(() => undefined)
      else assert.ok([shown].includes(await ask()) || received % 5 === 0)
    }
    const cut = ask().catch(() => 'cut')
    const before = received
    await eventually(() => (received > before ? true : undefined), 'the request at the provider')
    await server.kill()
    await cut
    await server.start()
    const client = createClient({ url: server.url, token: key })
    const calls = await eventually(async () => {
      const found: JsonObject[] = []
      for await (const call of client.calls('r-1')) found.push(call)
      return found.length > 0 ? found : undefined
    }, 'the calls of the run')
    assert.ok(calls.length >= received - 1, `${calls.length} calls of ${received - 1} requests`)
    assert.ok(
      calls.filter(({ status }) => status === 'claimed').length <= 1,
      'but for the one that was killed, all have an outcome',
    )
    await server.stop()
    const written = bytesBelow(server.data)
    for (const text of [written, server.output]) {
      assert.not.match(text, UPSTREAM_KEY)
      assert.not.match(text, key)
    }
    provider.closeAllConnections()
    provider.close()
  },
)

served.run()
