import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { BIN, cleanEnv } from '../support/command-line.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const servers = suite('capture: official servers')

const require = createRequire(import.meta.url)
const programOf = (name: string): string =>
  join(dirname(require.resolve(`@modelcontextprotocol/server-${name}/package.json`)), 'dist/index.js')

interface Place {
  readonly ledger: Awaited<ReturnType<typeof startServer>>
  readonly env?: NodeJS.ProcessEnv
}

async function connected({ ledger, env = {} }: Place, server: string, ...args: readonly string[]) {
  const token = await ledger.token({ scopes: ['runs:write', 'runs:read'] })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [
      BIN,
      'mcp',
      '--url',
      ledger.url,
      '--server',
      server,
      '--effects',
      server,
      '--',
      process.execPath,
      programOf(server),
      ...args,
    ],
    env: { ...cleanEnv(env), COUNTERSIGN_TOKEN: token } as Record<string, string>,
    stderr: 'ignore',
  })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  return client
}

const textOf = (result: object): string =>
  ((result as { content?: readonly { text?: string }[] }).content ?? []).map(({ text = '' }) => text).join('\n')

async function recorded(ledger: Place['ledger']) {
  const api = await ledger.client()
  const items = async (path: string) => (await api.get(path)).body.items as readonly JsonObject[]
  const runs = await items('/v1/runs?name=mcp')
  const all: JsonObject[] = []
  for (const { runId } of runs) all.push(...(await items(`/v1/runs/${String(runId)}/calls`)))
  return { runs, calls: all }
}

servers(
  'the filesystem server works behind the proxy with the SDK, and every call is on record as it was answered (CAP-3, CAP-13)',
  async () => {
    await using ledger = await startServer()
    using folder = tempFolder()
    writeFileSync(folder.file('a.txt'), 'hello')
    const client = await connected({ ledger }, 'filesystem', folder.path)
    const { tools } = await client.listTools()
    assert.ok(tools.length > 10)
    const read = await client.callTool({ name: 'read_text_file', arguments: { path: folder.file('a.txt') } })
    assert.is(textOf(read), 'hello')
    await client.callTool({
      name: 'write_file',
      arguments: { path: folder.file('b.txt'), content: 'x'.repeat(300_000) },
    })
    await client.callTool({
      name: 'move_file',
      arguments: { source: folder.file('b.txt'), destination: folder.file('c.txt') },
    })
    const missing = await client.callTool({ name: 'read_text_file', arguments: { path: folder.file('none') } })
    assert.is(missing.isError, true)
    await client.close()
    assert.is(readFileSync(folder.file('c.txt'), 'utf8').length, 300_000)
    const { runs, calls } = await recorded(ledger)
    assert.equal(
      runs.map(({ status }) => status),
      ['completed'],
    )
    assert.equal(
      calls.map(({ tool, status }) => `${tool} ${status}`),
      ['read_text_file succeeded', 'write_file succeeded', 'move_file succeeded', 'read_text_file succeeded'],
    )
    assert.equal((calls[0]?.result as JsonObject | undefined)?.content, read.content)
  },
)

servers('the memory server keeps what it is told', async () => {
  await using ledger = await startServer()
  using folder = tempFolder()
  const client = await connected({ ledger, env: { MEMORY_FILE_PATH: folder.file('memory.jsonl') } }, 'memory')
  const entities = [{ name: 'Ann', entityType: 'person', observations: ['tall'] }]
  await client.callTool({ name: 'create_entities', arguments: { entities } })
  const graph = await client.callTool({ name: 'read_graph', arguments: {} })
  assert.match(textOf(graph), /Ann/)
  await client.close()
  assert.equal(
    (await recorded(ledger)).calls.map(({ status }) => status),
    ['succeeded', 'succeeded'],
  )
})

servers(
  'the everything server: images, prompts, resources, long calls with progress; no secret is on record (CAP-1, CAP-11)',
  async () => {
    await using ledger = await startServer()
    const secret = 'sk-very-secret-0123456789'
    const client = await connected({ ledger, env: { SOME_API_KEY: secret } }, 'everything')
    const image = await client.callTool({ name: 'get-tiny-image', arguments: {} })
    assert.ok(JSON.stringify(image).length > 1_000, 'the host gets the whole image')
    const env = await client.callTool({ name: 'get-env', arguments: {} })
    assert.match(textOf(env), secret)
    assert.not.match(textOf(env), 'COUNTERSIGN_TOKEN', 'the server does not get the token')
    assert.ok((await client.listPrompts()).prompts.length > 0)
    assert.ok((await client.listResources()).resources.length > 0)
    const steps: number[] = []
    await client.callTool(
      { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 4 } },
      { onprogress: ({ progress }) => steps.push(progress) },
    )
    assert.ok(steps.length >= 3, `progress comes while the call runs: ${steps}`)
    await client.close()
    const { calls } = await recorded(ledger)
    assert.is(calls.length, 3)
    const text = JSON.stringify(calls)
    assert.match(text, /"kept":false/)
    assert.not.match(text, secret)
    assert.match(text, /secret of the environment: SOME_API_KEY/)
  },
)

servers.run()
