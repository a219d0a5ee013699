/** @module Entry point of the thread that reads ahead for the writer of the audit index: it has a read-only connection to the store and no keys. */

import type { AheadCalls, AheadRange } from '../indexing/index-ahead.ts'
import { PinnedStore } from '../indexing/pinned-store.ts'
import { columnsOf, type PageColumns } from '../ledger/audit/page-columns.ts'
import { threadGivesWay } from '../resources/give-way.ts'
import type { StoreReader } from '../store/event-store.ts'
import { openSqliteReader } from '../store/sqlite/sqlite-reader.ts'
import type { NoCalls } from '../workers/peer.ts'
import { type Served, serveThread } from '../workers/serve-thread.ts'

export interface AheadPlaces {
  /** Path of the store's file. */
  readonly store: string
}

type AheadData = AheadPlaces & { readonly range: AheadRange }

function begin({ store, range }: AheadData): Served<AheadCalls> {
  threadGivesWay({ isWaitedFor: true })
  const reader = openSqliteReader({ path: store })
  const pages = pagesOf(reader, range)
  return {
    handlers: { next: async () => (await pages.next()).value ?? undefined },
    close: () => reader[Symbol.dispose](),
  }
}

async function* pagesOf(reader: StoreReader, { after, until }: AheadRange): AsyncGenerator<PageColumns, void> {
  const pinned = new PinnedStore(reader)
  await pinned.reach(until)
  for await (const records of pinned.store.readAll({ after, until })) {
    const page = columnsOf(records)
    if (page !== undefined) yield page
  }
}

await serveThread<AheadData, NoCalls, AheadCalls>(begin)
