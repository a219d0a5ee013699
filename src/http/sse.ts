/**
 * @module Tails as server-sent events: an id first, then history, `caught-up`, and live events. Frames are produced one portion at a time as they are read, so
 * that a slow reader holds no more than one page of the store.
 */
import type { SealedPlaces } from '../ledger/ledger.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import type { CursorScope } from './cursor.ts'
import { eventCursor } from './event-cursor.ts'
import { eventText } from './event-text.ts'

/** Milliseconds after which a browser that lost its connection retries. */
const RETRY_MS = 2_000
const PORTION_CHARS = 64 * 1024

/** An id of any tail of a tenant is valid for all its tails and listings. */
export const tailScope = (tenant: string): CursorScope => ['tail', tenant]

export interface Tail {
  readonly events: AsyncIterable<readonly LedgerEvent[] | 'caught-up'>
  readonly tenant: string
  readonly places: SealedPlaces
  /** The id to resume from before any event was sent. */
  readonly startId: string
  /** Path of the state to read if the reader's own id is not usable; the reader is notified once, and gets everything again. */
  readonly resync?: string
  readonly heartbeatMs: number
}

const encoder = new TextEncoder()

/** Frames of a tail. When `events` ends, the last frame is the id to resume from. */
export async function* tailFrames(tail: Tail): AsyncGenerator<Uint8Array, void> {
  let lastId = tail.startId
  yield encoder.encode(
    `retry: ${RETRY_MS}\nid: ${lastId}\n\n${tail.resync === undefined ? '' : resyncFrame(tail.resync)}`,
  )

  for await (const page of heartbeats(tail.events, tail.heartbeatMs)) {
    if (page === 'quiet') yield encoder.encode(':\n\n')
    else if (page === 'caught-up') yield encoder.encode('event: caught-up\ndata: {}\n\n')
    else {
      for (const { text, id } of portions(page, tail)) {
        lastId = id
        yield encoder.encode(text)
      }
    }
  }
  yield encoder.encode(`id: ${lastId}\n\n`)
}

function resyncFrame(state: string): string {
  return `event: resync\ndata: ${JSON.stringify({ reason: 'cursor-gone', state })}\n\n`
}

type Portion = { readonly text: string; readonly id: string }

function* portions(page: readonly LedgerEvent[], { tenant, places }: Omit<Tail, 'events'>): Generator<Portion> {
  const scope = tailScope(tenant)
  let text = ''
  let id = ''
  for (const event of page) {
    id = eventCursor(places, scope, { position: event.position, id: event.header.id })
    text += `id: ${id}\nevent: ${event.header.type}\ndata: ${eventText(event)}\n\n`
    if (text.length < PORTION_CHARS) continue
    yield { text, id }
    text = ''
  }
  if (text !== '') yield { text, id }
}

/** Yields the same items, and `'quiet'` each time none has come for `quietMs` milliseconds. */
export async function* heartbeats<T>(items: AsyncIterable<T>, quietMs: number): AsyncGenerator<T | 'quiet', void> {
  const iterator = items[Symbol.asyncIterator]()
  try {
    let next = iterator.next()
    for (;;) {
      const got = await within(next, quietMs)
      if (got === 'quiet') yield got
      else if (got.done === true) return
      else {
        yield got.value
        next = iterator.next()
      }
    }
  } finally {
    await iterator.return?.()
  }
}

async function within<T>(promise: Promise<T>, ms: number): Promise<T | 'quiet'> {
  let timer: NodeJS.Timeout | undefined
  const quiet = new Promise<'quiet'>((resolve) => {
    timer = setTimeout(resolve, ms, 'quiet')
  })
  try {
    return await Promise.race([promise, quiet])
  } finally {
    clearTimeout(timer)
  }
}
