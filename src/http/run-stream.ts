/**
 * @module The life of a streamed answer, whoever makes it: it ends with its source, its reader, its token, or its server, and gives back what
 * it held when nothing of it runs any more.
 */
import { ReaderLeftError } from '../resources/work-queue.ts'
import { StoreUnavailableError } from '../store/event-store.ts'
import { byteStream } from './byte-stream.ts'
import type { HttpContext } from './http-context.ts'
import type { WatchedToken } from './live-tokens.ts'
import type { HttpDeps } from './route.ts'

/** An endless stream that is to end may still say where to go on, in so long; then it is cut. */
const LAST_WORD_MS = 500

export interface StreamRun extends WatchedToken {
  readonly c: HttpContext
  /** Gives the slot back. */
  readonly release: () => void
  /** A tail: whole wherever it ends. Anything else that does not come to its own end is cut, so that nobody takes it for whole. */
  readonly endless: boolean
  /** Ends it as an expired token does. */
  readonly over?: AbortSignal
  /** Makes the chunks. Once the signal aborts nobody wants more of them: an endless source ends, another one may throw. */
  readonly chunks: (signal: AbortSignal) => AsyncIterable<Uint8Array>
}

/** The body. From here on the stream alone answers for the slot. */
export function runStream(
  { log, draining, liveTokens }: Pick<HttpDeps, 'log' | 'draining' | 'liveTokens'>,
  { c, token, expiresAt, release, endless, over, chunks }: StreamRun,
): ReadableStream<Uint8Array> {
  const { path } = c.req
  const outgoing = c.env?.outgoing
  const stopped = new AbortController()
  let lastWord: NodeJS.Timeout | undefined

  const end = (): void => {
    stopped.abort()
    if (endless) lastWord ??= setTimeout(() => stream.cut(), LAST_WORD_MS).unref()
    else stream.cut()
  }
  const expire = (): void => {
    log.info({ path }, 'a stream ended with its token')
    end()
  }
  const drain = (): void => {
    // What comes to an end by itself may do so while the server closes; what is left then is cut with its connection.
    if (endless) stopped.abort()
  }
  /** What it read from is closed with the server: no fault, and one line that says so. */
  const cutByEnd = (error: unknown): boolean => {
    if (!draining.aborted || !(error instanceof StoreUnavailableError)) return false
    log.info({ path }, 'a stream was cut at the end of this server: its reader has to ask again')
    return true
  }
  const unwatch = liveTokens.watch({ token, expiresAt }, expire)
  const stream = byteStream(chunks(stopped.signal), {
    stopped: () => stopped.abort(),
    ended: () => {
      clearTimeout(lastWord)
      unwatch()
      draining.removeEventListener('abort', drain)
      over?.removeEventListener('abort', end)
      release()
    },
    failed: (error) => {
      if (error instanceof ReaderLeftError || cutByEnd(error)) return
      log.error({ err: error, path }, 'a stream broke')
    },
    sever: () => {
      outgoing?.destroy()
      return outgoing !== undefined
    },
    failedLate: (error) => {
      const expected = error === stopped.signal.reason || error instanceof ReaderLeftError
      if (!expected && !cutByEnd(error)) log.warn({ err: error, path }, 'a stream that nobody reads ended badly')
    },
  })
  draining.addEventListener('abort', drain)
  over?.addEventListener('abort', end)
  if (draining.aborted) drain()
  if (over?.aborted === true) end()
  return stream.body
}
