import type { EventStore } from '../../src/store/event-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { storeContract } from './contract.ts'

storeContract('sqlite store', async () => {
  const folder = tempFolder()
  const store = await openSqliteStore({ path: folder.file('ledger.sqlite') })
  return withCleanUp(store, () => folder[Symbol.dispose]())
})

/** The store as it is, but for one thing more that happens at its end. */
function withCleanUp(store: EventStore, cleanUp: () => void): EventStore {
  return new Proxy(store, {
    get(target, key) {
      if (key === Symbol.asyncDispose)
        return async () => {
          await target[Symbol.asyncDispose]()
          cleanUp()
        }
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
