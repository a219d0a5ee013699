/** @module The latency that the MCP proxy adds to a tool call: compared with the server alone, and with the two commands of the ledger that the proxy needs. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { createClient } from '../src/client/client.ts'
import { type Bench, type BenchGroup, scaled } from './bench.ts'
import type { BenchOptions } from './options.ts'
import { type Row, ratioRow } from './report.ts'
import { CLI, makeToken, serveLedger } from './server-child.ts'
import { percentile, Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

const SERVER = [process.execPath, fileURLToPath(new URL('./tool-server-child.js', import.meta.url))]
const CALLS = 500
const WARM_UP = 20
const TOOLS = ['read', 'write'] as const
const SHARES = { p50: 0.5, p99: 0.99 } as const
const IDS = TOOLS.flatMap((tool) => Object.keys(SHARES).map((share) => `mcp ${tool} ${share}`))
/** After its claim, a call with effects checks the open calls of all runs. */
const WHAT = { read: 'a tool without effects', write: 'a tool with effects' }

export const mcpProxy: BenchGroup = { name: 'MCP proxy', ids: IDS, open }

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const data = folder.at('data')
  const ledger = await serveLedger(data)
  const token = makeToken(data, 'runs:write runs:read')
  writeFileSync(folder.at('effects.json'), '{"tools": {"read": "none"}}')
  const proxied = [
    process.execPath,
    CLI,
    'mcp',
    '--url',
    ledger.url,
    '--effects',
    folder.at('effects.json'),
    '--',
    ...SERVER,
  ]
  const [through, direct] = [start(proxied, token), start(SERVER, token)]
  const client = createClient({ url: ledger.url, token })
  await client.execute('', { kind: 'start', body: { id: 'commands', name: 'bench' } })
  const samples = new Samples()
  const count = scaled(options, CALLS)
  for (const side of [through, direct]) for (let n = 0; n < WARM_UP; n += 1) await side.call('read', n)
  let turn = 0
  const commands = async (tool: string): Promise<void> => {
    turn += 1
    const { body } = await client.execute('commands', { kind: 'claim', body: { tool, args: { n: turn } } })
    const settle = { fence: Number(body.fence), result: { content: [{ type: 'text', text: 'done' }] } }
    await client.execute('commands', { kind: 'settle', callId: String(body.callId), body: settle })
  }
  return {
    round: async () => {
      for (const tool of TOOLS) {
        const times = { proxied: [] as number[], direct: [] as number[], commands: [] as number[] }
        for (let n = 0; n < count; n += 1) {
          turn += 1
          times.direct.push(await timed(() => direct.call(tool, turn)))
          times.proxied.push(await timed(() => through.call(tool, turn)))
          times.commands.push(await timed(() => commands(tool)))
        }
        for (const [share, part] of Object.entries(SHARES)) {
          samples.add(`added ${tool} ${share}`, percentile(times.proxied, part) - percentile(times.direct, part))
          samples.add(`commands ${tool} ${share}`, percentile(times.commands, part))
        }
      }
    },
    rows: () => TOOLS.flatMap((tool) => Object.keys(SHARES).map((share) => rowOf(samples, tool, share))),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([through.end(), direct.end()])
      await ledger[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

function rowOf(samples: Samples, tool: (typeof TOOLS)[number], share: string): Row {
  return ratioRow(samples, {
    id: `mcp ${tool} ${share}`,
    what: `what the proxy adds to a call of ${WHAT[tool]}, ${share} ÷ its claim and its settling over HTTP alone`,
    unit: 'ms',
    over: [`added ${tool} ${share}`, `commands ${tool} ${share}`],
    bound: 'at-most',
    floor: 5,
    target: 2,
  })
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now()
  await work()
  return performance.now() - beganMs
}

interface Side {
  readonly call: (tool: string, n: number) => Promise<void>
  readonly end: () => Promise<void>
}

/** One call at a time. */
function start([program = '', ...args]: readonly string[], token: string): Side {
  const env = { ...process.env, COUNTERSIGN_TOKEN: token }
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(program, args, {
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let id = 0
  return {
    call: async (name, n) => {
      id += 1
      child.stdin.write(
        `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: { n } } })}\n`,
      )
      const { value = '', done } = await lines.next()
      if (done === true || value.includes('"isError":true')) throw new Error(`the call was not answered: ${value}`)
    },
    end: async () => {
      const ended = once(child, 'exit')
      child.stdin.end()
      // The server of this bench ends when its input ends, and then the proxy ends.
      await ended
    },
  }
}
