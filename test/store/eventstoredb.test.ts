import { canonicalJson } from '../../src/signing/canonical-json.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { startNode } from '../support/eventstoredb-node.ts'
import { storeContract } from './contract.ts'

/** A real server, shared and never empty: each test takes names of its own. */
const SERVER = process.env.EVENTSTORE_URL ?? ''
let opened = 0

async function open(): Promise<EventStore> {
  opened += 1
  if (SERVER !== '') return openEventStoreDbStore({ url: SERVER, canonical: canonicalJson })
  const node = await startNode()
  const store = await openEventStoreDbStore({ url: node.url, canonical: canonicalJson })
  const close = store[Symbol.asyncDispose].bind(store)
  return Object.assign(store, {
    [Symbol.asyncDispose]: async () => {
      await close()
      await node[Symbol.asyncDispose]()
    },
  })
}

const run = `t${Date.now().toString(36)}`
storeContract('eventstoredb store', open, {
  refusesDuplicateRequests: false,
  ...(SERVER !== '' && { nameStream: (name: string) => uniqueName(name) }),
})

/** `run-acme.r1` of the third test becomes `run-acme-t1x-3.r1`: another tenant, so that tenants' reads stay apart. */
function uniqueName(name: string): string {
  const [first = '', ...rest] = name.split('.')
  const tenant = `${first}-${run}-${opened}`
  return rest.length === 0 ? tenant : [tenant, ...rest].join('.')
}
