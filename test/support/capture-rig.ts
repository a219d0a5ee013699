/** @module The relay over a real ledger in memory, with a host and a server that a test speaks for, and a network that it cuts. */
import { Buffer } from 'node:buffer'
import type { JsonObject } from '../../schemas/json.ts'
import { CallRecord, type CallRecordOptions } from '../../src/capture/call-record.ts'
import { DefinitionsRecord } from '../../src/capture/definitions-record.ts'
import type { RawLine } from '../../src/capture/lines.ts'
import { Relay, type Write } from '../../src/capture/relay.ts'
import { SessionRun } from '../../src/capture/session-run.ts'
import { UrlApprovals } from '../../src/capture/url-approvals.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { type TestEdge, testEdge } from './test-edge.ts'
import { eventually } from './within.ts'

export interface CaptureRig extends AsyncDisposable {
  readonly edge: TestEdge
  readonly client: Client
  readonly run: SessionRun
  readonly calls: CallRecord
  readonly relay: Relay
  /** What each side was sent, a line an entry. */
  readonly toHost: string[]
  readonly toServer: string[]
  readonly said: string[]
  /** `lost`: the ledger carries out what it is sent, and its answer does not come. */
  readonly network: { state: 'up' | 'down' | 'lost' }
  readonly host: (message: object | string) => Promise<void>
  readonly server: (message: object | string) => Promise<void>
  /** Sends a call and waits until it was forwarded or answered. */
  readonly call: (id: number, tool: string, args?: object, meta?: object) => Promise<void>
  readonly answered: (id: number) => Promise<JsonObject>
  /** Calls of the run, as the ledger has them. */
  readonly recorded: () => Promise<readonly JsonObject[]>
  readonly types: () => Promise<readonly string[]>
}

export interface RigOptions extends Partial<Omit<CallRecordOptions, 'client' | 'run'>> {
  /** How long a call waits for its approval where the host shows URLs. */
  readonly waitMs?: number
  readonly edge?: TestEdge
  readonly named?: string
  readonly pin?: string
}

export async function captureRig({
  edge: given,
  named,
  pin,
  waitMs,
  ...options
}: RigOptions = {}): Promise<CaptureRig> {
  const edge = given ?? (await testEdge())
  const network: CaptureRig['network'] = { state: 'up' }
  const client = createClient({
    url: 'http://ledger.test',
    token: await edge.token(),
    retries: 0,
    fetch: async (url, init) => {
      if (network.state === 'down') throw new TypeError('fetch failed')
      const answer = await edge.app.request(url, init)
      if (network.state === 'lost') throw new TypeError('fetch failed')
      return answer
    },
  })
  const run = new SessionRun({ client, named, server: 'tools', transport: 'stdio' })
  const [toHost, toServer, said]: [string[], string[], string[]] = [[], [], []]
  const say = (text: string): void => void said.push(text)
  const calls = new CallRecord({
    ...{ client, run, server: 'tools', agent: undefined, effects: {}, secrets: [], owner: undefined },
    ...{ whenAway: 'refuse', desk: { url: 'http://ledger.test' } },
    ...options,
  })
  const definitions = new DefinitionsRecord({
    ...{ client, run, server: 'tools', pin, say },
    secrets: options.secrets ?? [],
  })
  const { desk = { url: 'http://ledger.test' } } = options
  const approvals = new UrlApprovals({ client, run, desk, ...(waitMs !== undefined && { waitMs }) })
  const asked = { toHost: into(toHost), asksHost: into(toHost), toServer: into(toServer) }
  const relay = new Relay({ ...asked, calls, definitions, approvals, say })
  const host = (message: object | string) => relay.fromHost(lineOf(message))
  const server = (message: object | string) => relay.fromServer(lineOf(message))
  return {
    ...{ edge, client, run, calls, relay, toHost, toServer, said, network, host, server },
    call: async (id, tool, args = {}, meta) => {
      await host({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: tool, arguments: args, ...(meta && { _meta: meta }) },
      })
      const named = `"id":${id},`
      const seen = (lines: readonly string[]) =>
        lines.some((line) => line.includes(named) && !line.includes('"method":"tools/list"'))
      await eventually(() => (seen(toServer) || seen(toHost) ? true : undefined), `call ${id}`)
    },
    answered: (id) =>
      eventually(() => {
        const line = toHost.find((each) => each.includes(`"id":${id}`))
        return line === undefined ? undefined : (JSON.parse(line) as JsonObject)
      }, `the answer to ${id}`),
    recorded: async () => {
      const found: JsonObject[] = []
      for await (const call of client.calls(run.id)) found.push(call)
      return found
    },
    types: async () => {
      const found: string[] = []
      for await (const { header } of client.events(run.id)) found.push(String(header.type))
      return found
    },
    [Symbol.asyncDispose]: async () => {
      if (given === undefined) await edge[Symbol.asyncDispose]()
    },
  }
}

function into(lines: string[]): Write {
  return async (parts) => void lines.push(Buffer.concat(parts.map((part) => Buffer.from(part))).toString('latin1'))
}

export function lineOf(message: object | string): RawLine {
  const bytes = Buffer.from(typeof message === 'string' ? message : `${JSON.stringify(message)}\n`)
  return { parts: [bytes], bytes: bytes.length }
}

/** The text that a model reads. */
export function textOf(answer: JsonObject): string {
  const { content } = answer.result as { readonly content: readonly { readonly text: string }[] }
  return content.map(({ text }) => text).join('\n')
}
