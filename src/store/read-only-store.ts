/** @module An `EventStore` over a reader: every append is refused, and nothing is written. */
import type { EventStore, RecordPages } from './event-store.ts'

export type ReadHalf = Pick<
  EventStore,
  | 'url'
  | 'densePositions'
  | 'missingPositions'
  | 'missingEnd'
  | 'attested'
  | 'countEvents'
  | 'noteWith'
  | 'head'
  | 'recordAt'
  | 'readStream'
  | 'readAll'
  | 'end'
  | 'findRequest'
  | 'subscribe'
  | 'comparePositions'
>

/** The reading half of an open store; disposing it closes the store without waiting for completion. */
export function readHalfOf(store: EventStore): ReadHalf & Disposable {
  return {
    ...{ url: store.url, ...densityOf(store) },
    comparePositions: store.comparePositions,
    head: (stream) => store.head(stream),
    recordAt: (position) => store.recordAt(position),
    end: () => store.end(),
    findRequest: (stream, requestId) => store.findRequest(stream, requestId),
    readStream: (stream, options) => store.readStream(stream, options),
    readAll: (options) => store.readAll(options),
    subscribe: (options, signal) => store.subscribe(options, signal),
    ...notesOf(store),
    [Symbol.dispose]: () => void store[Symbol.asyncDispose]().then(undefined, () => undefined),
  }
}

type Density = Pick<EventStore, 'densePositions' | 'missingPositions' | 'missingEnd'>

/** The members that report gaps in positions, which mean that events are gone. */
export function densityOf(store: Density): Density {
  return {
    densePositions: store.densePositions === true,
    ...(store.missingPositions && { missingPositions: store.missingPositions.bind(store) }),
    ...(store.missingEnd && { missingEnd: store.missingEnd.bind(store) }),
  }
}

type Noted = Pick<ReadHalf, 'noteWith' | 'attested' | 'countEvents'>

function notesOf(store: Noted): Noted {
  const { countEvents } = store
  return {
    ...(countEvents && { countEvents: countEvents.bind(store) }),
    ...(store.noteWith && { noteWith: (seal) => store.noteWith?.(seal) }),
    ...(store.attested && { attested: (range) => store.attested?.(range) ?? Promise.resolve({ lost: [] }) }),
  }
}

const DETAIL = 'the store was opened for reading'

/** Disposing the store leaves the reader open: the code that opened it closes it. `onRead` counts the records of scans over the whole store. */
export function readOnlyStore(reader: ReadHalf, onRead: (records: number) => void = () => undefined): EventStore {
  return {
    ...{ url: reader.url, ...densityOf(reader) },
    maxAppendBytes: 0,
    comparePositions: (a, b) => reader.comparePositions(a, b),
    head: (stream) => reader.head(stream),
    recordAt: (position) => reader.recordAt(position),
    end: () => reader.end(),
    findRequest: (stream, requestId) => reader.findRequest(stream, requestId),
    readStream: (stream, options) => reader.readStream(stream, options),
    readAll: (options) => counted(reader.readAll(options), onRead),
    subscribe: (options, signal) => reader.subscribe(options, signal),
    ...notesOf(reader),
    append: async () => ({ kind: 'unavailable', detail: DETAIL, retryAfterMs: 1_000 }),
    status: () => ({ state: 'ready', detail: DETAIL }),
    onStatus: () => () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }
}

async function* counted(pages: RecordPages, onRead: (records: number) => void): RecordPages {
  for await (const page of pages) {
    onRead(page.length)
    yield page
  }
}
