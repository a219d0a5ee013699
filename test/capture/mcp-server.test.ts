import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { mcpReads } from '../../src/capture/mcp-server/http.ts'
import { seedDashboard } from '../support/dashboard-seed.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('capture: the MCP server over a ledger')

const ORIGIN = 'http://ledger.test'

async function edgeWithRuns(): Promise<TestEdge> {
  const edge = await testEdge({
    ...{ realClock: false, audit: true, merkleLogs: true, tenant: 'acme', revocable: true },
    mcpReads: mcpReads('1.2.3', ['https://notebook.example']),
  })
  edge.inner.clock.nowMs = Date.now() - 3_600_000
  await seedDashboard({ ledger: edge.inner.ledger, wait: (ms) => (edge.inner.clock.nowMs += ms) })
  return edge
}

/** A client of the official package, which checks each answer against the tool's output schema. */
async function clientOf(edge: TestEdge, token: string): Promise<Client> {
  const transport = new StreamableHTTPClientTransport(new URL(`${ORIGIN}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
    fetch: async (url, init) => edge.app.request(String(url), init),
  })
  const client = new Client({ name: 'auditor', version: '1' })
  await client.connect(transport)
  // From here on the client knows the output schemas.
  await client.listTools()
  return client
}

async function ask(client: Client, name: string, args: JsonObject = {}): Promise<JsonObject> {
  const { structuredContent, isError, content } = await client.callTool({ name, arguments: args })
  assert.not(isError, JSON.stringify(content))
  assert.equal(JSON.parse((content as { text: string }[])[0]?.text ?? ''), structuredContent)
  return structuredContent as JsonObject
}

test("an auditor's questions are answered with the rows that HTTP gives, each read under the caller's token and recorded (CAP-60)", async () => {
  await using edge = await edgeWithRuns()
  const client = await clientOf(edge, await edge.token({ subject: 'olga' }))
  const { tools } = await client.listTools()
  assert.equal(tools.map(({ name }) => name).sort(), [
    ...['audit_query', 'budget_left', 'event_with_proof', 'find_runs', 'open_calls', 'pending_approvals', 'run_report'],
  ])
  assert.ok(tools.every(({ annotations }) => annotations?.readOnlyHint === true))
  const pairs = [
    ['find_runs', { status: 'open', limit: 3 }, '/v1/runs?status=open&limit=3'],
    ['run_report', { run: 'claim-2291' }, '/v1/runs/claim-2291'],
    ['budget_left', { run: 'claim-2291' }, '/v1/runs/claim-2291/budget'],
    ['open_calls', { status: 'in-doubt' }, '/v1/calls?status=in-doubt'],
    ['pending_approvals', {}, '/v1/approvals'],
    ['audit_query', { query: 'rejections', limit: 5 }, '/v1/audit/rejections?limit=5'],
    ['audit_query', { query: 'spend', by: 'agent' }, '/v1/audit/spend?by=agent'],
  ] as const
  for (const [tool, args, path] of pairs) {
    // Cursors are other ones each time, and what is read is recorded.
    const without = ({ asOf, nextCursor, tailCursor, ...rest }: JsonObject): JsonObject => ({
      ...rest,
      has: [asOf, nextCursor, tailCursor].map((each) => typeof each),
    })
    assert.equal(
      without(await ask(client, tool, args)),
      without((await (await edge.get(path)).json()) as JsonObject),
      tool,
    )
  }
  const { logs } = edge.inner.ledger
  assert.ok(logs)
  await logs.publish()
  const { items } = await ask(client, 'audit_query', { query: 'rejections' })
  const [rejected] = items as readonly { event: string }[]
  const { event, proof } = await ask(client, 'event_with_proof', { event: String(rejected?.event) })
  assert.is((event as JsonObject).type ?? ((event as JsonObject).header as JsonObject)?.type, 'EnvelopeRejected')
  assert.match(String(proof ?? ''), /^c2sp.org\/tlog-proof@v1\n/)
  const access = await ask(client, 'audit_query', { query: 'access' })
  assert.match(JSON.stringify(access.items), /olga/)
})

test('what the token may not read, and what does not exist, is told as a result that a model reads (CAP-60)', async () => {
  await using edge = await edgeWithRuns()
  const bound = await clientOf(edge, await edge.token({ scopes: ['runs:read'], run: 'claim-2292' }))
  const refusal = async (client: Client, name: string, args: JsonObject): Promise<string> => {
    const { isError, content } = await client.callTool({ name, arguments: args })
    assert.is(isError, true)
    return (content as { text: string }[])[0]?.text ?? ''
  }
  assert.match(await refusal(bound, 'run_report', { run: 'claim-2291' }), /^run-mismatch: /)
  assert.match(await refusal(bound, 'audit_query', { query: 'runs' }), /scope-missing/)
  const stranger = await clientOf(edge, await edge.token({ tenant: edge.foreign }))
  assert.match(await refusal(stranger, 'run_report', { run: 'claim-2291' }), /run-not-found/)
  assert.equal((await ask(stranger, 'find_runs')).items, [])
  const client = await clientOf(edge, await edge.token())
  assert.match(await refusal(client, 'run_report', { run: '..' }), /names nothing/)
  assert.match(await refusal(client, 'run_report', { run: 'claim-2291', x: 1 }), /there is no x here/)
  assert.match(await refusal(client, 'run_report', {}), /run is a text/)
  assert.match(await refusal(client, 'audit_query', { query: '../runs' }), /query is one of/)
  assert.match(await refusal(client, 'audit_query', { query: 'runs', limit: 'x' }), /invalid-query: \/limit/)
})

test('requests without a session are answered by the revision they name, and no other site may ask (CAP-60)', async () => {
  await using edge = await edgeWithRuns()
  const token = await edge.token()
  const send = (message: unknown, more: Record<string, string> = {}, method = 'POST') =>
    edge.app.request('/mcp', {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more },
      ...(method === 'POST' && { body: JSON.stringify(message) }),
    })
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const stateless = (name: string, more: Record<string, string> = {}) => ({
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': name,
    ...more,
  })
  const discover = { jsonrpc: '2.0', id: 1, method: 'server/discover', params: { _meta: meta } }
  const found = (await (await send(discover, stateless('server/discover'))).json()) as { result: JsonObject }
  assert.equal(found.result.resultType, 'complete')
  assert.ok((found.result.supportedVersions as string[]).includes('2026-07-28'))
  const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'find_runs', _meta: meta } }
  assert.is((await send(call, stateless('tools/call', { 'mcp-name': 'find_runs' }))).status, 200)
  assert.is((await send(call, stateless('tools/call', { 'mcp-name': 'run_report' }))).status, 400)
  const none = { jsonrpc: '2.0', id: 3, method: 'prompts/list', params: { _meta: meta } }
  assert.is((await send(none, stateless('prompts/list'))).status, 404)
  assert.is((await send({ jsonrpc: '2.0', method: 'notifications/initialized' })).status, 202)
  assert.is((await send({}, {}, 'GET')).status, 405)
  assert.is((await send([discover])).status, 400)
  assert.is((await send(discover, { origin: 'https://evil.example' })).status, 403)
  assert.is((await send(discover, stateless('server/discover', { origin: 'https://notebook.example' }))).status, 200)
  assert.is((await send(discover, { authorization: 'Bearer x' })).status, 401)
  const writer = { authorization: `Bearer ${await edge.token({ scopes: ['runs:write'] })}` }
  assert.is((await send(discover, writer)).status, 403)
})

test.run()
