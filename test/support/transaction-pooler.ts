/**
 * @module A pooler in transaction mode, as far as it makes a difference: each transaction of a client runs on the server's connection that was
 * idle longest, and what it leaves behind in the session is gone afterwards (`DISCARD ALL`).
 */
import { createServer, connect as dial, type Socket } from 'node:net'

/** PostgreSQL, "Message Formats": one letter, then the length with itself. */
const HEAD_BYTES = 5
const READY = 'Z'.charCodeAt(0)
const TERMINATE = 'X'.charCodeAt(0)
const IDLE = 'I'.charCodeAt(0)
const SSL_REQUEST = 80_877_103
/** AuthenticationOk, then ReadyForQuery (idle). */
const WELCOME = Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 0, READY, 0, 0, 0, 5, IDLE])

export interface TransactionPooler extends AsyncDisposable {
  readonly port: number
  /** Transactions that ran on another connection than the one before of the same client. */
  readonly moved: () => number
}

interface Backend {
  readonly socket: Socket
  owner: Socket | undefined
  discarding: boolean
}

export async function transactionPooler(url: string, size: number): Promise<TransactionPooler> {
  const backends: Backend[] = []
  const idle: Backend[] = []
  const waiting: ((backend: Backend) => void)[] = []
  let moved = 0
  const release = (backend: Backend): void => {
    const next = waiting.shift()
    if (next === undefined) idle.push(backend)
    else next(backend)
  }
  for (let count = 0; count < size; count += 1) backends.push(await backendOf(url, release))
  idle.push(...backends)
  const take = (): Promise<Backend> => {
    const backend = idle.shift()
    return backend === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(backend)
  }
  const clients = new Set<Socket>()
  const server = createServer((client) => {
    clients.add(client)
    client.on('error', () => undefined).on('close', () => clients.delete(client))
    let started = false
    let at: Backend | undefined
    let last: Backend | undefined
    let rest: Buffer = Buffer.alloc(0)
    const pass = async (chunk: Buffer): Promise<void> => {
      rest = Buffer.concat([rest, chunk])
      while (!started && rest.length >= 8) {
        const length = rest.readInt32BE(0)
        if (rest.length < length) return
        const isSsl = rest.readInt32BE(4) === SSL_REQUEST
        rest = rest.subarray(length)
        client.write(isSsl ? 'N' : WELCOME)
        started = !isSsl
      }
      while (started && rest.length >= HEAD_BYTES && rest.length > rest.readInt32BE(1)) {
        const message = rest.subarray(0, rest.readInt32BE(1) + 1)
        rest = rest.subarray(message.length)
        if (message[0] === TERMINATE) return void client.end()
        if (at?.owner !== client) {
          at = await take()
          at.owner = client
          if (last !== undefined && last !== at) moved += 1
          last = at
        }
        at.socket.write(message)
      }
    }
    let passing = Promise.resolve()
    client.on('data', (chunk: Buffer) => {
      passing = passing.then(() => pass(chunk))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    moved: () => moved,
    [Symbol.asyncDispose]: async () => {
      for (const client of clients) client.destroy()
      for (const { socket } of backends) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A connection that is logged in, whose answers go to whoever has it; between two transactions its session is emptied. */
async function backendOf(url: string, release: (backend: Backend) => void): Promise<Backend> {
  const { hostname, port, username, pathname } = new URL(url)
  const socket = dial(Number(port), hostname)
  const backend: Backend = { socket, owner: undefined, discarding: false }
  const parameters = ['user', username, 'database', pathname.slice(1), ''].map((text) => `${text}\0`).join('')
  const startup = Buffer.alloc(8)
  startup.writeInt32BE(8 + Buffer.byteLength(parameters), 0)
  startup.writeInt32BE(196_608, 4)
  socket.on('error', () => undefined)
  socket.write(Buffer.concat([startup, Buffer.from(parameters)]))
  const discard = Buffer.from('Q\0\0\0\0DISCARD ALL\0', 'latin1')
  discard.writeInt32BE(discard.length - 1, 1)
  let loggedIn: () => void = () => undefined
  const ready = new Promise<void>((resolve) => {
    loggedIn = resolve
  })
  let rest: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= HEAD_BYTES && rest.length > rest.readInt32BE(1)) {
      const message = rest.subarray(0, rest.readInt32BE(1) + 1)
      rest = rest.subarray(message.length)
      const isIdle = message[0] === READY && message[HEAD_BYTES] === IDLE
      if (!backend.discarding) backend.owner?.write(message)
      if (!isIdle) continue
      if (backend.discarding) {
        backend.discarding = false
        release(backend)
      } else if (backend.owner === undefined) loggedIn()
      else {
        backend.owner = undefined
        backend.discarding = true
        socket.write(discard)
      }
    }
  })
  await ready
  return backend
}
