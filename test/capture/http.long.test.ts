import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { createClient } from '../../src/client/client.ts'
import { cleanEnv, spawnTracked } from '../support/command-line.ts'
import { freePort } from '../support/free-port.ts'
import { asked, fileFor } from '../support/mcp-host.ts'
import { startHttpPeer } from '../support/mcp-http-peer.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const http = suite('capture: streamable HTTP, with processes')

const require = createRequire(import.meta.url)
const EVERYTHING = join(
  dirname(require.resolve('@modelcontextprotocol/server-everything/package.json')),
  'dist/index.js',
)

async function listens(url: string, child: ChildProcess): Promise<void> {
  await eventually(async () => {
    assert.is(child.exitCode, null, 'the server has ended')
    return (await fetch(url).catch(() => undefined)) === undefined ? undefined : true
  }, 'the server')
}

function transportTo(ledger: ServerProcess, token: string): StreamableHTTPClientTransport {
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  return new StreamableHTTPClientTransport(new URL(`${ledger.url}/mcp/peer`), { requestInit })
}

http(
  'the SDK works through the proxy with the everything server over HTTP: session, progress, images, and its end; a session is its own caller alone (CAP-41, CAP-45)',
  async () => {
    using folder = tempFolder()
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/mcp`
    const child = spawnTracked([process.execPath, EVERYTHING, 'streamableHttp'], {
      env: cleanEnv({ PORT: String(port) }),
      stdio: 'ignore',
    })
    try {
      await listens(url, child)
      await using ledger = await startServer({ args: fileFor(folder, url, 'everything') })
      const token = await ledger.token({ scopes: ['runs:write', 'runs:read'] })
      const transport = transportTo(ledger, token)
      const client = new Client({ name: 'test', version: '1' })
      await client.connect(transport)
      const id = transport.sessionId ?? ''
      assert.ok(id !== '')
      assert.ok((await client.listTools()).tools.length > 5)
      assert.ok((await client.listResources()).resources.length > 0)
      const echo = await client.callTool({ name: 'echo', arguments: { message: 'hi' } })
      assert.match(JSON.stringify(echo), /hi/)
      const steps: number[] = []
      const long = { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 4 } }
      await client.callTool(long, { onprogress: ({ progress }) => steps.push(progress) })
      assert.ok(steps.length >= 3, `progress comes while the call runs: ${steps}`)
      const image = await client.callTool({ name: 'get-tiny-image', arguments: {} })
      assert.ok(JSON.stringify(image).length > 1_000)

      const stranger = await ledger.token({ subject: 'mallory', scopes: ['runs:write', 'runs:read'] })
      for (const method of ['GET', 'POST', 'DELETE']) {
        const headers = {
          authorization: `Bearer ${stranger}`,
          'mcp-session-id': id,
          'content-type': 'application/json',
        }
        const body = method === 'POST' ? { body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' } : {}
        assert.is((await fetch(`${ledger.url}/mcp/peer`, { method, headers, ...body })).status, 404, method)
      }
      await transport.terminateSession()
      await client.close()
      const api = createClient({ url: ledger.url, token })
      const runs: JsonObject[] = []
      for await (const run of api.runs({ name: 'mcp' })) runs.push(run)
      assert.equal(
        runs.map(({ status, tags }) => [status, tags]),
        [['completed', ['mcp', 'peer']]],
      )
      const calls: string[] = []
      for await (const { tool, status } of api.calls(String(runs[0]?.runId))) calls.push(`${tool} ${status}`)
      assert.equal(calls, ['echo succeeded', 'trigger-long-running-operation succeeded', 'get-tiny-image succeeded'])
    } finally {
      child.kill('SIGKILL')
    }
  },
)

http('the SDK of 2026-07-28 works through the proxy, without a session (CAP-41, CAP-42)', async () => {
  using folder = tempFolder()
  await using peer = await startHttpPeer()
  await using ledger = await startServer({ args: fileFor(folder, peer.url, { add: 'none' }) })
  const token = await ledger.token({ scopes: ['runs:write', 'runs:read'] })
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  await client.connect(transportTo(ledger, token))
  assert.equal(
    (await client.listTools()).tools.map(({ name }) => name),
    ['add'],
  )
  assert.match(JSON.stringify(await client.callTool({ name: 'add', arguments: { n: 1 } })), /done/)
  assert.match(JSON.stringify(await client.callTool({ name: 'streams', arguments: { events: 2 } })), /streamed/)
  const refused = await client.callTool({ name: 'cut', arguments: {} })
  assert.match(JSON.stringify(refused), /Whether cut was executed is not known/)
  await client.close()
  assert.ok(peer.seen.every(({ headers }) => headers['mcp-session-id'] === undefined))
})

http('a stream of 60 MB that its reader takes slowly is not held in memory (CAP-41)', async () => {
  using folder = tempFolder()
  await using peer = await startHttpPeer()
  await using ledger = await startServer({ args: fileFor(folder, peer.url, {}) })
  const token = await ledger.token({ scopes: ['runs:write', 'runs:read'] })
  const rss = (): number =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${ledger.pid}/status`, 'utf8'))?.[1]) / 1_024
  const read = async (events: number): Promise<number> => {
    const answer = await asked(ledger, token, { name: 'streams', arguments: { events, size: 100_000 } })
    let most = 0
    let bytes = 0
    for await (const part of answer.body ?? []) {
      bytes += part.byteLength
      if (bytes % 7 === 0) await sleep(1)
      most = Math.max(most, rss())
    }
    assert.ok(bytes > events * 100_000)
    return most
  }
  const small = await read(100)
  const large = await read(600)
  process.stdout.write(`resident at most: ${small.toFixed(0)} MiB with 10 MB, ${large.toFixed(0)} MiB with 60 MB\n`)
  assert.ok(large < small + 40, `${small} MiB, then ${large} MiB`)
})

http.run()
