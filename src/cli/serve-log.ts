/** @module The log of `countersign serve`: lines of JSON on a file descriptor. */
import pino from 'pino'

/** Lines that wait for room, in bytes; further ones are dropped. */
const UNWRITTEN_MAX_BYTES = 1024 * 1024

/** Where the log cannot be written, such as on a full disk, the ledger goes on: its lines wait, and come with the first that can be. */
export function serveLog(fd: number, level: string): pino.Logger {
  const destination = pino.destination({ fd, sync: true, maxLength: UNWRITTEN_MAX_BYTES })
  // Without a listener the fault would be thrown at whoever logs: a request that is refused, a start, a shutdown.
  destination.on('error', () => undefined)
  return pino({ level, base: null }, destination)
}
