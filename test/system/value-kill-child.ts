/**
 * @module Child of `value-kill.long.test.ts`: settles a call with a large result in a ledger on a file, and dies once so many appends of that settle are
 * durable. Arguments: the data folder, the number of appends. Without a number it carries the settle out and prints the call.
 */
import { existsSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { readKeyFile, writeNewKeyFile } from '../../src/signing/key-file.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { drive, ok } from '../support/run-driver.ts'
import { testLedger } from '../support/test-ledger.ts'
import { testStoreKeys } from '../support/test-store.ts'
import { wrapStore } from '../support/wrap-store.ts'

const [folder = '', dieAfter] = process.argv.slice(2)
const keyFile = join(folder, 'keys.json')
if (!existsSync(keyFile)) writeNewKeyFile(keyFile, testStoreKeys('memory'))
const inner = await openSqliteStore({ path: join(folder, 'store.db') })
const settling = { on: false, appends: 0 }
const store = wrapStore(inner, {
  // So small that a value takes several appends.
  maxAppendBytes: 200_000,
  append: async (append: Parameters<typeof inner.append>[0]) => {
    const result = await inner.append(append)
    if (settling.on) settling.appends += 1
    if (settling.appends === Number(dieAfter)) {
      process.kill(process.pid, 'SIGKILL')
      // A signal to oneself arrives a moment later: nothing may happen until then.
      await new Promise(() => setInterval(() => {}, 1_000))
    }
    return result
  },
})
const test = await testLedger({ store, keys: readKeyFile(keyFile) })
const run = drive(test, 'r')
const claimed = join(folder, 'claimed')
if (!existsSync(claimed)) {
  await run.start()
  writeFileSync(claimed, await run.claimed('t'))
}
const callId = readFileSync(claimed, 'utf8')
settling.on = true
ok(await run.settle(callId, { result: 'x'.repeat(400_000) }))
writeSync(1, JSON.stringify({ appends: settling.appends, call: await run.call(callId) }))
await test[Symbol.asyncDispose]()
