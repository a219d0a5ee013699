/** @module A small MCP server over HTTP that speaks 2026-07-28, and does to an answer what its tool is called. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject } from '../../schemas/json.ts'

export interface HttpPeer extends AsyncDisposable {
  readonly url: string
  /** What came, in order. */
  readonly seen: { readonly body: JsonObject; readonly headers: IncomingMessage['headers'] }[]
  /** Streams that the other side closed. */
  readonly closed: string[]
  description: string
  /** Whether lists of tools come as a stream. */
  streamsLists: boolean
}

const PROGRESS = ({ _meta }: JsonObject, n: number) => ({
  jsonrpc: '2.0',
  method: 'notifications/progress',
  params: { progressToken: (_meta as JsonObject | undefined)?.progressToken ?? 'p', progress: n },
})

export async function startHttpPeer(): Promise<HttpPeer> {
  const state = { seen: [] as HttpPeer['seen'], closed: [] as string[], description: 'adds', streamsLists: false }
  const server: Server = createServer((request, response) => void answer(request, response, state))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return Object.assign(state, {
    url: `http://127.0.0.1:${port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

type State = Pick<HttpPeer, 'seen' | 'closed' | 'description' | 'streamsLists'>

async function answer(request: IncomingMessage, response: ServerResponse, state: State): Promise<void> {
  let text = ''
  for await (const part of request) text += String(part)
  const body = JSON.parse(text) as JsonObject
  state.seen.push({ body, headers: request.headers })
  const { id = null, method, params = {} } = body
  const whole = (status: number, message: object): void => {
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...message }))
  }
  if (id === null) return void response.writeHead(202).end()
  if (method === 'server/discover')
    return whole(200, {
      result: {
        ...{ resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
        ...{ serverInfo: { name: 'peer', version: '1' }, ttlMs: 0, cacheScope: 'private' },
      },
    })
  if (method === 'tools/list') {
    const tools = [{ name: 'add', description: state.description, inputSchema: { type: 'object' } }]
    const result = { tools, ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private' } }
    if (!state.streamsLists) return whole(200, { result })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const messages = [PROGRESS({}, 1), { jsonrpc: '2.0', id, result }]
    return void response.end(messages.map((each) => `data: ${JSON.stringify(each)}\n\n`).join(''))
  }
  if (method !== 'tools/call') return whole(404, { error: { code: -32_601, message: 'no such method' } })
  const { name, arguments: args = {} } = params as { name?: string; arguments?: JsonObject }
  response.once('close', () => {
    if (!response.writableFinished) state.closed.push(String(name))
  })
  if (name === 'fails') return whole(200, { error: { code: -32_603, message: 'broken inside' } })
  if (name === 'refuses') return void response.writeHead(400).end('no')
  if (name === 'breaks') return void response.writeHead(500).end('oh')
  if (name === 'add')
    return whole(200, { result: { resultType: 'complete', content: [{ type: 'text', text: 'done' }] } })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(': hello\r\n\r\n')
  response.write(`event: message\r\ndata: ${JSON.stringify(PROGRESS(params as JsonObject, 1))}\r\n\r\n`)
  if (name === 'hangs') return
  if (name === 'cut') return void setImmediate(() => response.destroy())
  if (name === 'ends') return void response.end()
  const filler = 'x'.repeat(Number(args.size ?? 1))
  for (let n = 0; n < Number(args.events ?? 0); n += 1)
    if (!response.write(`data: ${JSON.stringify({ ...PROGRESS(params as JsonObject, n), filler })}\n\n`))
      await once(response, 'drain')
  const result = { resultType: 'complete', content: [{ type: 'text', text: 'streamed' }] }
  response.end(`data: {"jsonrpc": "2.0",\ndata: "id": ${JSON.stringify(id)}, "result": ${JSON.stringify(result)}}\n\n`)
}
