/** @module A ledger in a file whose files that follow it another thread writes, and programs in place of that thread's own. */
import { type OpenLedger, openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Log } from '../../src/ledger/ports.ts'
import { readSettings, type Settings } from '../../src/settings/config.ts'
import { drive } from './run-driver.ts'

/** Checkpoints come when a test asks for one. */
export function indexingSettings(data: string, more: Partial<Settings> = {}): Settings {
  const settings = readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0' }, {})
  return { ...settings, indexingThread: { startMs: 0 }, ...more }
}

/** Once the thread has the files, where there is one. */
export async function openWithIndexing(
  data: string,
  more: Partial<Settings> = {},
  log: Log = silentLog,
): Promise<OpenLedger> {
  const opened = await openLedger(indexingSettings(data, more), log)
  await opened.indexing?.taken()
  return opened
}

/** Some runs of a few handoffs and a call each. */
export async function addRuns(opened: OpenLedger, count: number, prefix = 'r'): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const run = drive(opened, `${prefix}${n}`)
    await run.start()
    await run.hand('a', { note: `run ${n}` })
    await run.called('search')
  }
}

/** A thread's own program, which runs this code first: `before`, where it is set there, is called with each message ahead of the program. */
export function programBefore(code: string): URL {
  const own = new URL('../../src/compose/indexing-worker.js', import.meta.url)
  const text = `
    import { existsSync } from 'node:fs'
    import { parentPort as port } from 'node:worker_threads'
    let before = () => undefined
    const on = port.on.bind(port)
    port.on = (name, listener) => on(name, (message) => { before(message); listener(message) })
    ${code}
    await import(${JSON.stringify(own.href)})`
  return new URL(`data:text/javascript,${encodeURIComponent(text)}`)
}
