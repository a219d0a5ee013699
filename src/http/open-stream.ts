/** @module Starts a streamed answer of the API: a slot of the tenant, the headers, and the record of the read. */
import { problemResponse, streamed } from './answers.ts'
import { bearerToken } from './dispatch.ts'
import { problem } from './problems.ts'
import type { AccessNote, RequestContext } from './route.ts'
import { runStream } from './run-stream.ts'
import type { StreamKind } from './stream-slots.ts'

export const EVENT_STREAM = 'text/event-stream'

export interface StreamSource {
  readonly kind: StreamKind
  /** Memory that this stream holds in addition to others of its kind, in bytes. */
  readonly heldBytes?: number
  /** `EVENT_STREAM` for an endless stream. */
  readonly contentType: string
  readonly headers?: Readonly<Record<string, string>>
  /** Runs before the first byte is sent; if it throws, only the failure is answered. */
  readonly before?: () => Promise<void>
  /** Produces the chunks. The signal aborts when no more are wanted: the reader disconnected, the token has expired, or the server is closing. */
  readonly chunks: (signal: AbortSignal) => AsyncIterable<Uint8Array>
}

/** Answers with a stream; with 429 if the tenant has too many open, with 503 if all streams together use up their memory. */
export async function openStream(context: RequestContext, source: StreamSource): Promise<Response> {
  const { c, deps, caller, path } = context
  const { contentType, headers } = source
  // The stream of a HEAD request would never be read, so no slot may be held for it.
  if (c.req.method === 'HEAD') return streamed(null, contentType, headers)

  const release = deps.slots.acquire(caller.tenant, source.kind, source.heldBytes)
  if (typeof release === 'string') return problemResponse(NO_SLOT[release], path)
  try {
    await source.before?.()
  } catch (error) {
    release()
    throw error
  }
  if (context.access !== undefined) context.access.streamed = true
  const body = runStream(deps, {
    c,
    token: bearerToken(c.req.header('authorization')) ?? '',
    expiresAt: caller.expiresAt,
    release,
    endless: contentType === EVENT_STREAM,
    chunks: (signal) => {
      // A tail still sends its last id; any other stream that is cut must not use more of its reader's time share.
      if (contentType !== EVENT_STREAM) signal.addEventListener('abort', () => caller.pace?.leave())
      // Passed on unwrapped, because its iterator tracks whether it was started; a generator around it would hide that.
      return context.access === undefined ? source.chunks(signal) : recorded(source, context.access, signal)
    },
  })
  return streamed(body, contentType, headers)
}

/**
 * Records the read. A tail is recorded before its first event, because it has no end; any other stream before its last chunk, without which it is not complete.
 * A stream that breaks off is recorded as cut.
 */
async function* recorded(
  { contentType, chunks }: StreamSource,
  access: AccessNote,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const endless = contentType === EVENT_STREAM
  if (endless) await access.record()
  let whole = false
  let previous: Uint8Array | undefined
  try {
    for await (const chunk of chunks(signal)) {
      if (previous !== undefined) yield previous
      previous = chunk
      if (!endless) continue
      yield chunk
      previous = undefined
    }
    whole = true
    if (!endless) await access.record()
    if (previous !== undefined) yield previous
  } finally {
    if (!whole && !endless) await access.record(true)
  }
}

export const NO_SLOT = {
  'too-many-streams': problem('too-many-streams', 'this tenant holds as many streams open as it may'),
  overloaded: problem('overloaded', 'the streams that are open take all the memory for streams', {
    retryAfterMs: 5_000,
  }),
} as const
