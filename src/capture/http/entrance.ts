/** @module The MCP proxy on Streamable HTTP: selects the server, the session and the protocol revision; all other content passes unchanged. */
import { Buffer } from 'node:buffer'
import { isJsonObject, type JsonObject, parseJsonOrUndefined } from '../../../schemas/json.ts'
import { linkedSignal } from '../../resources/linked-signal.ts'
import { errorLine, INVALID_REQUEST } from '../json-rpc.ts'
import type { Secrets } from '../recorded-form.ts'
import type { Relay } from '../relay.ts'
import type { Desk } from '../texts.ts'
import { Exchange } from './exchange.ts'
import { HttpSession, type SessionOptions } from './http-session.ts'
import { requestIdOf, revisionOf, STATELESS } from './revision.ts'
import type { McpUpstream } from './upstreams.ts'

export interface EntranceOptions {
  readonly upstreams: ReadonlyMap<string, McpUpstream>
  readonly secrets: Secrets
  readonly owner: string | undefined
  readonly desk: Desk
  /** Allowed origins of web pages, in addition to the server's own. */
  readonly origins: readonly string[]
  readonly idleMs: number
  readonly say: (text: string) => void
}

/** A request with a valid token. */
export interface Asked {
  readonly request: Request
  readonly name: string
  readonly caller: { readonly tenant: string; readonly subject: string; readonly run?: string; readonly agent?: string }
  readonly token: string
  /** Aborted when the host closes its connection. */
  readonly gone: AbortSignal
  readonly ledger: SessionOptions['ledger']
}

interface Held {
  readonly session: HttpSession
  /** The relay of a session of the protocol; absent if requests are independent. */
  readonly relay?: Relay
}

const BODY_MAX_BYTES = 16 * 1024 * 1024
const SWEEP_MS = 30_000
const METHODS = ['POST', 'GET', 'DELETE'] as const
const SESSION_ID = 'mcp-session-id'
/** Visible ASCII, as the protocol has it, and bounded: what a server calls its session goes into headers of hosts. */
const SESSION_ID_FORM = /^[\x21-\x7e]{1,256}$/
/** Headers of the protocol, which are forwarded; no credentials of the host are among them. */
const FORWARDED = /^(accept|content-type|last-event-id|user-agent|traceparent|tracestate|baggage|mcp-[a-z0-9-]+)$/
const NO_SESSION = -32_001

export class McpEntrance {
  readonly #options: EntranceOptions
  readonly #sessions = new Map<string, Held>()
  readonly #timer: NodeJS.Timeout
  #isClosing = false

  constructor(options: EntranceOptions) {
    this.#options = options
    this.#timer = setInterval(() => this.#sweep(), Math.min(SWEEP_MS, options.idleMs)).unref()
  }

  async handle(asked: Asked): Promise<Response> {
    const { request, name } = asked
    const upstream = this.#options.upstreams.get(name)
    const method = METHODS.find((each) => each === request.method)
    if (upstream === undefined)
      return fault(
        404,
        INVALID_REQUEST,
        `there is no server ${name}; there are ${[...this.#options.upstreams.keys()].join(', ')}`,
      )
    if (!this.#isOwnOrigin(request))
      return fault(403, INVALID_REQUEST, 'pages of this origin may not ask here: see --cors')
    if (this.#isClosing) return fault(503, INVALID_REQUEST, 'the server is closing')
    const isStateless = request.headers.get('mcp-protocol-version') === STATELESS
    if (method === undefined || (isStateless && method !== 'POST')) return notAllowed(isStateless)
    return method === 'POST' ? this.#post(asked, upstream) : this.#ofSession(asked, upstream, method)
  }

  /** Ends all sessions, and records what is known of their calls. */
  async close(): Promise<void> {
    this.#isClosing = true
    clearInterval(this.#timer)
    const held = [...this.#sessions.values()]
    this.#sessions.clear()
    await Promise.all(held.map(({ session }) => session.end('the proxy was ended')))
  }

  async #post(asked: Asked, upstream: McpUpstream): Promise<Response> {
    const body = await bodyOf(asked.request)
    if (body === undefined) return fault(413, INVALID_REQUEST, `a message has at most ${BODY_MAX_BYTES} bytes`)
    const value = parseJsonOrUndefined(body.toString('utf8'))
    const message = value !== undefined && isJsonObject(value) ? value : undefined
    const revision = revisionOf(asked.request.headers, message)
    if (!revision.ok)
      return new Response(errorLine(requestIdOf(message), revision.code, revision.message, revision.data), {
        status: 400,
        headers: { 'content-type': 'application/json' },
      })
    const id = revision.isStateless ? null : asked.request.headers.get(SESSION_ID)
    const held = id === null ? this.#shared(asked, upstream) : this.#sessions.get(keyOf(asked, id))
    return held === undefined ? noSession(message) : this.#exchanged(asked, upstream, { held, body, message })
  }

  async #exchanged(
    asked: Asked,
    upstream: McpUpstream,
    { held, body, message }: { readonly held: Held; readonly body: Buffer; readonly message: JsonObject | undefined },
  ): Promise<Response> {
    const { session } = held
    session.uses(asked.token)
    const relay = held.relay ?? session.relay()
    const exchange = new Exchange({
      relay,
      ask: { url: upstream.url, method: 'POST', headers: headersTo(upstream, asked.request) },
      id: message?.method === undefined ? null : requestIdOf(message),
      isResumable: held.relay !== undefined,
      // The host's answer comes with another request, which only a session brings to the same relay.
      canAsk: held.relay !== undefined && /text\/event-stream/.test(asked.request.headers.get('accept') ?? ''),
      over: linkedSignal(asked.gone, session.over),
      onHead: (headers) => this.#begun(asked, upstream, { id: String(headers[SESSION_ID] ?? ''), session }),
    })
    session.track(exchange.ended, relay, held.relay !== undefined)
    await relay.fromHost({ parts: [body], bytes: body.length }, exchange)
    return exchange.answer
  }

  async #ofSession(asked: Asked, upstream: McpUpstream, method: 'GET' | 'DELETE'): Promise<Response> {
    const id = asked.request.headers.get(SESSION_ID)
    const key = keyOf(asked, id ?? '')
    const held = id === null ? this.#shared(asked, upstream) : this.#sessions.get(key)
    if (held === undefined) return noSession(undefined)
    const { session } = held
    session.uses(asked.token)
    const relay = held.relay ?? session.relay()
    const exchange = new Exchange({
      relay,
      ask: { url: upstream.url, method, headers: headersTo(upstream, asked.request) },
      ...{ id: null, isResumable: true, canAsk: false, onHead: () => undefined },
      over: linkedSignal(asked.gone, session.over),
    })
    session.track(exchange.ended, relay, held.relay !== undefined)
    await exchange.toServer([])
    const answer = await exchange.answer
    if (method === 'DELETE' && answer.ok && this.#sessions.delete(key)) await session.end('the host ended the session')
    return answer
  }

  /** Registers a session that the server began; only the caller that requested it may use it. Throws if its id has no valid form. */
  #begun(asked: Asked, upstream: McpUpstream, by: { readonly id: string; readonly session: HttpSession }): void {
    if (by.id !== '' && !SESSION_ID_FORM.test(by.id))
      throw new Error('its session id is not 1 to 256 visible ASCII characters')
    const key = keyOf(asked, by.id)
    if (by.id === '' || this.#isClosing || this.#sessions.has(key)) return
    const session = this.#session(asked, upstream)
    // The request that began the session said what its host can do.
    session.approvals.opensUrls = by.session.approvals.opensUrls
    this.#sessions.set(key, { session, relay: session.relay() })
  }

  /** Independent requests of one caller in one run share a session record. */
  #shared(asked: Asked, upstream: McpUpstream): Held {
    const key = keyOf(asked, undefined)
    const held = this.#sessions.get(key) ?? { session: this.#session(asked, upstream) }
    this.#sessions.set(key, held)
    return held
  }

  #session({ caller, request, token, ledger }: Asked, upstream: McpUpstream): HttpSession {
    const { secrets, owner, desk, say } = this.#options
    const own = Object.entries(upstream.headers).map(([name, value]) => [`header ${name}`, value] as const)
    const run = caller.run ?? request.headers.get('x-countersign-run') ?? undefined
    const agent = caller.agent ?? request.headers.get('x-countersign-agent') ?? undefined
    return new HttpSession({ upstream, ledger, token, run, agent, secrets: [...own, ...secrets], owner, desk, say })
  }

  #sweep(): void {
    for (const [key, { session }] of this.#sessions) {
      if (session.idleMs < this.#options.idleMs) continue
      this.#sessions.delete(key)
      void session.end('nothing was asked in it for a long time')
    }
  }

  /** Pages of other sites must not reach the server through a browser (DNS rebinding). */
  #isOwnOrigin(request: Request): boolean {
    const origin = request.headers.get('origin')
    if (origin === null || this.#options.origins.includes(origin)) return true
    return (
      URL.canParse(origin) &&
      new URL(origin).host === request.headers.get('host') &&
      isOwnHost(origin, this.#options.desk)
    )
  }
}

/** The Host header is set by the sender, so a foreign name that resolves to this address is not accepted. */
function isOwnHost(origin: string, { url }: Desk): boolean {
  const { hostname } = new URL(origin)
  return (
    ['localhost', '127.0.0.1', '[::1]'].includes(hostname) || (url !== undefined && hostname === new URL(url).hostname)
  )
}

/** The key of a session, which belongs to one caller and to no other of its tenant. `id` is undefined for requests without a session. */
function keyOf({ name, caller, request }: Asked, id: string | undefined): string {
  const { tenant, subject, run = null, agent = null } = caller
  const named =
    id === undefined ? [request.headers.get('x-countersign-run'), request.headers.get('x-countersign-agent')] : []
  return JSON.stringify([name, tenant, subject, run, agent, id ?? null, ...named])
}

function headersTo(upstream: McpUpstream, request: Request): Record<string, string> {
  const kept = [...request.headers].filter(([name]) => FORWARDED.test(name))
  return { ...Object.fromEntries(kept), ...upstream.headers }
}

async function bodyOf(request: Request): Promise<Buffer | undefined> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += part.byteLength
    if (bytes > BODY_MAX_BYTES) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts)
}

function fault(status: number, code: number, message: string): Response {
  return new Response(errorLine(null, code, message), { status, headers: { 'content-type': 'application/json' } })
}

/** The answer that makes a host begin a new session. */
function noSession(message: JsonObject | undefined): Response {
  const text = 'there is no such session of this token here: begin a new one with initialize'
  const headers = { 'content-type': 'application/json' }
  return new Response(errorLine(requestIdOf(message), NO_SESSION, text), { status: 404, headers })
}

function notAllowed(isStateless: boolean): Response {
  const allow = isStateless ? 'POST' : METHODS.join(', ')
  const headers = { 'content-type': 'application/json', allow }
  return new Response(errorLine(null, INVALID_REQUEST, `this takes ${allow}`), { status: 405, headers })
}
