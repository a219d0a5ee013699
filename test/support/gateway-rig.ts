/** @module The model gateway over a real ledger, between sockets: clients of the providers on one side, a loopback server that answers as a test says on the other. */
import { writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { JsonObject } from '../../schemas/json.ts'
import type { ModelGateway } from '../../src/capture/gateway/gateway.ts'
import { openGateway } from '../../src/cli/gateway.ts'
import { type Client, createClient } from '../../src/client/client.ts'
import { createApp } from '../../src/http/app.ts'
import { startServer } from '../../src/http/server.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { createTokenVerifier, issueToken, publicJwks, type TokenRequest } from '../../src/signing/tokens.ts'
import { listening } from './listening.ts'
import { tempFolder } from './temp-folder.ts'
import { type TestLedger, type TestLedgerOptions, testLedger } from './test-ledger.ts'
import { eventually } from './within.ts'

export const UPSTREAM_KEY = 'sk-upstream-canary-0123456789'
const NAMES = { issuer: 'test', audience: 'test' }

export interface Received {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  /** As it came. */
  readonly text: string
  readonly body: JsonObject
}

export type Answer = (response: ServerResponse, received: Received) => void | Promise<void>

export interface GatewayRig extends AsyncDisposable {
  readonly url: string
  readonly upstreamUrl: string
  readonly received: Received[]
  readonly logs: object[]
  readonly key: string
  readonly client: Client
  readonly gateway: ModelGateway
  readonly inner: TestLedger
  readonly token: (claims?: Partial<TokenRequest>) => Promise<string>
  /** What the provider answers from now on. */
  readonly answers: (answer: Answer) => void
  /** Ends the server as a shutdown does whose requests take too long. */
  readonly cut: () => Promise<void>
  /** Calls of a run, once each has an outcome. */
  readonly settled: (runId: string, count?: number) => Promise<readonly JsonObject[]>
}

export interface GatewayRigOptions extends TestLedgerOptions {
  readonly file?: object
  readonly wrap?: (ledger: Ledger) => Ledger
}

export async function gatewayRig({ file = {}, wrap, ...options }: GatewayRigOptions = {}): Promise<GatewayRig> {
  const inner = await testLedger({ realClock: true, ...options })
  const folder = tempFolder()
  const received: Received[] = []
  const logs: object[] = []
  let answer: Answer = (response) => void response.writeHead(500).end()
  const provider = createServer((request, response) => {
    // A client that leaves is what some tests are about.
    response.on('error', () => undefined)
    void textOf(request).then((text) => {
      const taken = {
        path: request.url ?? '',
        headers: request.headers,
        text,
        body: text === '' ? {} : JSON.parse(text),
      }
      received.push(taken)
      return answer(response, taken)
    })
  })
  const upstreamUrl = `http://127.0.0.1:${await listening(provider)}/v1`
  writeFileSync(folder.file('key'), `${UPSTREAM_KEY}\n`)
  const upstream = { url: upstreamUrl, key: { file: folder.file('key') } }
  writeFileSync(
    folder.file('gateway.json'),
    JSON.stringify({ upstreams: { openai: upstream, anthropic: upstream }, ...file }),
  )
  const say = (level: string) => (fields: object, message: string) => void logs.push({ level, message, ...fields })
  const log = { debug: say('debug'), info: say('info'), warn: say('warn'), error: say('error') }
  const gateway = openGateway(folder.file('gateway.json'), log)
  const keys = inner.keys.current
  const draining = new AbortController()
  const app = createApp({
    ...{ ledger: wrap?.(inner.ledger) ?? inner.ledger, log, version: '0', gateway, draining: draining.signal },
    verifier: createTokenVerifier({ keys, ...NAMES, now: Date.now }),
    jwks: () => publicJwks(keys()),
    settings: { ratePerSecond: 0, requestLog: true },
  })
  const token = (claims: Partial<TokenRequest> = {}): Promise<string> =>
    issueToken({
      ...{ keys: keys(), ...NAMES, subject: 'alice', tenant: 'acme', scopes: ['runs:write', 'runs:read'] },
      ...{ ttlSeconds: 600, now: Date.now(), ...claims },
    })
  const server = await startServer({ app, host: '127.0.0.1', port: 0, draining })
  const key = await token()
  const client = createClient({
    ...{ url: server.url, token: key, retries: 0 },
    fetch: async (url, init) => app.request(url, init),
  })
  let closing: Promise<void> | undefined
  const cut = (): Promise<void> => {
    closing ??= server.close(0)
    return closing
  }
  return {
    ...{ url: server.url, upstreamUrl, received, logs, key, client, gateway, inner, token, cut },
    answers: (now) => {
      answer = now
    },
    settled: (runId, count = 1) =>
      eventually(async () => {
        const calls: JsonObject[] = []
        for await (const call of client.calls(runId)) calls.push(call)
        return calls.length >= count && calls.every(({ status }) => status !== 'claimed') ? calls : undefined
      }, `the outcome of ${count} calls`),
    [Symbol.asyncDispose]: async () => {
      await cut()
      await gateway.close(0)
      provider.closeAllConnections()
      provider.close()
      await inner[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

/** As a provider writes events: each of these texts whole. */
export function sends(...parts: readonly (string | Uint8Array)[]): Answer {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const part of parts) response.write(part)
    response.end()
  }
}

export function event(data: object | string, name?: string): string {
  const text = typeof data === 'string' ? data : JSON.stringify(data)
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${text}\n\n`
}

/** As the last event of it says. */
export async function usageIn(rig: GatewayRig, run: string): Promise<JsonObject | undefined> {
  let usage: JsonObject | undefined
  for await (const { header, data } of rig.client.events(run))
    if (header.type === 'UsageRecorded') usage = data.usage as JsonObject
  return usage
}

export async function spent(rig: GatewayRig, run: string): Promise<JsonObject> {
  const { tokens, cost, reservedTokens } = await rig.client.budget(run)
  return { tokens, cost, reservedTokens } as JsonObject
}
