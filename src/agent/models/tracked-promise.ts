/** @module The result types of the OpenAI and Anthropic clients: a promise with extra helpers, and a stream that can be aborted. */
import { AgentError } from '../errors.ts'

/** A promise with the helpers that the clients' own code relies on. It has no raw response, because a served answer has none. */
export interface TrackedPromise<T> extends Promise<T> {
  asResponse(): Promise<never>
  withResponse(): Promise<{ readonly data: T; readonly response: Response; readonly request_id: string | null }>
  _thenUnwrap<U>(transform: (value: T) => U): TrackedPromise<U>
}

export function trackedPromise<T>(promise: Promise<T>): TrackedPromise<T> {
  return Object.assign(promise, {
    asResponse: async (): Promise<never> => {
      await promise
      throw new AgentError(
        'not-tracked',
        'a tracked client has no raw response: await the call, or use the bare client',
      )
    },
    withResponse: async () => {
      const data = await promise
      return { data, response: new Response(null, { status: 200 }), request_id: requestIdOf(data) }
    },
    _thenUnwrap: <U>(transform: (value: T) => U): TrackedPromise<U> => trackedPromise(promise.then(transform)),
  })
}

function requestIdOf(data: unknown): string | null {
  const id = typeof data === 'object' && data !== null && '_request_id' in data ? data._request_id : null
  return typeof id === 'string' ? id : null
}

/** Chunks with the members of the clients' own streams. Can be read once. */
export class TrackedStream<Chunk> implements AsyncIterable<Chunk> {
  readonly controller: AbortController
  readonly #chunks: AsyncIterable<Chunk>

  constructor(chunks: AsyncIterable<Chunk>, controller: AbortController) {
    this.#chunks = chunks
    this.controller = controller
  }

  abort(): void {
    this.controller.abort()
  }

  [Symbol.asyncIterator](): AsyncIterator<Chunk> {
    return this.#chunks[Symbol.asyncIterator]()
  }

  /** Splits this stream into two streams of the same chunks. */
  tee(): [TrackedStream<Chunk>, TrackedStream<Chunk>] {
    const [left, right] = toWebStream(this.#chunks).tee()
    return [new TrackedStream(readAll(left), this.controller), new TrackedStream(readAll(right), this.controller)]
  }

  /** Encodes the chunks as JSON lines, like the clients' own method. */
  toReadableStream(): ReadableStream<Uint8Array> {
    const encoder = new TextEncoder()
    return toWebStream(this.#chunks).pipeThrough(
      new TransformStream({
        transform: (chunk, out) => out.enqueue(encoder.encode(`${JSON.stringify(chunk)}\n`)),
      }),
    )
  }
}

/** A web stream of the chunks; cancelling it ends their iteration. */
export function toWebStream<Chunk>(chunks: AsyncIterable<Chunk>): ReadableStream<Chunk> {
  const iterator = chunks[Symbol.asyncIterator]()
  return new ReadableStream<Chunk>({
    pull: async (controller) => {
      const next = await iterator.next()
      if (next.done === true) controller.close()
      else controller.enqueue(next.value)
    },
    cancel: async () => void (await iterator.return?.()),
  })
}

export async function* readAll<Chunk>(stream: ReadableStream<Chunk>): AsyncGenerator<Chunk, void> {
  const reader = stream.getReader()
  try {
    for (;;) {
      const next = await reader.read()
      if (next.done) return
      yield next.value
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
