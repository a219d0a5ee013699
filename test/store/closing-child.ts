/** @module Child of `eventstoredb-closing.test.ts`: closes a store on the URL of its argument under a live subscription, and says when that is done. */
import { writeSync } from 'node:fs'
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'

const store = await openEventStoreDbStore({ url: process.argv[2] ?? '', canonical: canonicalJson })
let live: Promise<void> | undefined
await new Promise<void>((caughtUp) => {
  live = (async () => {
    for await (const step of store.subscribe({}, new AbortController().signal)) {
      writeSync(1, `${String(step)}\n`)
      caughtUp()
    }
  })()
})
await store[Symbol.asyncDispose]()
await live
writeSync(1, 'closed\n')
