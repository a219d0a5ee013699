/**
 * @module Child of `sqlite-disk-faults.long.test.ts`: runs on the faulty disk and prints what it saw. Arguments: folder, and the sweeps as
 * JSON. For each it appends in rounds while the n-th operation fails, waits until the store is ready again, and reports for each append its
 * result, what the store held when it was ready, and what the file holds in the end.
 */
import { closeSync, fstatSync, openSync, truncateSync, writeSync } from 'node:fs'
import { type EventStore, NO_STREAM, type StoreStatus } from '../../src/store/event-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { armDisk, type Fault, seenOperations } from '../support/disk-fault.ts'
import { appendOf, idsOf } from '../support/records.ts'

export interface FaultRun {
  readonly nth: number
  /** Operations of the kind that the run made after it was armed. */
  readonly seen: number
  /** Result kind and record ids of each append, in the order asked. */
  readonly answers: readonly { readonly kind: string; readonly ids: readonly string[] }[]
  /** Ids read right after the first answer that was not `appended`. */
  readonly onFailure: readonly string[] | undefined
  /** Ids at the end, and once more after the store was closed and opened again. */
  readonly atEnd: readonly string[]
  readonly reopened: readonly string[]
  readonly wentDown: boolean
  readonly states: readonly string[]
  /** An append succeeded after all that. */
  readonly cameBack: boolean
}

export interface Sweep extends Omit<Fault, 'nth'> {
  /** The store is first stopped by a sync that fails; the fault strikes when it opens its file again. */
  readonly atReopening?: true
  readonly from: number
  readonly to: number
}

const ROUNDS = 6
const APPENDS_A_ROUND = 4

const STOP: Fault = { op: 'sync', error: 'EIO', nth: 1 }

async function run(path: string, fault: Fault, atReopening: boolean): Promise<FaultRun> {
  const store = await openSqliteStore({ path })
  const answers: { kind: string; ids: readonly string[] }[] = []
  let onFailure: readonly string[] | undefined
  let wentDown = false
  const states: string[] = []
  const unwatch = store.onStatus(({ state }) => {
    states.push(state)
    if (atReopening && !wentDown) armDisk(fault)
    wentDown ||= state !== 'ready' && state !== 'full'
  })

  armDisk(atReopening ? STOP : fault)
  for (let round = 0; round < ROUNDS; round += 1) {
    const asked = Array.from({ length: APPENDS_A_ROUND }, (_, each) =>
      appendOf(`run-acme.${round}-${each}`, NO_STREAM, 2),
    )
    const results = await Promise.all(asked.map((append) => store.append(append)))
    for (const [index, { kind }] of results.entries()) {
      answers.push({ kind, ids: asked[index]?.records.map(({ id }) => id) ?? [] })
    }
    if (results.some(({ kind }) => kind !== 'appended')) onFailure ??= await idsOf(store).catch(noneOfThem)
    await ready(store)
  }
  const cameBack = await appendsAgain(store)
  unwatch()
  const atEnd = await idsOf(store)
  await store[Symbol.asyncDispose]()
  const seen = seenOperations()
  armDisk({ ...fault, nth: 0 })
  const again = await openSqliteStore({ path })
  const reopened = await idsOf(again)
  await again[Symbol.asyncDispose]()
  return { nth: fault.nth, seen, answers, onFailure, atEnd, reopened, wentDown, states, cameBack }
}

/** The disk may fail the read as well: that answers nothing. */
const noneOfThem = (): undefined => undefined

export interface DamagedRun {
  readonly states: readonly { readonly state: string; readonly detail?: string }[]
  readonly answer: string
}

/** The file is damaged while the store is stopped. Ends when the store has given up. */
async function runDamaged(path: string): Promise<DamagedRun> {
  const store = await openSqliteStore({ path })
  for (let stream = 0; stream < 20; stream += 1) await store.append(appendOf(`run-acme.${stream}`, NO_STREAM, 2))
  const states: StoreStatus[] = []
  const hasFailed = new Promise<void>((resolve) => {
    const stop = store.onStatus((status) => {
      if (states.length === 0) damage(path)
      states.push(status)
      if (status.state !== 'failed') return
      stop()
      resolve()
    })
  })
  armDisk(STOP)
  await store.append(appendOf('run-acme.last', NO_STREAM))
  // What waits for a store that has failed holds no process.
  const held = setInterval(noneOfThem, 1_000)
  await hasFailed
  const { kind } = await store.append(appendOf('run-acme.after', NO_STREAM))
  await store[Symbol.asyncDispose]()
  clearInterval(held)
  return { states, answer: kind }
}

/** All but the first page, which says what the file is; and the log. */
function damage(path: string): void {
  const PAGE_BYTES = 4096
  const file = openSync(path, 'r+')
  for (let at = PAGE_BYTES; at < fstatSync(file).size; at += PAGE_BYTES)
    writeSync(file, Buffer.alloc(PAGE_BYTES, 7), 0, PAGE_BYTES, at)
  closeSync(file)
  truncateSync(`${path}-wal`, 0)
}

/** The armed operation may come only now, hence the second try. */
async function appendsAgain(store: EventStore): Promise<boolean> {
  const first = await store.append(appendOf('run-acme.after', NO_STREAM))
  await ready(store)
  if (first.kind === 'appended') return true
  const second = await store.append(appendOf('run-acme.after-that', NO_STREAM))
  return second.kind === 'appended'
}

async function ready(store: EventStore): Promise<void> {
  // A full disk is tried again by the next append; a store that has failed never comes back.
  const isOpen = ({ state }: StoreStatus): boolean => state !== 'unavailable'
  if (isOpen(store.status())) return
  await new Promise<void>((resolve) => {
    const stop = store.onStatus((status) => {
      if (!isOpen(status)) return
      stop()
      resolve()
    })
  })
}

async function runSweep(place: string, { from, to, atReopening, ...fault }: Sweep): Promise<unknown> {
  const runs: FaultRun[] = []
  for (let nth = from; nth <= to; nth += 1)
    runs.push(await run(`${place}-${nth}.sqlite`, { ...fault, nth }, atReopening === true))
  return runs.map(({ onFailure = null, ...rest }) => ({ ...rest, onFailure }))
}

const [folder = '', sweepsText = '[]'] = process.argv.slice(2)
const results: unknown[] = []
for (const [index, sweep] of (JSON.parse(sweepsText) as (Sweep | 'damaged')[]).entries()) {
  const place = `${folder}/${index}`
  results.push(await (sweep === 'damaged' ? runDamaged(`${place}.sqlite`) : runSweep(place, sweep)))
}
// A store that has given up holds the process.
process.stdout.write(`${JSON.stringify(results)}\n`, () => process.exit(0))
