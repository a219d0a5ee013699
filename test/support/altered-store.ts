/** @module A store whose events read otherwise than they were written, from the moment a test says so: what somebody with its file can do. */
import type { EventStore, ReadRecord } from '../../src/store/event-store.ts'
import { wrapStore } from './wrap-store.ts'

/** What a reader gets in place of a record; undefined: it is gone. */
export type Alteration = (record: ReadRecord) => ReadRecord | undefined

export interface AlteredStore {
  readonly store: EventStore
  alter(change: Alteration): void
}

export function alteredStore(inner: EventStore): AlteredStore {
  let change: Alteration = (record) => record
  async function* altered(pages: AsyncIterable<readonly ReadRecord[]>): AsyncGenerator<readonly ReadRecord[]> {
    for await (const page of pages) {
      const seen = page.flatMap((record) => change(record) ?? [])
      if (seen.length > 0) yield seen
    }
  }
  const store = wrapStore(inner, {
    readStream: (stream, range) => altered(inner.readStream(stream, range)),
    readAll: (range) => altered(inner.readAll(range)),
  })
  return {
    store,
    alter: (next) => {
      change = next
    },
  }
}

/** Every occurrence of a text in the body of one event becomes another one. */
export function withOtherBody(stream: string, revision: number, [from, to]: readonly [string, string]): Alteration {
  return (record) =>
    record.stream === stream && record.revision === revision
      ? { ...record, data: record.data.replaceAll(from, to) }
      : record
}
