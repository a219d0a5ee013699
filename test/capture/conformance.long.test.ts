import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer, request as httpRequest } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { createClient } from '../../src/client/client.ts'
import { cleanEnv, runCommand } from '../support/command-line.ts'
import { fileFor } from '../support/mcp-host.ts'
import { startReferenceServer } from '../support/reference-mcp-server.ts'
import { startServer } from '../support/server-process.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'

const conformance = suite('capture: the conformance suite of MCP through the proxy')

const require = createRequire(import.meta.url)
const PROGRAM = join(dirname(require.resolve('@modelcontextprotocol/conformance/package.json')), 'dist/index.js')
const REVISIONS = ['2025-11-25', '2026-07-28'] as const
/** What the reference server does not have: see the page on the proxy. Their checks must come out alike as well. */
const NOT_OFFERED = /^(tasks-|json-schema-2020-12|http-custom-header|server-sse-polling)/

interface Way extends AsyncDisposable {
  readonly url: string
}

/** The suite cannot send a token, so this adds one; it stands before the server itself as well, so that both ways differ by the proxy alone. */
async function withToken(target: string, token: string): Promise<Way> {
  const server = createServer((incoming, answer) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${token}` }
    const outgoing = httpRequest(target, { method: incoming.method, headers, agent: false }, (came) => {
      answer.writeHead(came.statusCode ?? 502, came.headers)
      answer.flushHeaders()
      came.pipe(answer).once('close', () => came.destroy())
    })
    outgoing.on('error', () => answer.destroy())
    incoming.pipe(outgoing)
    answer.once('close', () => outgoing.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Every check of the suite with its outcome, in order, as `scenario check STATUS`. */
async function checksOf(folder: TempFolder, { url }: Way, revision: string, name: string): Promise<readonly string[]> {
  const out = folder.file(`${name}-${revision}`)
  const command = [process.execPath, PROGRAM, 'server', '--url', url, '--requirements', revision, '-o', out]
  const { stdout, stderr } = await runCommand(command, { env: cleanEnv(), cwd: folder.path })
  assert.match(stdout, /=== SUMMARY ===/, stderr)
  return readdirSync(out)
    .sort()
    .flatMap((each) => {
      const scenario = each.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '')
      const checks = JSON.parse(readFileSync(join(out, each, 'checks.json'), 'utf8')) as JsonObject[]
      return checks.map(({ id, status }) => `${scenario} ${String(id)} ${String(status)}`)
    })
}

const only = (these: readonly string[], those: readonly string[]): readonly string[] =>
  these.filter((each) => !those.includes(each))

conformance(
  'every check of the suite, for both revisions, comes out through the proxy as it does without; each executed call is on record once (A520, CAP-41, CAP-42)',
  async () => {
    using folder = tempFolder()
    await using reference = await startReferenceServer()
    await using ledger = await startServer({ args: fileFor(folder, reference.url, {}) })
    const token = await ledger.token({ scopes: ['runs:write', 'runs:read'] })
    await using direct = await withToken(reference.url, token)
    await using proxied = await withToken(`${ledger.url}/mcp/peer`, token)
    for (const revision of REVISIONS) {
      const without = await checksOf(folder, direct, revision, 'direct')
      reference.executed.clear()
      const through = await checksOf(folder, proxied, revision, 'proxied')
      const passed = without.filter((check) => check.endsWith(' SUCCESS')).length
      process.stdout.write(`${revision}: ${without.length} checks, ${passed} passed without the proxy\n`)
      assert.equal(only(through, without), [], 'alike: through the proxy alone')
      assert.equal(only(without, through), [], 'alike: without it alone')
      assert.ok(passed > 70, `${passed} checks passed`)
      assert.equal(
        without.filter((check) => check.endsWith(' FAILURE') && !NOT_OFFERED.test(check)),
        [],
      )
    }
    const executed = [...reference.executed.values()].reduce((sum, count) => sum + count, 0)
    const api = createClient({ url: ledger.url, token })
    const recorded: string[] = []
    for await (const run of api.runs({ name: 'mcp' }))
      for await (const { tool, status } of api.calls(String(run.runId))) recorded.push(`${tool} ${status}`)
    assert.ok(executed > 0 && recorded.length >= executed, `${executed} executed, ${recorded.length} recorded`)
  },
)

conformance.run()
