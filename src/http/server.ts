/** @module The socket in front of the application: timeouts, limits, and a shutdown that finishes requests in flight. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener, RequestError } from '@hono/node-server'
import type { OpenAPIHono } from '@hono/zod-openapi'
import { problemResponse } from './answers.ts'
import { ConnectionRoom, endsWithReader } from './connection-room.ts'
import type { HttpEnv } from './http-context.ts'
import { problem } from './problems.ts'
import { WholeAnswer } from './whole-answer.ts'

export interface ServerLimits {
  /** Timeout for the head of a request, in milliseconds. */
  readonly headersTimeoutMs: number
  /** Timeout for receiving a whole request, in milliseconds; answers may take longer. */
  readonly requestTimeoutMs: number
  /** Milliseconds that an idle connection is kept open. */
  readonly keepAliveTimeoutMs: number
  /** Milliseconds without traffic after which a connection is cut if its client has stopped reading; a connection whose answer is merely late is kept. */
  readonly silenceTimeoutMs: number
  readonly maxHeaderBytes: number
  /** Maximum number of connections; when it is reached, connections without a valid token are closed to make room. */
  readonly maxConnections: number
  /** Maximum number of connections without a valid token from one address. */
  readonly maxStrangersPerAddress: number
}

const SERVER_DEFAULTS: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  keepAliveTimeoutMs: 5_000,
  silenceTimeoutMs: 120_000,
  maxHeaderBytes: 16 * 1024,
  maxConnections: 10_000,
  maxStrangersPerAddress: 5_000,
}

/** Maximum interval, in milliseconds, at which connections are checked for these timeouts. */
const CHECK_INTERVAL_MS = 1_000
/** Interval, in milliseconds, at which idle connections are closed during shutdown. */
const DRAIN_STEP_MS = 25

export interface ServerOptions {
  readonly app: Pick<OpenAPIHono<HttpEnv>, 'fetch'>
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  /** Aborted at the start of `close`: the controller whose signal the app received as `draining`. */
  readonly draining?: AbortController
  readonly limits?: Partial<ServerLimits>
}

export interface RunningServer {
  readonly url: string
  readonly port: number
  /** Accepts no more connections, ends tails with their resume id and finishes requests; connections left after `graceMs` are cut. */
  close(graceMs: number): Promise<void>
}

/** Starts to listen. Rejects with node's own error if the address is not available (`EADDRINUSE`, `EACCES`). */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const unused = new Set<Socket>()
  const server = createNodeServer(options, unused)
  await listening(server, options)
  const { address, family, port } = server.address() as AddressInfo
  const host = family === 'IPv6' ? `[${address}]` : address
  return {
    url: `http://${host}:${port}`,
    port,
    close: (graceMs) => {
      options.draining?.abort()
      return close(server, unused, graceMs)
    },
  }
}

/** `unused` holds the connections without any request yet: node does not count them as idle, so they would delay the shutdown. */
function createNodeServer({ app, host, limits }: ServerOptions, unused: Set<Socket>): Server {
  const all = { ...SERVER_DEFAULTS, ...limits }
  const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, silenceTimeoutMs, maxHeaderBytes } = all
  const room = new ConnectionRoom(all)
  const rest = new UnreadableRest()
  const fetch = (request: Request, env: HttpEnv['Bindings']): Response | Promise<Response> => {
    const socket = env.incoming?.socket
    return app.fetch(request, {
      incoming: env.incoming,
      ...env,
      authenticated: () => socket !== undefined && room.knows(socket),
    })
  }
  const listener = getRequestListener(fetch as never, { hostname: host, errorHandler: unreadable })
  const server = createServer(
    {
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: Math.min(CHECK_INTERVAL_MS, headersTimeoutMs),
      maxHeaderSize: maxHeaderBytes,
      // Node refuses a request without Host with 400 (RFC 9112 section 3.2).
      requireHostHeader: true,
      ServerResponse: WholeAnswer,
    },
    (incoming, outgoing) => {
      unused.delete(incoming.socket)
      rest.asks(incoming, outgoing)
      outgoing.once('close', room.asks(incoming.socket, incoming))
      void listener(incoming, outgoing)
    },
  )
  // Not a documented option: `node:http` reads this property when a client closes its sending side. Without it, the answer of a write would be lost; requests
  // that end with their client are ended by `ConnectionRoom`.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('clientError', (error, socket) => rest.take(error, socket as Socket))
  server.on('connection', (socket: Socket) => {
    room.enter(socket)
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  server.timeout = silenceTimeoutMs
  server.on('timeout', (socket: Socket) => {
    const isReaderWaiting = room.isAsking(socket) && socket.writableLength === 0
    if (isReaderWaiting) socket.setTimeout(silenceTimeoutMs)
    else socket.destroy()
  })
  return server
}

/** Requests with an unreadable target or Host never reach the application, and the application itself never throws. */
function unreadable(error: unknown): Response {
  if (!(error instanceof RequestError)) return problemResponse(problem('internal', 'the server failed'), '')
  return problemResponse(problem('malformed-request', 'the target or the Host of the request cannot be read'), '')
}

function listening(server: Server, { host, port }: ServerOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function close(server: Server, unused: ReadonlySet<Socket>, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const step = setInterval(() => server.closeIdleConnections(), DRAIN_STEP_MS)
    const cut = setTimeout(() => server.closeAllConnections(), graceMs)
    server.close(() => {
      clearInterval(step)
      clearTimeout(cut)
      resolve()
    })
    server.closeIdleConnections()
    for (const socket of unused) socket.destroy()
  })
}

// Refuses data on a connection that is not a valid request, with node's own texts. The refusal is sent after the answers of complete writes before it,
// because otherwise it would be taken for the answer of a write that took effect.

/** Status lines by node's error codes; any other error is 400. */
const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

interface Connection {
  /** Requests that are not fully answered. */
  readonly asked: Map<IncomingMessage, ServerResponse>
  /** Status line for the invalid data behind these requests. */
  refusal?: string
  /** Set once the refusal was sent or is no longer needed. */
  isRefused?: true
}

class UnreadableRest {
  readonly #connections = new WeakMap<Socket, Connection>()

  /** Registers a request until its answer is finished or cut. */
  asks(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { socket } = incoming
    const connection: Connection = this.#connections.get(socket) ?? { asked: new Map() }
    this.#connections.set(socket, connection)
    connection.asked.set(incoming, outgoing)
    const answered = (): void => {
      connection.asked.delete(incoming)
      // Nothing is read after the last answer on a connection.
      if (!outgoing.shouldKeepAlive) connection.isRefused = true
      if (connection.refusal !== undefined && !isWriting(connection)) refuse(socket, connection)
    }
    // Runs before node's own listener, which ends the connection if the client has closed its sending side.
    outgoing.prependOnceListener('finish', answered)
    outgoing.once('close', answered)
  }

  /** Handles data that node could not parse as a request (`clientError`). */
  take(error: NodeJS.ErrnoException, socket: Socket): void {
    const connection: Connection = this.#connections.get(socket) ?? { asked: new Map() }
    // Every further byte raises another error; the refusal is already pending.
    if (connection.refusal !== undefined && socket.writable) return
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy(error)
      return
    }
    connection.refusal = STATUS[error.code ?? ''] ?? '400 Bad Request'
    if (!isWriting(connection)) refuse(socket, connection)
  }
}

/** A write that was received completely takes effect, whatever follows it. */
function isWriting({ asked }: Connection): boolean {
  return [...asked.keys()].some((incoming) => incoming.complete && !endsWithReader(incoming))
}

/** If an answer has been started, the connection is closed without a refusal. */
function refuse(socket: Socket, connection: Connection): void {
  if (connection.isRefused) return
  connection.isRefused = true
  const isAmid = [...connection.asked.values()].some(({ headersSent }) => headersSent)
  if (!isAmid && socket.writable) socket.write(`HTTP/1.1 ${connection.refusal}\r\nConnection: close\r\n\r\n`)
  socket.destroySoon()
}
