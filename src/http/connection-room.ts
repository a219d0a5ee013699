/**
 * @module Room for connections. Strangers, on whose connections no token was ever good, take up what is free and make room for whoever comes:
 * the one that has been there longest goes first. So however many of them idle, somebody with a token gets in at once (F32).
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isIPv6 } from 'node:net'

export interface RoomLimits {
  /** Connections at once. */
  readonly maxConnections: number
  /** Of them, those of strangers of one address (IPv6: of one /64). */
  readonly maxStrangersPerAddress: number
}

interface Guest {
  readonly socket: Socket
  readonly address: string
  /** Requests that came and are not answered yet. */
  asking: number
  /** Of them, those whose work ends when their reader leaves. */
  leaving: number
}

/** Reads, streams, calls that are waited for (`Prefer`), and requests to servers behind this one, whose protocol has it so; a write counts whoever reads its answer. */
export function endsWithReader({ method, headers, url }: Asked): boolean {
  if (url?.startsWith('/mcp/') === true) return true
  return method === 'GET' || method === 'HEAD' || headers.prefer !== undefined
}

type Asked = Pick<IncomingMessage, 'method' | 'headers' | 'url'>

export class ConnectionRoom {
  readonly #limits: RoomLimits
  readonly #guests = new Map<Socket, Guest>()
  /** In the order of their coming. */
  readonly #strangers = new Set<Guest>()
  readonly #strangersOf = new Map<string, Set<Guest>>()
  /** Known, and asking nothing now; in the order in which they fell silent. */
  readonly #resting = new Set<Guest>()

  constructor(limits: RoomLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#guests.size
  }

  /** Takes a new connection in, and closes another one for it where that is needed; where none can go, closes the new one. */
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
    // The end of what a client sends looks the same as its leaving: `nc -N` closes its sending side behind a request and reads on.
    socket.once('end', () => {
      if (guest.leaving > 0) socket.end()
    })
    if (neighbours.size > this.#limits.maxStrangersPerAddress) this.#close(first(neighbours))
  }

  /** A request came on this connection. Call the result when it is answered. */
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

  /** A request came on this connection that is not answered in full yet. */
  isAsking(socket: Socket): boolean {
    return (this.#guests.get(socket)?.asking ?? 0) > 0
  }

  /** Somebody showed a good token on this connection. */
  knows(socket: Socket): void {
    const guest = this.#guests.get(socket)
    if (guest !== undefined) this.#noStranger(guest)
  }

  #makeRoom(): boolean {
    return this.#close(first(this.#strangers) ?? first(this.#resting))
  }

  #close(guest: Guest | undefined): boolean {
    if (guest === undefined) return false
    // Its own event comes a turn later, and by then many may have come.
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

/** Whoever has one IPv6 address has a /64 of them (RFC 6177). */
function networkOf(address: string): string {
  const plain = address.replace(MAPPED, '').replace(/%.*$/, '')
  if (!isIPv6(plain)) return plain
  const [head = '', tail] = plain.split('::')
  const front = head.split(':').filter((group) => group !== '')
  const back = tail?.split(':').filter((group) => group !== '') ?? []
  const zeros = Array.from({ length: Math.max(0, GROUPS - front.length - back.length) }, () => '0')
  return [...front, ...(tail === undefined ? [] : zeros), ...back].slice(0, NETWORK_GROUPS).join(':')
}
