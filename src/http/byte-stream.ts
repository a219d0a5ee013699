/** @module A response body that is made as it is read: nothing is prepared ahead, so that a slow reader costs no memory. */

export interface StreamHooks {
  /** Called where nobody wants more: the reader left, or the stream was cut. Stops a source that waits. */
  readonly stopped: () => void
  /** Called once, when the source has come to its end and holds nothing any more, however the stream ended. */
  readonly ended: () => void
  /** Called where the source threw while it was read. */
  readonly failed: (error: unknown) => void
  /** Cuts the connection under the stream, before the stream itself ends; false where there is none to be cut. */
  readonly sever: () => boolean
  /** Called where the source threw after nobody wanted more. What it throws because it was stopped comes here, too. */
  readonly failedLate: (error: unknown) => void
}

export interface ByteStream {
  readonly body: ReadableStream<Uint8Array>
  /** Ends it from this side, so that no reader takes it for whole. It may be called at any time. */
  readonly cut: () => void
}

/** A stream over `chunks`. One that breaks is cut, never closed as if it were whole. Nothing it does rejects unheard. */
export function byteStream(chunks: AsyncIterable<Uint8Array>, hooks: StreamHooks): ByteStream {
  const iterator = chunks[Symbol.asyncIterator]()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let over = false

  /** A read of the source that is under way is waited for: until then it holds what it holds. */
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
  /** Where the connection was cut nobody can take the end for a whole one, and node's adapter would print the error of the body. */
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
