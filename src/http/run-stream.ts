/**
 * @module The life cycle of a streamed answer: it ends with its source, its reader, its token or its server, and releases its slot when none of it is running
 * any more.
 */
import { ReaderLeftError } from '../resources/work-queue.ts'
import { StoreUnavailableError } from '../store/event-store.ts'
import type { HttpContext } from './http-context.ts'
import type { WatchedToken } from './live-tokens.ts'
import type { HttpDeps } from './route.ts'

/** Milliseconds that an endless stream may take to send its last id when it has to end; then it is cut. */
const LAST_WORD_MS = 500

export interface StreamRun extends WatchedToken {
  readonly c: HttpContext
  /** Releases the slot. */
  readonly release: () => void
  /**
   * Whether this is a tail, which is complete wherever it ends. Any other stream that does not reach its own end is cut, so that no client takes it for
   * complete.
   */
  readonly endless: boolean
  /** Ends the stream as an expired token does. */
  readonly over?: AbortSignal
  /** Produces the chunks. Once the signal aborts, no more are wanted: an endless source ends, another source may throw. */
  readonly chunks: (signal: AbortSignal) => AsyncIterable<Uint8Array>
}

/** The body of the response. From here on, the stream alone is responsible for the slot. */
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
    // A finite stream may finish while the server closes; the rest is cut with its connection.
    if (endless) stopped.abort()
  }
  /** The store is closed together with the server: the failure is expected, and logged once at info level. */
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
      if (!expected && !cutByEnd(error)) log.warn({ err: error, path }, 'a stream without a reader ended with an error')
    },
  })
  draining.addEventListener('abort', drain)
  over?.addEventListener('abort', end)
  if (draining.aborted) drain()
  if (over?.aborted === true) end()
  return stream.body
}

// A response body that is produced on demand: nothing is prepared ahead, so that a slow reader costs no memory.

interface StreamHooks {
  /** Called when no more data is wanted, because the reader disconnected or the stream was cut. Must stop a source that waits. */
  readonly stopped: () => void
  /** Called once, when the source has ended and holds no resources any more, however the stream ended. */
  readonly ended: () => void
  /** Called if the source threw while it was read. */
  readonly failed: (error: unknown) => void
  /** Cuts the connection of the stream, before the stream itself ends; false if there is no connection. */
  readonly sever: () => boolean
  /** Called if the source threw after the stream was stopped, including an error thrown because of the stop. */
  readonly failedLate: (error: unknown) => void
}

interface ByteStream {
  readonly body: ReadableStream<Uint8Array>
  /** Ends the stream from this side, so that no reader mistakes it for complete. May be called at any time. */
  readonly cut: () => void
}

/** A stream over `chunks`. A stream that fails is cut, never closed as if it were complete. No promise rejects unhandled. */
function byteStream(chunks: AsyncIterable<Uint8Array>, hooks: StreamHooks): ByteStream {
  const iterator = chunks[Symbol.asyncIterator]()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let over = false

  /** Waits for a pending read of the source, which may hold resources until it returns. */
  const stop = async (): Promise<void> => {
    if (over) return
    over = true
    hooks.stopped()
    try {
      await iterator.return?.()
    } catch (error) {
      hooks.failedLate(error)
    } finally {
      hooks.ended()
    }
  }
  const broken = (error: unknown, into: ReadableStreamDefaultController<Uint8Array>): void => {
    if (over) {
      hooks.failedLate(error)
      return
    }
    over = true
    hooks.ended()
    hooks.failed(error)
    endUnwhole(into)
  }
  /** If the connection was cut, no client can mistake the end for a complete body; an error here would only make node's adapter print it. */
  const endUnwhole = (into: ReadableStreamDefaultController<Uint8Array>): void => {
    if (hooks.sever()) into.close()
    else into.error(new Error('the stream was cut'))
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start: (inputs) => {
        controller = inputs
      },
      pull: async (into) => {
        const next = await iterator.next().catch((error: unknown) => broken(error, into))
        if (next === undefined || over) return
        if (next.done !== true) return into.enqueue(next.value)
        over = true
        hooks.ended()
        into.close()
      },
      cancel: stop,
    },
    { highWaterMark: 0 },
  )
  const cut = (): void => {
    if (over) return
    void stop()
    if (controller !== undefined) endUnwhole(controller)
  }
  return { body, cut }
}
