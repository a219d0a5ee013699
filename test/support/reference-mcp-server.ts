/**
 * @module An MCP server over HTTP with what `@modelcontextprotocol/conformance` asks a server for: the revision 2025-11-25 with sessions and requests to the
 * client in mid-call, and the stateless revision 2026-07-28 with its rounds of input.
 */
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '../../schemas/json.ts'
import {
  CLASSIC_TOOLS,
  CONTENT,
  elicitations,
  inputRounds,
  PROMPTS,
  promptOf,
  RESOURCES,
  resourceOf,
  TEMPLATES,
  TOOLS,
} from './reference-mcp-content.ts'

const STATELESS = '2026-07-28'
const META = 'io.modelcontextprotocol/'
const SERVER = { name: 'reference', version: '1.0.0' }
const LIST_MS = 25

export interface ReferenceServer extends AsyncDisposable {
  readonly url: string
  /** How often each tool was executed. */
  readonly executed: Map<string, number>
  /** The id of the next session; default: a random one. */
  nextSession: () => string
}

interface State extends Pick<ReferenceServer, 'executed' | 'nextSession'> {
  readonly sessions: Set<string>
  /** Requests to a client that wait for its answer, by id. */
  readonly waiting: Map<string, (result: JsonObject) => void>
}

/** The answer to a request, and the HTTP status that it has; default 200. */
interface Said {
  readonly status?: number
  readonly result?: JsonObject
  readonly error?: JsonObject
}

/** Writes a message on the stream of the request under way. */
type Tell = (message: JsonObject) => void

export async function startReferenceServer(): Promise<ReferenceServer> {
  const state: State = { executed: new Map(), sessions: new Set(), waiting: new Map(), nextSession: randomUUID }
  const server = createServer((request, response) => void handled(request, response, state))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  })
}

async function handled(request: IncomingMessage, response: ServerResponse, state: State): Promise<void> {
  const { origin } = request.headers
  if (origin !== undefined && !/^https?:\/\/(localhost|127\.0\.0\.1)(:|$)/.test(origin))
    return void response.writeHead(403).end()
  let text = ''
  for await (const part of request) text += String(part)
  if (request.method !== 'POST') return ofSession(request, response, state)
  const message = JSON.parse(text) as JsonObject
  return message.method === undefined ? taken(message, response, state) : asked(request, response, message, state)
}

/** A client's answer to a request of this server. */
function taken({ id, result }: JsonObject, response: ServerResponse, { waiting }: State): void {
  waiting.get(String(id))?.(isJsonObject(result) ? result : {})
  response.writeHead(202).end()
}

function ofSession(request: IncomingMessage, response: ServerResponse, { sessions }: State): void {
  const id = String(request.headers['mcp-session-id'] ?? '')
  if (request.headers['mcp-protocol-version'] === STATELESS) return void response.writeHead(405).end()
  if (!sessions.has(id)) return void response.writeHead(404).end()
  if (request.method === 'DELETE') {
    sessions.delete(id)
    return void response.writeHead(200).end()
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
}

async function asked(
  request: IncomingMessage,
  response: ServerResponse,
  message: JsonObject,
  state: State,
): Promise<void> {
  const { id, method } = message
  if (id === undefined) return void response.writeHead(202).end()
  const params = isJsonObject(message.params) ? message.params : {}
  const meta = isJsonObject(params._meta) ? params._meta : undefined
  const version = meta?.[`${META}protocolVersion`] ?? request.headers['mcp-protocol-version']
  const isStateless = version !== undefined && !/^202[45]-/.test(String(version))
  const session = String(request.headers['mcp-session-id'] ?? '')
  if (!isStateless && method !== 'initialize' && !state.sessions.has(session))
    return whole(response, id, { status: 404, error: { code: -32_001, message: 'no such session' } })
  const refused = isStateless ? refusedHeaders(request, message, meta) : undefined
  if (refused !== undefined) return whole(response, id, refused)
  if (method === 'subscriptions/listen' && isStateless) return listening(response, params, id)
  if (method === 'tools/call' && (!isStateless || params.name === 'test_tool_with_progress'))
    return streamed(response, id, params, state)
  const said = isStateless ? stateless(String(method), params, meta ?? {}, state) : withSession(String(method), params)
  const opened = method === 'initialize' ? { 'mcp-session-id': state.nextSession() } : undefined
  if (opened !== undefined) state.sessions.add(opened['mcp-session-id'])
  whole(response, id, said, opened)
}

function whole(
  response: ServerResponse,
  id: JsonObject[string],
  { status = 200, ...said }: Said,
  more: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...more })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: id ?? null, ...said }))
}

// The revision with sessions.

function withSession(method: string, params: JsonObject): Said {
  if (method === 'initialize')
    return {
      result: {
        ...{ protocolVersion: params.protocolVersion ?? '2025-11-25', serverInfo: SERVER },
        capabilities: { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {}, logging: {} },
      },
    }
  if (['ping', 'logging/setLevel', 'resources/subscribe', 'resources/unsubscribe'].includes(method))
    return { result: {} }
  return shared(method, params) ?? { error: { code: -32_601, message: 'no such method' } }
}

/** A call is answered on a stream, on which the server can ask the client first. */
async function streamed(
  response: ServerResponse,
  id: JsonObject[string],
  params: JsonObject,
  state: State,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const tell: Tell = (message) => void response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`)
  const ask = async (method: string, about: JsonObject): Promise<JsonObject> => {
    const own = randomUUID()
    const answered = new Promise<JsonObject>((resolve) => state.waiting.set(own, resolve))
    tell({ jsonrpc: '2.0', id: own, method, params: about })
    return answered
  }
  count(state, params)
  tell({ jsonrpc: '2.0', id: id ?? null, ...(await calledIn(params, tell, ask)) })
  response.end()
}

function count({ executed }: State, { name }: JsonObject): void {
  executed.set(String(name), (executed.get(String(name)) ?? 0) + 1)
}

async function calledIn(
  params: JsonObject,
  tell: Tell,
  ask: (method: string, about: JsonObject) => Promise<JsonObject>,
): Promise<JsonObject> {
  const name = String(params.name)
  const args = isJsonObject(params.arguments) ? params.arguments : {}
  const notify = (method: string, about: JsonObject): void => tell({ jsonrpc: '2.0', method, params: about })
  if (name === 'test_tool_with_logging')
    for (const data of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
      notify('notifications/message', { level: 'info', data })
      await sleep(LIST_MS)
    }
  const token = isJsonObject(params._meta) ? params._meta.progressToken : undefined
  if (name === 'test_tool_with_progress' && token !== undefined)
    for (const progress of [0, 50, 100]) {
      notify('notifications/progress', { progressToken: token, progress, total: 100 })
      await sleep(LIST_MS)
    }
  if (name === 'test_sampling') {
    const content = { type: 'text', text: String(args.prompt) }
    const answer = await ask('sampling/createMessage', { messages: [{ role: 'user', content }], maxTokens: 100 })
    return textOf(`LLM response: ${JSON.stringify(answer.content)}`)
  }
  const schema = elicitations[name]
  if (schema !== undefined) {
    const { action, content } = await ask('elicitation/create', {
      ...{ message: String(args.message ?? 'Please fill in'), requestedSchema: schema },
    })
    return textOf(`Elicitation completed: action=${String(action)}, content=${JSON.stringify(content)}`)
  }
  return contentOf(name)
}

function contentOf(name: string): JsonObject {
  const content = CONTENT[name]
  if (content !== undefined)
    return { result: { content, ...(name === 'test_error_handling' && { isError: true }) } as JsonObject }
  const isKnown = CLASSIC_TOOLS.includes(name)
  return isKnown ? textOf('done') : { error: { code: -32_602, message: `no tool ${name}` } }
}

function textOf(text: string): JsonObject {
  return { result: { resultType: 'complete', content: [{ type: 'text', text }] } }
}

/** What both revisions answer alike. */
function shared(method: string, params: JsonObject): Said | undefined {
  switch (method) {
    case 'tools/list':
      return { result: { tools: TOOLS } }
    case 'resources/list':
      return { result: { resources: RESOURCES } }
    case 'resources/templates/list':
      return { result: { resourceTemplates: TEMPLATES } }
    case 'prompts/list':
      return { result: { prompts: PROMPTS } }
    case 'completion/complete':
      return { result: { completion: { values: ['paris', 'park'], total: 2, hasMore: false } } }
    case 'prompts/get': {
      const messages = promptOf(String(params.name), isJsonObject(params.arguments) ? params.arguments : {})
      return messages === undefined
        ? { error: { code: -32_602, message: 'no such prompt' } }
        : { result: { messages: messages as JsonObject[] } }
    }
    case 'resources/read': {
      const uri = String(params.uri)
      const found = resourceOf(uri)
      return found === undefined
        ? { error: { code: -32_602, message: 'no such resource', data: { uri } } }
        : { result: { contents: [found] } }
    }
    default:
      return undefined
  }
}

// The stateless revision.

function refusedHeaders(
  request: IncomingMessage,
  { method, params }: JsonObject,
  meta: JsonObject | undefined,
): Said | undefined {
  const invalid = (code: number, message: string, data?: JsonObject): Said => ({
    status: 400,
    error: { code, message, ...(data && { data }) },
  })
  const version = meta?.[`${META}protocolVersion`]
  if (version === undefined || !isJsonObject(meta?.[`${META}clientCapabilities`]))
    return invalid(-32_602, '_meta lacks what every request has')
  const { headers } = request
  const about = isJsonObject(params) ? params : {}
  const named = { 'tools/call': about.name, 'prompts/get': about.name, 'resources/read': about.uri }[String(method)]
  if (
    headers['mcp-protocol-version'] !== version ||
    headers['mcp-method'] !== method ||
    (named !== undefined && headers['mcp-name'] !== named)
  )
    return invalid(-32_020, 'headers and body differ')
  if (version !== STATELESS)
    return invalid(-32_022, 'unsupported', { supported: [STATELESS], requested: String(version) })
  return undefined
}

function stateless(method: string, params: JsonObject, meta: JsonObject, state: State): Said {
  if (method === 'server/discover')
    return complete({
      result: {
        ...{ supportedVersions: [STATELESS], serverInfo: SERVER, _meta: { [`${META}serverInfo`]: SERVER } },
        capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
      },
    })
  if (method === 'tools/call' || method === 'prompts/get') {
    const round = inputRounds(params, meta[`${META}clientCapabilities`], seal)
    if (round !== undefined) return round.kind === 'ask' ? { result: round.result } : round.said
  }
  if (method !== 'tools/call') {
    const said = shared(method, params)
    return said === undefined ? { status: 404, error: { code: -32_601, message: 'no such method' } } : complete(said)
  }
  if (params.name === 'test_missing_capability')
    return {
      status: 400,
      error: { code: -32_021, message: 'sampling is missing', data: { requiredCapabilities: { sampling: {} } } },
    }
  count(state, params)
  return complete(contentOf(String(params.name)))
}

function complete({ result, ...rest }: Said): Said {
  if (result === undefined) return rest
  return { ...rest, result: { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result } }
}

/** State of a round that a client cannot alter. */
function seal(text: string): string {
  return `${text}.${createHash('sha256').update(`reference ${text}`).digest('hex')}`
}

function listening(response: ServerResponse, params: JsonObject, id: JsonObject[string]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const _meta = { [`${META}subscriptionId`]: String(id) }
  const notifications = params.notifications ?? {}
  const about = { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params: { notifications, _meta } }
  response.write(`data: ${JSON.stringify(about)}\n\n`)
}
