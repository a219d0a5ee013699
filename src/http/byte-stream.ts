/** @module A response body that is produced on demand: nothing is prepared ahead, so that a slow reader costs no memory. */

export interface StreamHooks {
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

export interface ByteStream {
  readonly body: ReadableStream<Uint8Array>
  /** Ends the stream from this side, so that no reader mistakes it for complete. May be called at any time. */
  readonly cut: () => void
}

/** A stream over `chunks`. A stream that fails is cut, never closed as if it were complete. No promise rejects unhandled. */
export function byteStream(chunks: AsyncIterable<Uint8Array>, hooks: StreamHooks): ByteStream {
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
