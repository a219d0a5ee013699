/** @module Starting a streamed answer of the API: a slot of the tenant, the headers, and the record of the read. */
import { problemResponse, streamed } from './answers.ts'
import { bearerToken } from './dispatch.ts'
import { problem } from './problems.ts'
import type { AccessNote, RequestContext } from './route.ts'
import { runStream } from './run-stream.ts'
import type { StreamKind } from './stream-slots.ts'

export const EVENT_STREAM = 'text/event-stream'

export interface StreamSource {
  readonly kind: StreamKind
  /** What it holds beyond others of its kind. */
  readonly heldBytes?: number
  /** `EVENT_STREAM` for one that has no end of its own. */
  readonly contentType: string
  readonly headers?: Readonly<Record<string, string>>
  /** What has to be done before the first byte leaves; where it throws, nothing is answered but the failure. */
  readonly before?: () => Promise<void>
  /** Makes the chunks. The signal aborts when nobody wants more: the reader left, the token is over, the server closes. */
  readonly chunks: (signal: AbortSignal) => AsyncIterable<Uint8Array>
}

/** Answers with a stream; with 429 where the tenant has too many, with 503 where all streams together take their memory. */
export async function openStream(context: RequestContext, source: StreamSource): Promise<Response> {
  const { c, deps, caller, path } = context
  const { contentType, headers } = source
  // Nothing would ever read it, so nothing must be held for it.
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
      // A tail has a last word to say; whatever else is cut needs no more of its reader's time.
      if (contentType !== EVENT_STREAM) signal.addEventListener('abort', () => caller.pace?.leave())
      // Its own iterator knows whether it was ever begun; a generator around it would not tell it.
      return context.access === undefined ? source.chunks(signal) : recorded(source, context.access, signal)
    },
  })
  return streamed(body, contentType, headers)
}

/**
 * A tail is on record before its first event, as it has no end; whatever else is streamed, before its last portion, without which it is not
 * whole. One that breaks off is on record as cut.
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
