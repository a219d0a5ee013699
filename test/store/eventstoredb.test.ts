import { isSharedServer, openFilledStore, openUnsharedStore, ownStream } from '../support/test-store.ts'
import { storeContract } from './contract.ts'

const refusesDuplicateRequests = false

if (isSharedServer('eventstoredb')) {
  const options = { refusesDuplicateRequests, nameStream: ownStream }
  storeContract('eventstoredb store, shared', () => openFilledStore('eventstoredb'), options)
} else {
  storeContract('eventstoredb store', () => openUnsharedStore('eventstoredb'), { refusesDuplicateRequests })
}
