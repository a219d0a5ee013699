/**
 * @module Limits the number of connections. A stranger is a connection on which no valid token was sent. Strangers may use all free connections, but the oldest
 * stranger is closed when a new connection needs room, so that a client with a token gets in at once, however many idle connections there are (F32).
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isIPv6 } from 'node:net'

export interface RoomLimits {
  /** Maximum number of connections. */
  readonly maxConnections: number
  /** Maximum number of connections of strangers from one address (IPv6: from one /64). */
  readonly maxStrangersPerAddress: number
}

interface Guest {
  readonly socket: Socket
  readonly address: string
  /** Number of requests on this connection that are not answered yet. */
  asking: number
  /** Number of unanswered requests whose work ends when the client disconnects. */
  leaving: number
}

/**
 * Whether a request ends when its client disconnects: reads, streams, calls that are waited for (`Prefer`), and requests to MCP servers, whose protocol
 * requires it. A write takes effect whether or not its answer is read.
 */
export function endsWithReader({ method, headers, url }: Asked): boolean {
  if (url?.startsWith('/mcp/') === true) return true
  return method === 'GET' || method === 'HEAD' || headers.prefer !== undefined
}

type Asked = Pick<IncomingMessage, 'method' | 'headers' | 'url'>

export class ConnectionRoom {
  readonly #limits: RoomLimits
  readonly #guests = new Map<Socket, Guest>()
  /** In the order of arrival. */
  readonly #strangers = new Set<Guest>()
  readonly #strangersOf = new Map<string, Set<Guest>>()
  /** Connections with a valid token and no pending request, in the order in which they became idle. */
  readonly #resting = new Set<Guest>()

  constructor(limits: RoomLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#guests.size
  }

  /** Admits a new connection. If the limit is reached, another connection is closed for it; if none may be closed, the new one is. */
  enter(socket: Socket): void {
    if (socket.destroyed) return
    if (this.size >= this.#limits.maxConnections && !this.#makeRoom()) {
      socket.destroy()
      return
    }
    const guest: Guest = { socket, address: networkOf(socket.remoteAddress ?? ''), asking: 0, leaving: 0 }
    this.#guests.set(socket, guest)
    this.#strangers.add(guest)
    const neighbours = this.#strangersOf.get(guest.address) ?? new Set()
    this.#strangersOf.set(guest.address, neighbours.add(guest))
    socket.once('close', () => this.#left(guest))
    // The end of the data that a client sends looks the same as a disconnect: `nc -N` closes its sending side after a request and keeps reading.
    socket.once('end', () => {
      if (guest.leaving > 0) socket.end()
    })
    if (neighbours.size > this.#limits.maxStrangersPerAddress) this.#close(first(neighbours))
  }

  /** Registers a request on this connection. Call the result when the request is answered. */
  asks(socket: Socket, asked: Asked): () => void {
    const guest = this.#guests.get(socket)
    if (guest === undefined) return () => undefined
    const leaving = endsWithReader(asked) ? 1 : 0
    guest.asking += 1
    guest.leaving += leaving
    this.#resting.delete(guest)
    return () => {
      guest.asking -= 1
      guest.leaving -= leaving
      if (guest.asking === 0 && this.#guests.has(socket) && !this.#strangers.has(guest)) this.#resting.add(guest)
    }
  }

  /** Whether this connection has a request that is not fully answered. */
  isAsking(socket: Socket): boolean {
    return (this.#guests.get(socket)?.asking ?? 0) > 0
  }

  /** Registers that a valid token was sent on this connection. */
  knows(socket: Socket): void {
    const guest = this.#guests.get(socket)
    if (guest !== undefined) this.#noStranger(guest)
  }

  #makeRoom(): boolean {
    return this.#close(first(this.#strangers) ?? first(this.#resting))
  }

  #close(guest: Guest | undefined): boolean {
    if (guest === undefined) return false
    // The socket's own `close` event comes a turn later; many connections may arrive before that.
    this.#left(guest)
    guest.socket.destroy()
    return true
  }

  #left(guest: Guest): void {
    if (!this.#guests.delete(guest.socket)) return
    this.#resting.delete(guest)
    this.#noStranger(guest)
  }

  #noStranger(guest: Guest): void {
    if (!this.#strangers.delete(guest)) return
    const neighbours = this.#strangersOf.get(guest.address)
    neighbours?.delete(guest)
    if (neighbours?.size === 0) this.#strangersOf.delete(guest.address)
  }
}

function first<T>(values: Iterable<T>): T | undefined {
  for (const value of values) return value
  return undefined
}

const MAPPED = /^::ffff:(?=\d+\.)/i
const GROUPS = 8
const NETWORK_GROUPS = 4

/** A client with one IPv6 address has a whole /64 of them (RFC 6177). */
function networkOf(address: string): string {
  const plain = address.replace(MAPPED, '').replace(/%.*$/, '')
  if (!isIPv6(plain)) return plain
  const [head = '', tail] = plain.split('::')
  const front = head.split(':').filter((group) => group !== '')
  const back = tail?.split(':').filter((group) => group !== '') ?? []
  const zeros = Array.from({ length: Math.max(0, GROUPS - front.length - back.length) }, () => '0')
  return [...front, ...(tail === undefined ? [] : zeros), ...back].slice(0, NETWORK_GROUPS).join(':')
}
