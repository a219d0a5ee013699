/** @module A server of a test's own at a free port of this machine. */
import type { Server } from 'node:net'

/** The port, once it listens. */
export function listening(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
}
