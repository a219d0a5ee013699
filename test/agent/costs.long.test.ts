import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ledgerConnection } from '../../src/agent/runtime/ledger-connection.ts'
import { createRuntime } from '../../src/agent/runtime/runtime.ts'
import { countedStore } from '../support/counted-store.ts'
import { alice, testLedger } from '../support/test-ledger.ts'
import { openTestStore } from '../support/test-store.ts'

const test = suite('a run of 10,000 calls')
const CALLS = 10_000
const SLICE = 1_000
/** What the ledger and the runtime remember of a call while its run is open. */
const HELD_PER_CALL_BYTES = 6_000

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

test('the last thousand calls write and read as much as the first, and each leaves a bounded trace in memory (RUN-85)', async () => {
  // On a file: what was written is not in memory.
  const { store, take } = countedStore(await openTestStore('sqlite'))
  await using ledger = await testLedger({ store })
  const connection = ledgerConnection({ ledger: ledger.ledger, caller: alice, place: 'test', close: async () => {} })
  const cs = createRuntime(connection)
  const tool = cs.tool(async (n: number) => n, { name: 'tool', compensate: 'not-needed' })
  const slices: { appends: number; bytes: number; reads: number; heap: number }[] = []
  await cs.run({ name: 'long' }, async () => {
    take()
    for (let n = 0; n < CALLS; n += 1) {
      await tool(100_000 + n)
      if ((n + 1) % SLICE !== 0) continue
      collectGarbage()
      const { appends, bytes, reads } = take()
      slices.push({ appends: appends.length, bytes, reads, heap: process.memoryUsage().heapUsed })
    }
  })
  const [first, last] = [slices[0], slices.at(-1)]
  if (first === undefined || last === undefined) throw new Error('there are slices')
  for (const { appends, reads } of slices) assert.equal([appends, reads], [2 * SLICE, 0])
  assert.ok(last.bytes < first.bytes * 1.02, `${first.bytes} bytes, then ${last.bytes}`)
  const heldBytes = (last.heap - first.heap) / (CALLS - SLICE)
  assert.ok(heldBytes < HELD_PER_CALL_BYTES, `${Math.round(heldBytes)} bytes a call`)
})

test.run()
