/** @module A ledger that is only asked: over a store that another process may own, with views of its own that end with it. */
import { openReader } from './compose-stores.ts'
import type { Settings } from './config.ts'
import { fixedKeys, requireKeys } from './key-source.ts'
import { createLedger } from './ledger/create-ledger.ts'
import { silentLog } from './ledger/effects.ts'
import type { Ledger } from './ledger/ledger.ts'
import type { LedgerKeys } from './signing/ledger-keys.ts'
import type { Position } from './store/event-store.ts'
import { readOnlyStore } from './store/read-only-store.ts'
import { openSqliteAudit } from './store/sqlite/sqlite-audit.ts'
import { openSqliteViews } from './store/sqlite/sqlite-views.ts'
import { storeAsOf } from './store/store-as-of.ts'

export interface ReadingLedger extends AsyncDisposable {
  readonly ledger: Ledger
  readonly keys: LedgerKeys
}

/**
 * Takes no lock, writes nothing, and puts no read on record: whoever can read the file needs nobody's leave. The index is made for this
 * process, in memory, from the whole store, or from what it held up to `asOf`. Throws `StoreOpenError`, `KeyFileError`, `IdentityError`.
 */
export async function openReadingLedger(
  settings: Settings,
  { onRead, asOf }: { readonly onRead: (records: number) => void; readonly asOf?: Position | undefined },
): Promise<ReadingLedger> {
  const keys = requireKeys(settings.keys)
  const reader = await openReader(settings.store)
  const views = openSqliteViews({ path: ':memory:' })
  const index = openSqliteAudit({ path: ':memory:' })
  const close = (): void => {
    index[Symbol.dispose]()
    views[Symbol.dispose]()
    reader[Symbol.dispose]()
  }
  try {
    const store = readOnlyStore(asOf === undefined ? reader : storeAsOf(reader, asOf), onRead)
    const parts = { store, views, keys: fixedKeys(keys), log: silentLog, audit: { index }, readOnly: true }
    const ledger = await createLedger(parts)
    return {
      ledger,
      keys,
      [Symbol.asyncDispose]: async () => {
        await ledger[Symbol.asyncDispose]()
        close()
      },
    }
  } catch (error) {
    close()
    throw error
  }
}
