/** @module A response body that is made as it is read: nothing is prepared ahead, so that a slow reader costs no memory. */

export interface StreamHooks {
  /** Called once, however the stream ends. */
  readonly ended: () => void
  /** Called where the source threw. It may cut the connection itself; returning true says that it has. */
  readonly failed: (error: unknown) => boolean
  /** Called where the reader left: stops a source that waits. */
  readonly left?: () => void
}

/** A stream over `chunks`. One that breaks is cut, never closed as if it were whole. */
export function byteStream(chunks: AsyncIterable<Uint8Array>, hooks: StreamHooks): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  let over = false
  const end = (): void => {
    if (!over) hooks.ended()
    over = true
  }
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const next = await iterator.next()
          if (next.done !== true) return controller.enqueue(next.value)
          end()
          controller.close()
        } catch (error) {
          end()
          if (hooks.failed(error)) controller.close()
          else controller.error(new Error('the stream broke'))
        }
      },
      cancel: async () => {
        hooks.left?.()
        end()
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}
