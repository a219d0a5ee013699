/** @module A TCP proxy that lets requests through and, when told to, cuts the connection in place of the first byte of the answer. */
import { connect, createServer, type Socket } from 'node:net'
import { listening } from './listening.ts'

export interface CuttingProxy extends AsyncDisposable {
  readonly url: string
  /** The next answer is swallowed: its reader sees the connection end. */
  cutNextAnswer(): void
  /** Resolves once that answer has come from the server, and so was decided. */
  readonly cuts: () => number
}

export async function cuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let cutting = false
  let cuts = 0
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      // Either end may go first: that is what this is for.
      socket.on('error', () => {})
    }
    near.pipe(far)
    far.on('data', (bytes) => {
      if (!cutting) return near.write(bytes)
      cutting = false
      cuts += 1
      near.destroy()
      return far.destroy()
    })
    far.on('close', () => near.destroy())
    near.on('close', () => far.destroy())
  })
  const address = await listening(server)
  return {
    url: `http://127.0.0.1:${address}`,
    cutNextAnswer: () => {
      cutting = true
    },
    cuts: () => cuts,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
