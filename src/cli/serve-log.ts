/** @module The log of `countersign serve`: lines of JSON on a file descriptor. */
import pino from 'pino'
import { StoreUnavailableError } from '../store/event-store.ts'

/** Maximum size of buffered lines, in bytes; further lines are dropped. */
const UNWRITTEN_MAX_BYTES = 1024 * 1024

/** If the log cannot be written, for example on a full disk, the ledger continues: lines are buffered and written as soon as possible. */
export function serveLog(fd: number, level: string): pino.Logger {
  const destination = pino.destination({ fd, sync: true, maxLength: UNWRITTEN_MAX_BYTES })
  // Without a listener, the error would be thrown in the code that logs: a refused request, a start, a shutdown.
  destination.on('error', () => undefined)
  return pino({ level, base: null, serializers: { err: errorFields } }, destination)
}

/** An outage of the store is not a bug: its causes fit into one line, which a stack trace would obscure. */
function errorFields(error: Error): object {
  if (!(error instanceof StoreUnavailableError)) return pino.stdSerializers.err(error)
  const { name: type, code } = error
  return { type, message: withCauses(error), code }
}

const CAUSES_MAX = 8

/** A cause that the message already contains is not repeated. */
function withCauses(error: Error): string {
  let text = error.message
  let { cause } = error
  for (let depth = 0; cause instanceof Error && depth < CAUSES_MAX; depth += 1) {
    if (!text.includes(cause.message)) text += `: ${cause.message}`
    cause = cause.cause
  }
  return text
}
