/** @module The latency that the MCP proxy adds to a tool call over HTTP: compared with the server alone, and with the two commands of the ledger that it needs. */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient } from '../src/client/client.ts'
import { type Bench, type BenchGroup, scaled } from './bench.ts'
import type { BenchOptions } from './options.ts'
import { ratioRow } from './report.ts'
import { makeToken, serveLedger } from './server-child.ts'
import { median, percentile, Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

const CALLS = 300
const WARM_UP = 20
const SHARES = { p50: 0.5, p99: 0.99 } as const
const REVISION = '2026-07-28'
const META = { 'io.modelcontextprotocol/protocolVersion': REVISION, 'io.modelcontextprotocol/clientCapabilities': {} }
const CONTENT = [{ type: 'text', text: 'done' }]

export const mcpHttp: BenchGroup = {
  name: 'MCP proxy over HTTP',
  ids: Object.keys(SHARES).map((share) => `mcp http ${share}`),
  open,
}

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const data = folder.at('data')
  const tools = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.once('end', () => {
      const { id } = JSON.parse(Buffer.concat(parts).toString('utf8')) as { readonly id: number }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', content: CONTENT } }))
    })
  })
  await new Promise<void>((resolve) => tools.listen(0, '127.0.0.1', resolve))
  const direct = `http://127.0.0.1:${(tools.address() as AddressInfo).port}/mcp`
  writeFileSync(
    folder.at('mcp.json'),
    JSON.stringify({ servers: { tools: { url: direct, effects: { read: 'none' } } } }),
  )
  const ledger = await serveLedger(data, [], ['--mcp', folder.at('mcp.json')])
  const token = makeToken(data, 'runs:write runs:read')
  const client = createClient({ url: ledger.url, token })
  await client.execute('', { kind: 'start', body: { id: 'commands', name: 'bench' } })
  const samples = new Samples()
  let turn = 0
  const commands = async (): Promise<void> => {
    turn += 1
    const { body } = await client.execute('commands', { kind: 'claim', body: { tool: 'read', args: { n: turn } } })
    const settle = { fence: Number(body.fence), result: { content: CONTENT } }
    await client.execute('commands', { kind: 'settle', callId: String(body.callId), body: settle })
  }
  const call = async (url: string): Promise<void> => {
    turn += 1
    await called(url, token, turn)
  }
  const proxied = `${ledger.url}/mcp/tools`
  for (const url of [direct, proxied]) for (let n = 0; n < WARM_UP; n += 1) await call(url)
  return {
    round: async () => {
      const times = { proxied: [] as number[], direct: [] as number[], commands: [] as number[] }
      for (let n = 0; n < scaled(options, CALLS); n += 1) {
        times.direct.push(await timed(() => call(direct)))
        times.proxied.push(await timed(() => call(proxied)))
        times.commands.push(await timed(commands))
      }
      for (const [share, part] of Object.entries(SHARES)) {
        for (const side of ['proxied', 'direct', 'commands'] as const)
          samples.add(`${side} ${share}`, percentile(times[side], part))
        samples.add(`added ${share}`, percentile(times.proxied, part) - percentile(times.direct, part))
      }
    },
    rows: () => Object.keys(SHARES).map((share) => rowOf(samples, share)),
    [Symbol.asyncDispose]: async () => {
      await ledger[Symbol.asyncDispose]()
      tools.closeAllConnections()
      tools.close()
      folder[Symbol.dispose]()
    },
  }
}

function rowOf(samples: Samples, share: string) {
  const [proxied = 0, direct = 1] = ['proxied', 'direct'].map((side) => median(samples.of(`${side} ${share}`)))
  return ratioRow(samples, {
    id: `mcp http ${share}`,
    what: `what the proxy adds to a call over HTTP, ${share} ÷ its claim and its settling over HTTP alone`,
    unit: 'ms',
    over: [`added ${share}`, `commands ${share}`],
    bound: 'at-most',
    floor: 5,
    target: 2,
    note: `a call takes ${proxied.toFixed(1)} ms through the proxy and ${direct.toFixed(1)} ms without: ${(proxied / direct).toFixed(1)} times as long`,
  })
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now()
  await work()
  return performance.now() - beganMs
}

async function called(url: string, token: string, n: number): Promise<void> {
  const params = { name: 'read', arguments: { n }, _meta: META }
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      ...{ authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json' },
      ...{ 'mcp-protocol-version': REVISION, 'mcp-method': 'tools/call', 'mcp-name': 'read' },
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/call', params }),
  })
  const text = await response.text()
  if (!response.ok || text.includes('isError')) throw new Error(`the call was not answered: ${text}`)
}
