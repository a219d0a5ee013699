/**
 * @module Child of `sqlite-disk-faults.test.ts`: runs on the faulty disk and prints what it saw. Arguments: folder, and the sweep as JSON.
 * It appends in rounds while the n-th operation fails, waits until the store is ready again, and tells for each append what it was
 * answered, what the store held when it was ready, and what the file holds in the end.
 */
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
  /** An append succeeded after all that. */
  readonly cameBack: boolean
}

export interface Sweep extends Omit<Fault, 'nth'> {
  readonly from: number
  readonly to: number
}

const ROUNDS = 6
const APPENDS_A_ROUND = 4

async function run(path: string, fault: Fault): Promise<FaultRun> {
  const store = await openSqliteStore({ path })
  const answers: { kind: string; ids: readonly string[] }[] = []
  let onFailure: readonly string[] | undefined
  let wentDown = false
  const unwatch = store.onStatus(({ state }) => {
    wentDown ||= state !== 'ready' && state !== 'full'
  })

  armDisk(fault)
  for (let round = 0; round < ROUNDS; round += 1) {
    const asked = Array.from({ length: APPENDS_A_ROUND }, (_, each) =>
      appendOf(`run-acme.${round}-${each}`, NO_STREAM, 2),
    )
    const results = await Promise.all(asked.map((append) => store.append(append)))
    for (const [index, { kind }] of results.entries()) {
      answers.push({ kind, ids: asked[index]?.records.map(({ id }) => id) ?? [] })
    }
    if (results.some(({ kind }) => kind !== 'appended')) onFailure ??= await idsOf(store)
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
  return { nth: fault.nth, seen, answers, onFailure, atEnd, reopened, wentDown, cameBack }
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
  // A full disk is tried again by the next append.
  const isOpen = ({ state }: StoreStatus): boolean => state === 'ready' || state === 'full'
  if (isOpen(store.status())) return
  await new Promise<void>((resolve) => {
    const stop = store.onStatus((status) => {
      if (!isOpen(status)) return
      stop()
      resolve()
    })
  })
}

const [folder = '', sweepText = '{}'] = process.argv.slice(2)
const { from, to, ...fault } = JSON.parse(sweepText) as Sweep
const runs: FaultRun[] = []
for (let nth = from; nth <= to; nth += 1) runs.push(await run(`${folder}/${fault.op}-${nth}.sqlite`, { ...fault, nth }))
process.stdout.write(`${JSON.stringify(runs.map(({ onFailure = null, ...rest }) => ({ ...rest, onFailure })))}\n`)
