import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { BIN, cleanEnv } from '../support/command-line.ts'
import { startServer } from '../support/server-process.ts'

const test = suite('capture: the MCP server on stdio')

test('a host on stdio reads the ledger of a server as HTTP shows it, and ends the program with its input (CAP-60)', async () => {
  await using server = await startServer()
  const token = await server.token()
  const client = server.clientOf(token, 1)
  assert.is((await client.post('/v1/runs', { id: 'order-1', name: 'order' })).status, 201)
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [BIN, 'mcp-server', '--url', server.url],
    env: cleanEnv({ COUNTERSIGN_TOKEN: token }) as Record<string, string>,
  })
  const host = new Client({ name: 'host', version: '1' })
  await host.connect(transport)
  await host.listTools()
  const { structuredContent } = await host.callTool({ name: 'find_runs', arguments: { name: 'order' } })
  const rows = (structuredContent as { items: { runId: string }[] }).items
  assert.equal(
    rows.map(({ runId }) => runId),
    ['order-1'],
  )
  const { isError, content } = await host.callTool({ name: 'run_report', arguments: { run: 'nobody' } })
  assert.ok(isError)
  assert.match((content as { text: string }[])[0]?.text ?? '', /there is no run nobody/)
  await host.close()
  assert.is(transport.pid, null, 'the program has ended')
})

test.run()
