/** @module A TCP proxy that cuts connections at random bytes, in the middle of what is sent or answered: a prefix gets through, the rest never. */
import { connect, createServer, type Socket } from 'node:net'
import { listening } from './listening.ts'

export interface RandomCuts extends AsyncDisposable {
  readonly port: number
  /** While true, every connection has a random number of bytes to live. */
  cutting: boolean
  readonly cuts: () => number
}

/** Most bytes, of both directions, before the cut. */
const BYTES_MAX = 15_000

export async function randomCuts(target: string): Promise<RandomCuts> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let cuts = 0
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    let left = Math.ceil(Math.random() * BYTES_MAX)
    const end = (): void => {
      near.destroy()
      far.destroy()
    }
    const forward = (from: Socket, to: Socket): void => {
      sockets.add(from)
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        end()
      })
      from.on('data', (bytes: Buffer) => {
        if (!proxy.cutting || bytes.length < left) {
          if (proxy.cutting) left -= bytes.length
          to.write(bytes)
          return
        }
        cuts += 1
        from.pause()
        const prefix = bytes.subarray(0, left)
        left = Number.POSITIVE_INFINITY
        // Flushed before the end, so that the other side sees a part and then nothing.
        to.end(prefix, () => setTimeout(end, 1))
      })
    }
    forward(near, far)
    forward(far, near)
  })
  const proxy: RandomCuts = {
    port: await listening(server),
    cutting: false,
    cuts: () => cuts,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}
