/**
 * @module Child of `retention-kill.long.test.ts`: a pass of retention that archives all runs of a tenant at once, and dies at a step. Arguments: the data folder,
 * the step, the number of runs.
 */
import { join } from 'node:path'
import { RetentionClasses } from '../../../schemas/retention.ts'
import { openLedger } from '../../../src/compose/compose.ts'
import { runRetention } from '../../../src/export/archive/retention-pass.ts'
import { silentLog } from '../../../src/ledger/effects.ts'
import type { Caller, Ledger } from '../../../src/ledger/ledger.ts'
import { readSettings } from '../../../src/settings/config.ts'
import { archivesOf } from '../../../src/store/sqlite/archive-reader.ts'

const [data = '', step = '', runs = ''] = process.argv.slice(2)
const caller: Caller = { tenant: 'default', actor: 'tester' }
const { retention: classes } = RetentionClasses.parse({
  retention: [{ class: 'all', keep: { atMost: 0 }, action: 'archive' }],
})

async function dieAt(here: string): Promise<void> {
  if (here !== step) return
  process.kill(process.pid, 'SIGKILL')
  // A signal to oneself arrives a moment later: nothing may happen until then.
  await new Promise(() => setInterval(() => {}, 1_000))
}

const opened = await openLedger(readSettings({ data }, {}), silentLog)
const { ledger, store } = opened
let [readings, pins] = [0, 0]
// The log is asked for the trailer of the file, and for the record.
const pin = ledger.exports.pin.bind(ledger.exports)
ledger.exports.pin = async (...asked) => {
  pins += 1
  await dieAt(pins === 1 ? 'ending' : 'checked')
  return pin(...asked)
}
const dying: Ledger = {
  ...ledger,
  // Each run is read once for the file, and once more when it is compared with it.
  runEvents: async (...asked) => {
    readings += 1
    if (readings === Math.ceil(Number(runs) / 2)) await dieAt('writing')
    if (readings === Number(runs) + 1) await dieAt('checking')
    return ledger.runEvents(...asked)
  },
  archives: {
    ...ledger.archives,
    archive: async (by, body, rows) => {
      await dieAt('recording')
      const archived = await ledger.archives.archive(by, body, step === 'moving' ? [] : rows)
      if (archived.ok) await dieAt(step === 'moving' ? 'moving' : 'moved')
      throw new Error(`the pass went on past ${step}`)
    },
  },
}

const folder = archivesOf(join(data, 'store.db'))
await runRetention({ ledger: dying, store, caller, classes, nowMs: Date.now, folder })
