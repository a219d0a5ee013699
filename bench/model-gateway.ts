/**
 * @module The latency that the model gateway adds to the first token of a stream: compared with the provider alone, and with the claim that the gateway needs.
 */
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createClient } from '../src/client/client.ts'
import { type Bench, type BenchGroup, scaled } from './bench.ts'
import type { BenchOptions } from './options.ts'
import { ratioRow } from './report.ts'
import { makeToken, serveLedger } from './server-child.ts'
import { percentile, Samples } from './statistics.ts'
import { makeTempFolder } from './temp-folder.ts'

const REQUESTS = 200
const WARM_UP = 20
const SHARES = { p50: 0.5, p99: 0.99 } as const
const BODY = JSON.stringify({
  model: 'm',
  max_tokens: 50,
  stream: true,
  messages: [{ role: 'user', content: 'Say hello.' }],
})
const FRAMES = [
  'data: {"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":null}]}\n\n',
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
  'data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}\n\n',
  'data: [DONE]\n\n',
]

export const modelGateway: BenchGroup = {
  name: 'model gateway',
  ids: Object.keys(SHARES).map((share) => `gateway first token ${share}`),
  open,
}

async function open(options: BenchOptions): Promise<Bench> {
  const folder = makeTempFolder(options.folder)
  const data = folder.at('data')
  const provider = createServer((request, response) => {
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const frame of FRAMES) response.write(frame)
      response.end()
    })
  })
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve))
  const direct = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/v1`
  writeFileSync(folder.at('key'), 'bench-key-0123')
  const upstreams = { openai: { url: direct, key: { file: folder.at('key') } } }
  writeFileSync(folder.at('gateway.json'), JSON.stringify({ upstreams }))
  const ledger = await serveLedger(data, [], ['--gateway', folder.at('gateway.json')])
  const token = makeToken(data, 'runs:write runs:read')
  const client = createClient({ url: ledger.url, token })
  await client.execute('', { kind: 'start', body: { id: 'commands', name: 'bench' } })
  const samples = new Samples()
  const count = scaled(options, REQUESTS)
  const first = (base: string): Promise<number> => firstToken(`${base}/chat/completions`, token)
  const gateway = `${ledger.url}/openai/v1`
  for (const base of [direct, gateway]) for (let n = 0; n < WARM_UP; n += 1) await first(base)
  return {
    round: async () => {
      const times = { through: [] as number[], direct: [] as number[], claim: [] as number[] }
      for (let n = 0; n < count; n += 1) {
        times.direct.push(await first(direct))
        times.through.push(await first(gateway))
        const beganMs = performance.now()
        await client.execute('commands', {
          kind: 'claim',
          body: { tool: 'model:openai', phase: 'model', key: crypto.randomUUID(), args: JSON.parse(BODY) },
        })
        times.claim.push(performance.now() - beganMs)
      }
      for (const [share, part] of Object.entries(SHARES)) {
        samples.add(`added ${share}`, percentile(times.through, part) - percentile(times.direct, part))
        samples.add(`claim ${share}`, percentile(times.claim, part))
      }
    },
    rows: () =>
      Object.keys(SHARES).map((share) =>
        ratioRow(samples, {
          id: `gateway first token ${share}`,
          what: `what the gateway adds to the first token of a stream, ${share} ÷ a claim over HTTP alone`,
          unit: 'ms',
          over: [`added ${share}`, `claim ${share}`],
          bound: 'at-most',
          floor: 6,
          target: 3,
        }),
      ),
    [Symbol.asyncDispose]: async () => {
      await ledger[Symbol.asyncDispose]()
      provider.closeAllConnections()
      provider.close()
      folder[Symbol.dispose]()
    },
  }
}

/** Milliseconds to the first bytes of the answer; the rest is read as well. */
async function firstToken(url: string, token: string): Promise<number> {
  const beganMs = performance.now()
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: BODY,
  })
  let ms: number | undefined
  for await (const _ of response.body ?? []) ms ??= performance.now() - beganMs
  if (ms === undefined || !response.ok) throw new Error(`the answer has status ${response.status}`)
  return ms
}
