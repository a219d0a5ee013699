/**
 * @module Child of the power cut tests, on a disk that records: works on a ledger or on a bare store, and marks in the trace what was
 * acknowledged, when it was. Arguments: what to do, and the data folder.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { runStream } from '../../schemas/names.ts'
import { openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { readSettings } from '../../src/settings/config.ts'
import { makeFolder } from '../../src/signing/durable-file.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { askAll } from '../support/audited.ts'
import { markOwnTrace } from '../support/power-cut/recorded-disk.ts'
import { shippedProgram } from '../support/program.ts'
import { record } from '../support/records.ts'
import { drive, ok } from '../support/run-driver.ts'
import { alice } from '../support/test-ledger.ts'

/** The writer copies its log into the file when it had nothing to do for half a second. */
const IDLE_MS = 700
const TURNS = 4

/** Appends of four streams at a time; the log is copied into the file, and starts over, every few of them. */
async function bareStore(data: string): Promise<void> {
  makeFolder(data)
  const store = await openSqliteStore({ path: `${data}/store.db`, logFrames: 25 })
  const stream = async (name: string): Promise<void> => {
    for (let revision = -1, turn = 0; turn < 40; turn += 1) {
      const mark = `${name}-${turn}`
      const of = 1 + (turn % 3)
      const data = JSON.stringify({ mark, of, text: 'x'.repeat(turn % 7 === 0 ? 9_000 : 200) })
      const records = Array.from({ length: of }, () => record({ data }))
      const result = await store.append({ stream: name, expectedRevision: revision, records })
      if (result.kind !== 'appended') throw new Error(`unexpected answer ${JSON.stringify(result)}`)
      revision = result.revision
      markOwnTrace(mark)
    }
  }
  await Promise.all([0, 1, 2, 3].map((each) => stream(`run-acme.w${each}`)))
}

async function work(ledger: Ledger, name: string): Promise<void> {
  const one = async (run: string): Promise<void> => {
    const at = drive({ ledger }, run)
    await at.start()
    markOwnTrace(runStream(alice.tenant, run))
    for (let turn = 0; turn < TURNS; turn += 1) {
      const mark = `${run}-${turn}`
      ok(await at.hand('a', { note: mark }))
      markOwnTrace(mark)
      ok(await at.settle(await at.claimed('t', { key: `${mark}-call` })))
      markOwnTrace(`${mark}-call`)
    }
  }
  await Promise.all([one(`${name}-a`), one(`${name}-b`)])
  await askAll(ledger, 'spend')
}

async function rotate(data: string): Promise<void> {
  const args = [shippedProgram('countersign'), 'keys', 'rotate', '--data', data]
  const child = spawn(process.execPath, args, { stdio: 'ignore' })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`keys rotate ended with ${code}`)
}

/** Founded, worked on, closed; opened again, worked on over a rotation of the keys, and left as it stands. */
async function wholeLedger(data: string): Promise<void> {
  const settings = readSettings({ data, 'checkpoint-seconds': '0' }, {})
  {
    await using opened = await openLedger(settings, silentLog)
    await work(opened.ledger, 'first')
    await sleep(IDLE_MS)
    await work(opened.ledger, 'second')
  }
  const { ledger, keys } = await openLedger(settings, silentLog)
  const rotating = rotate(data)
  for (let turn = 0; keys.current().ring.keys.length < 2; turn += 1) await work(ledger, `during-${turn}`)
  await work(ledger, 'after')
  await rotating
  await sleep(IDLE_MS)
  await work(ledger, 'last')
}

const [what = '', data = ''] = process.argv.slice(2)
await (what === 'store' ? bareStore(data) : wholeLedger(data))
// As a process ends that is killed: nothing is closed, nothing tidied up.
process.kill(process.pid, 'SIGKILL')
