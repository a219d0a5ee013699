/** @module Child of `postgres-closing.long.test.ts`: closes a store whose server is gone, in a process that nothing else holds, and says when that is done. */
import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { NO_STREAM } from '../../src/store/event-store.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { appendOf } from '../support/records.ts'

const store = await openPostgresStore({ url: process.argv[2] ?? '', timings: { probeMs: 20_000, settleMs: 200 } })
writeSync(1, 'open\n')
while (store.status().state === 'ready') {
  await store.append(appendOf(`run-acme.r${Math.random()}`, NO_STREAM))
  await sleep(5)
}
// The look for the server has begun, and waits for its turn.
await sleep(200)
await store[Symbol.asyncDispose]()
writeSync(1, 'closed\n')
