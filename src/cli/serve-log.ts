/** @module The log of `countersign serve`: lines of JSON on a file descriptor. */
import pino from 'pino'
import { StoreUnavailableError } from '../store/event-store.ts'

/** Lines that wait for room, in bytes; further ones are dropped. */
const UNWRITTEN_MAX_BYTES = 1024 * 1024

/** Where the log cannot be written, such as on a full disk, the ledger goes on: its lines wait, and come with the first that can be. */
export function serveLog(fd: number, level: string): pino.Logger {
  const destination = pino.destination({ fd, sync: true, maxLength: UNWRITTEN_MAX_BYTES })
  // Without a listener the fault would be thrown at whoever logs: a request that is refused, a start, a shutdown.
  destination.on('error', () => undefined)
  return pino({ level, base: null, serializers: { err: errorFields } }, destination)
}

/** An outage is no fault of the code: what failed and why is one line of text, where a stack would hide it. */
function errorFields(error: Error): object {
  if (!(error instanceof StoreUnavailableError)) return pino.stdSerializers.err(error)
  const { name: type, code } = error
  return { type, message: withCauses(error), code }
}

const CAUSES_MAX = 8

/** Causes that a message repeats already are not said twice. */
function withCauses(error: Error): string {
  let text = error.message
  let { cause } = error
  for (let depth = 0; cause instanceof Error && depth < CAUSES_MAX; depth += 1) {
    if (!text.includes(cause.message)) text += `: ${cause.message}`
    cause = cause.cause
  }
  return text
}
