import { openNewPostgresStore } from '../support/postgres-store.ts'
import { isSharedServer, openFilledStore, ownStream } from '../support/test-store.ts'
import { storeContract } from './contract.ts'

if (isSharedServer('postgres')) {
  storeContract('postgres store, shared', () => openFilledStore('postgres'), { nameStream: ownStream })
} else {
  storeContract('postgres store', openNewPostgresStore)
}
