/**
 * @module Child of `file-faults.long.test.ts`, on a disk that fails on command: for each fault it opens a copy of a ledger, works on it and
 * closes it, and tells what a person would have read, what was acknowledged, and how it was afterwards. Arguments: a folder, faults as JSON.
 */
import { cpSync, rmSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { describeFailure } from '../../src/cli/failure.ts'
import { type OpenLedger, openLedger } from '../../src/compose/compose.ts'
import type { Log } from '../../src/ledger/ports.ts'
import { readSettings } from '../../src/settings/config.ts'
import { openSqliteReader } from '../../src/store/sqlite/sqlite-reader.ts'
import { askAll } from '../support/audited.ts'
import { armDisk, type Fault, hasStruck } from '../support/disk-fault.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { collect } from '../support/records.ts'
import { drive } from '../support/run-driver.ts'
import { alice } from '../support/test-ledger.ts'
import { threadMode } from '../support/thread-mode.ts'
import { within } from '../support/within.ts'

/** From the first moment, where one is to have the files. */
const THREAD = threadMode === 'on' ? { indexingThread: { startMs: 0 } } : {}

export interface FileFault extends Fault {
  readonly name: string
  /** Armed before the ledger is opened, or once it serves. */
  readonly when: 'start' | 'serving'
}

export interface FileFaultRun {
  readonly fault: FileFault
  /** The fault struck. */
  readonly struck: boolean
  /** What kept the ledger from starting, as the command line says it. */
  readonly startFailure?: string
  /** Why something was refused while it served. */
  readonly refusals: readonly string[]
  /** Why something was refused when the disk was well again, by the same process. */
  readonly unhealed: readonly string[]
  readonly logged: readonly string[]
  /** Acknowledged, and not in the store in the end. */
  readonly lost: readonly string[]
  /** What `verify` ended with, and whether the ledger answered all once the disk was well. */
  readonly verified: string
  readonly afterwards: string
}

/** Reads of a store that opens its file anew are patient for some seconds each. */
const HEALING_TRIES = 20
const HEALING_MS = 250
const WELL = { op: 'read', error: 'EIO', nth: 0 } as const

async function work(opened: OpenLedger, name: string, acknowledged: string[]): Promise<readonly string[]> {
  const { ledger } = opened
  const refusals: string[] = []
  const tried = async (what: string, step: () => Promise<unknown>): Promise<void> => {
    try {
      const done = await step()
      const refusal = (done as { readonly refusal?: { readonly code: string; readonly detail: string } })?.refusal
      if (refusal !== undefined) refusals.push(`${what}: ${refusal.code}: ${refusal.detail}`)
    } catch (error) {
      const { name: kind, message } = error as Error
      refusals.push(`${what}: ${kind}: ${message}`)
    }
  }
  const at = drive(opened, `run-${name}`)
  await tried('start', () => at.start())
  for (const step of ['one', 'two']) {
    const mark = `${name}-${step}`
    await tried('handoff', async () => {
      const outcome = await at.hand('a', { note: mark })
      if (outcome.ok) acknowledged.push(mark)
      return outcome
    })
  }
  await tried('list', () => ledger.listRuns(alice, { limit: 50 }))
  await tried('read', () => ledger.run(alice, 'run-seed'))
  await tried('events', () => at.events())
  await tried('audit', () => askAll(ledger, 'events', { filter: { types: ['EnvelopeAccepted'] } }))
  await tried('log', async () => void (await ledger.logs?.publish()))
  return refusals
}

async function run(folder: string, fault: FileFault): Promise<FileFaultRun> {
  const data = `${folder}/data`
  rmSync(data, { recursive: true, force: true })
  cpSync(`${folder}/seed`, data, { recursive: true })
  const logged: string[] = []
  const says = (fields: object, message: string): void => void logged.push(`${message} ${JSON.stringify(fields)}`)
  const log: Log = { info: () => undefined, warn: says, error: says }
  const settings = { ...readSettings({ data, 'checkpoint-seconds': '0' }, {}), ...THREAD }
  const acknowledged: string[] = []
  const refusals: string[] = []
  const unhealed: string[] = []
  let startFailure: string | undefined
  if (fault.when === 'start') armDisk(fault)
  try {
    const opened = await within(openLedger(settings, log), 'the start')
    if (fault.when === 'serving') {
      await within(opened.indexing?.taken() ?? Promise.resolve(), 'the files with the thread of indexing')
      armDisk(fault)
    }
    refusals.push(...(await within(work(opened, 'faulty', acknowledged), 'the work')))
    armDisk(WELL)
    unhealed.push(...(await within(healed(opened, acknowledged), 'the work on a well disk')))
    await within(Promise.resolve(opened[Symbol.asyncDispose]()), 'the end')
  } catch (error) {
    startFailure = describeFailure(error).message
  }
  const struck = hasStruck()
  armDisk(WELL)
  return {
    fault,
    struck,
    ...(startFailure !== undefined && { startFailure }),
    refusals,
    unhealed,
    logged,
    ...(await afterwards(data, acknowledged)),
  }
}

/** A refusal that says "later" may be given at first: the store opens anew, a file is rebuilt. */
async function healed(opened: OpenLedger, acknowledged: string[]): Promise<readonly string[]> {
  let refusals: readonly string[] = []
  for (let tries = 0; tries < HEALING_TRIES; tries += 1) {
    refusals = await work(opened, `healed-${tries}`, acknowledged)
    if (refusals.length === 0) break
    await sleep(HEALING_MS)
  }
  return refusals
}

async function afterwards(
  data: string,
  acknowledged: readonly string[],
): Promise<Pick<FileFaultRun, 'lost' | 'verified' | 'afterwards'>> {
  const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  const settings = readSettings({ data, 'checkpoint-seconds': '0' }, {})
  let answered = 'well'
  try {
    await using opened = await within(openLedger(settings, silent), 'the start afterwards')
    const refusals = await within(work(opened, 'well', []), 'the work afterwards')
    if (refusals.length > 0) answered = refusals.join('; ')
  } catch (error) {
    answered = String(error)
  }
  const { code, stdout } = await runInProcess(['verify', '--data', data])
  using reader = openSqliteReader({ path: `${data}/store.db` })
  const found = new Set((await collect(reader.readAll())).map((record) => record.data))
  const lost = acknowledged.filter((mark) => ![...found].some((text) => text.includes(`"${mark}"`)))
  return { lost, verified: `${code} ${code === 0 ? '' : stdout}`.trim(), afterwards: answered }
}

/** A ledger with a history, well. */
async function seed(data: string): Promise<void> {
  const silent: Log = { info: () => undefined, warn: () => undefined, error: () => undefined }
  await using opened = await openLedger(readSettings({ data, 'checkpoint-seconds': '0' }, {}), silent)
  await work(opened, 'seed', [])
}

const [folder = '', faults = '[]'] = process.argv.slice(2)
await seed(`${folder}/seed`)
for (const fault of JSON.parse(faults) as FileFault[])
  process.stdout.write(`${JSON.stringify(await run(folder, fault))}\n`)
