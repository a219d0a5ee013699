/** @module One request of a host and its answer: both are passed on unchanged; calls and answers to calls go through the relay. */
import { Buffer } from 'node:buffer'
import { request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { errorLine, type RequestId } from '../json-rpc.ts'
import type { Relay, Route } from '../relay.ts'
import { eventFrames, frameWith } from './event-frames.ts'

export interface ExchangeOptions {
  readonly relay: Relay
  readonly ask: Omit<UpstreamRequest, 'signal' | 'body'>
  /** The request id; null if the message has none. */
  readonly id: RequestId | null
  /** Whether an answer may arrive on another stream after this one broke. */
  readonly isResumable: boolean
  /** Whether the host can be asked something on the stream of this request. */
  readonly canAsk: boolean
  /** Aborted when the host disconnects or the session ends. */
  readonly over: AbortSignal
  /** Throws if the answer must not be relayed. */
  readonly onHead: (headers: IncomingHttpHeaders) => void
}

type Parts = Parameters<Route['toHost']>[0]

const INTERNAL_ERROR = -32_603
const ANSWER_MAX_BYTES = 256 * 1024 * 1024
const HOST_LEFT = 'the host closed the stream'
/** Headers of an answer that belong to the protocol and are relayed. */
const RELAYED = /^(content-type|cache-control|retry-after|allow|mcp-[a-z0-9-]+)$/
/** Headers that say what the body of a call says. */
const OF_CALL = /^(mcp-name|mcp-param-.*|last-event-id)$/
const JSON_HEADERS = { 'content-type': 'application/json' }

export class Exchange implements Route {
  readonly #options: ExchangeOptions
  readonly #answer = Promise.withResolvers<Response>()
  readonly #end = Promise.withResolvers<void>()
  #stream: OpenStream | undefined
  #isForwarded = false
  #isOver = false

  constructor(options: ExchangeOptions) {
    this.#options = options
    if (options.canAsk)
      this.asksHost = async (parts) => {
        this.#stream ??= this.#open(new Headers(STREAM_HEADERS))
        await this.#stream.write(framed(parts))
      }
    options.over.addEventListener('abort', () => this.#left(HOST_LEFT), { once: true })
  }

  /** Resolves once the head of the answer is known. */
  get answer(): Promise<Response> {
    return this.#answer.promise
  }

  /** Resolves when nothing more arrives and everything received is recorded. */
  get ended(): Promise<void> {
    return this.#end.promise
  }

  readonly asksHost?: NonNullable<Route['asksHost']>

  /** Asks within the session and under the credentials of this request. */
  readonly asksServer = async function* (this: Exchange, line: string): AsyncGenerator<Buffer, void> {
    const { ask, over } = this.#options
    const headers = Object.fromEntries(
      Object.entries(ask.headers)
        .filter(([name]) => !OF_CALL.test(name))
        .map(([name, value]) => [name, name === 'mcp-method' ? 'tools/list' : value]),
    )
    const incoming = await askUpstream({ ...ask, headers, signal: over, body: [Buffer.from(line)] })
    if (incoming.statusCode !== 200) throw new Error(`HTTP ${incoming.statusCode ?? 0}`)
    const isStream = /^text\/event-stream\b/.test(incoming.headers['content-type'] ?? '')
    if (!isStream) yield await collected(incoming)
    else for await (const { message } of eventFrames(incoming)) yield message
  }.bind(this)

  readonly accepted = (): void => this.#whole(new Response(null, { status: 202 }))

  readonly toHost = async (parts: Parts): Promise<void> => {
    if (this.#stream === undefined) return this.#whole(new Response(bytesOf(parts), { headers: JSON_HEADERS }))
    await this.#stream.write(framed(parts))
    if (!this.#isForwarded) await this.#over()
  }

  /** Resolves when the request has been started; its answer does not block other requests. */
  readonly toServer = async (parts: Parts): Promise<void> => {
    this.#isForwarded = true
    void this.#forward(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  }

  async #forward(body: readonly Buffer[]): Promise<void> {
    const { ask, over, onHead } = this.#options
    try {
      const incoming = await askUpstream({ ...ask, signal: over, ...(ask.method === 'POST' && { body }) })
      headOf(incoming, onHead)
      const isStream = /^text\/event-stream\b/.test(incoming.headers['content-type'] ?? '')
      await (isStream && incoming.statusCode === 200 ? this.#streamed(incoming) : this.#collected(incoming))
    } catch (error) {
      await this.#failed(error instanceof Error ? error : new Error(String(error)))
    } finally {
      this.#whole(new Response(null, { status: 502 }))
      await this.#over()
    }
  }

  async #over(): Promise<void> {
    await this.#stream?.close()
    this.#isOver = true
    this.#end.resolve()
  }

  /** Begins the answer as a stream. */
  #open(headers: Headers): OpenStream {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
    const writer = writable.getWriter()
    writer.closed.catch(() => this.#left(HOST_LEFT))
    this.#answer.resolve(new Response(readable, { status: 200, headers }))
    return {
      write: (bytes) => writer.write(bytes).catch(() => undefined),
      close: () => writer.close().catch(() => undefined),
    }
  }

  async #failed(error: Error): Promise<void> {
    const { relay, id } = this.#options
    const reason = `the server could not be asked: ${error.message}`.slice(0, 1_024)
    const wasSent = !(error instanceof UpstreamFailure) || error.wasSent
    if (id !== null && relay.isOpen(id))
      await (wasSent ? relay.lost(id, reason, { mayCome: false }) : relay.unsent(id, reason))
    this.#whole(new Response(errorLine(id, INTERNAL_ERROR, reason), { status: 502, headers: JSON_HEADERS }))
  }

  async #streamed(incoming: IncomingMessage): Promise<void> {
    const { relay, id, isResumable } = this.#options
    this.#stream ??= this.#open(relayed(incoming.headers))
    let reason = 'the server ended its stream without an answer'
    let hasIds = false
    try {
      for await (const frame of eventFrames(incoming)) {
        hasIds ||= frame.hasId
        await relay.answer(frame, this.toHost)
      }
    } catch (error) {
      reason = `the stream of the server broke: ${error instanceof Error ? error.message : String(error)}`
    }
    // The loss is recorded before the host sees the end of the stream.
    if (id !== null) await relay.lost(id, reason.slice(0, 1_024), { mayCome: isResumable && hasIds })
  }

  async #collected(incoming: IncomingMessage): Promise<void> {
    const { relay, id } = this.#options
    const body = await collected(incoming)
    const status = incoming.statusCode ?? 502
    const isCall = id !== null && relay.isOpen(id)
    const isAnswered = id !== null && relay.isAnswered(id, body)
    const reason = `the server answered with HTTP ${status} and no result`
    if (isCall && !isAnswered) {
      if (status < 400 || status >= 500) return relay.lost(id, reason, { mayCome: false })
      await relay.refusedByServer(id, reason)
    }
    const toHost = async (parts: Parts): Promise<void> => {
      const isOwn = parts.some((part) => typeof part === 'string')
      // The host was asked something first, so its answer is a stream by now.
      if (this.#stream !== undefined) {
        const refusal = isAnswered || isOwn ? undefined : errorLine(id, INTERNAL_ERROR, reason)
        return this.#stream.write(framed([refusal ?? (isOwn ? String(parts[0]) : body.toString('utf8'))]))
      }
      if (isOwn) return this.#whole(new Response(bytesOf(parts), { headers: JSON_HEADERS }))
      if (CREDENTIALS.has(status))
        return this.#whole(
          new Response(errorLine(id, INTERNAL_ERROR, NO_CREDENTIALS), { status: 502, headers: JSON_HEADERS }),
        )
      this.#whole(
        new Response(body.length === 0 ? null : bytesOf([body]), { status, headers: relayed(incoming.headers) }),
      )
    }
    // The text of a refused request is no answer to another one, whatever id it has.
    if (status >= 400 && !isAnswered) return toHost([body])
    await relay.answer({ parts: [body], message: body }, toHost)
  }

  /** Only the first response counts. If nothing was forwarded, it also ends the exchange. */
  #whole(response: Response): void {
    this.#answer.resolve(response)
    if (!this.#isForwarded) this.#end.resolve()
  }

  /** A forwarded call is in doubt; a call that waits for its claim is not forwarded. */
  #left(reason: string): void {
    const { relay, id } = this.#options
    if (this.#isOver) return
    if (id !== null) relay.cancel(id, reason)
    this.#whole(new Response(null, { status: 502 }))
  }
}

/** An answer whose head is refused is not read. */
function headOf(incoming: IncomingMessage, onHead: ExchangeOptions['onHead']): void {
  try {
    onHead(incoming.headers)
  } catch (error) {
    incoming.destroy()
    throw error
  }
}

interface OpenStream {
  readonly write: (bytes: Uint8Array) => Promise<void>
  readonly close: () => Promise<void>
}

const STREAM_HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }

/** Messages of the proxy as frames; what is a frame already stays as it is. */
function framed(parts: Parts): Uint8Array<ArrayBuffer> {
  return bytesOf(parts.map((part) => (typeof part === 'string' ? frameWith(part) : part)))
}

/** The host's token was valid, so the server has refused the proxy's own headers. */
const CREDENTIALS: ReadonlySet<number> = new Set([401, 403])
const NO_CREDENTIALS =
  'the server refused the credentials of this proxy: set its "headers" in the file of --mcp, and start again'

function relayed(headers: IncomingHttpHeaders): Headers {
  const kept = new Headers()
  for (const [name, value] of Object.entries(headers))
    if (RELAYED.test(name) && value !== undefined) kept.set(name, String(value))
  return kept
}

async function collected(incoming: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of incoming as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > ANSWER_MAX_BYTES) throw new Error(`an answer of more than ${ANSWER_MAX_BYTES} bytes`)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

function bytesOf(parts: Parts): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part))))
}

// Sends one request to a server over HTTP unchanged, without timeout, redirects or retries.

interface UpstreamRequest {
  readonly url: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: readonly Buffer[]
  readonly signal: AbortSignal
}

/** `wasSent`: the server may have read part of the request. */
class UpstreamFailure extends Error {
  readonly wasSent: boolean

  constructor(reason: string, wasSent: boolean) {
    super(reason)
    this.name = 'UpstreamFailure'
    this.wasSent = wasSent
  }
}

/** Resolves with the head of the answer. Rejects with `UpstreamFailure`. */
function askUpstream({ url, method, headers, body, signal }: UpstreamRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = url.startsWith('https:') ? httpsRequest : httpRequest
    let wasSent = false
    // Uses a new connection: a kept-alive one may be closed at this moment, and it would be unknown whether the request was read.
    const outgoing = request(url, {
      method,
      headers: { ...headers, 'accept-encoding': 'identity' },
      agent: false,
      signal,
    })
    outgoing.once('socket', (socket) => {
      socket.once(url.startsWith('https:') ? 'secureConnect' : 'connect', () => {
        wasSent = true
      })
    })
    outgoing.once('response', resolve)
    outgoing.once('error', (error) => reject(new UpstreamFailure(error.message, wasSent)))
    for (const part of body ?? []) outgoing.write(part)
    outgoing.end()
  })
}
