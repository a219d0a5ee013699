/**
 * @module Refuses data on a connection that is not a valid request, with node's own texts. The refusal is sent after the answers of complete writes before it,
 * because otherwise it would be taken for the answer of a write that took effect.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { endsWithReader } from './connection-room.ts'

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

export class UnreadableRest {
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
