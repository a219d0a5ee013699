/**
 * @module What comes on a connection and is no request. It is refused in node's words, but behind the answers of writes that came whole before it:
 * in their place the refusal would be read as theirs, of something that was written.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { endsWithReader } from './connection-room.ts'

/** By node's error codes; anything else is 400. */
const STATUS: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: '413 Payload Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
}

interface Connection {
  /** Requests that are not answered in full. */
  readonly asked: Map<IncomingMessage, ServerResponse>
  /** Of what came behind them. */
  refusal?: string
  /** Or needs no refusal any more. */
  isRefused?: true
}

export class UnreadableRest {
  readonly #connections = new WeakMap<Socket, Connection>()

  /** A request came. It is off the list when its answer is finished or cut. */
  asks(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { socket } = incoming
    const connection: Connection = this.#connections.get(socket) ?? { asked: new Map() }
    this.#connections.set(socket, connection)
    connection.asked.set(incoming, outgoing)
    const answered = (): void => {
      connection.asked.delete(incoming)
      // Behind an answer that is the last one nothing is read.
      if (!outgoing.shouldKeepAlive) connection.isRefused = true
      if (connection.refusal !== undefined && !isWriting(connection)) refuse(socket, connection)
    }
    // Before node's own listener, which ends the connection there when the client has closed its sending side.
    outgoing.prependOnceListener('finish', answered)
    outgoing.once('close', answered)
  }

  /** Takes what node says is no request (`clientError`). */
  take(error: NodeJS.ErrnoException, socket: Socket): void {
    const connection: Connection = this.#connections.get(socket) ?? { asked: new Map() }
    // Every further byte is another error: the refusal is on its way.
    if (connection.refusal !== undefined && socket.writable) return
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy(error)
      return
    }
    connection.refusal = STATUS[error.code ?? ''] ?? '400 Bad Request'
    if (!isWriting(connection)) refuse(socket, connection)
  }
}

/** A write that is whole counts, whatever comes behind it. */
function isWriting({ asked }: Connection): boolean {
  return [...asked.keys()].some((incoming) => incoming.complete && !endsWithReader(incoming))
}

/** Amid an answer it is the end alone. */
function refuse(socket: Socket, connection: Connection): void {
  if (connection.isRefused) return
  connection.isRefused = true
  const isAmid = [...connection.asked.values()].some(({ headersSent }) => headersSent)
  if (!isAmid && socket.writable) socket.write(`HTTP/1.1 ${connection.refusal}\r\nConnection: close\r\n\r\n`)
  socket.destroySoon()
}
