/** @module A read-only view of a store as it was just after a given record was written: later records are hidden. */
import { NO_STREAM, type Position } from './event-store.ts'
import { densityOf, type ReadHalf } from './read-only-store.ts'

/** `last` is evaluated by each call. */
export function storeAsOf(reader: ReadHalf, last: () => Position): ReadHalf {
  const exists = (position: Position): boolean => reader.comparePositions(position, last()) <= 0
  const head = async (stream: string): Promise<number> => {
    for await (const page of reader.readStream(stream, { direction: 'backwards' })) {
      const newest = page.find(({ position }) => exists(position))
      if (newest !== undefined) return newest.revision
    }
    return NO_STREAM
  }
  return {
    ...{ url: reader.url, ...densityOf(reader) },
    comparePositions: (a, b) => reader.comparePositions(a, b),
    head,
    end: async () => last(),
    ...(reader.attested && {
      attested: ({ after, until }) =>
        reader.attested?.({ after, until: until === undefined || !exists(until) ? last() : until }) ??
        Promise.resolve({ lost: [] }),
    }),
    recordAt: async (position) => (exists(position) ? reader.recordAt(position) : undefined),
    readAll: ({ until, ...options } = {}) =>
      reader.readAll({ ...options, until: until === undefined || !exists(until) ? last() : until }),
    readStream: async function* (stream, options) {
      for await (const page of reader.readStream(stream, options)) yield page.filter(({ position }) => exists(position))
    },
    findRequest: async (stream, requestId) => {
      const revision = await reader.findRequest(stream, requestId)
      return revision !== undefined && revision <= (await head(stream)) ? revision : undefined
    },
    // The past does not grow, so a subscriber needs no notification; the underlying subscription is passed through.
    subscribe: (options, signal) => reader.subscribe(options, signal),
  }
}
