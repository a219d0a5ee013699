/** @module The seeded history of the truth oracle: tenants, runs and checkpoints at drawn places, and copies of the folder on the way. */
import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync } from 'node:fs'
import { type OpenLedger, openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Caller } from '../../src/ledger/ledger.ts'
import { readSettings, type Settings } from '../../src/settings/config.ts'
import { createLedgerKeys, writeNewKeyFile } from '../../src/signing/key-file.ts'
import { type LossyStore, lossyStore } from '../support/lossy-store.ts'
import { pick, seededRandom } from '../support/random.ts'
import { drive, type RunDriver } from '../support/run-driver.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { askEvery, edgeOver } from './truth-oracle-edge.ts'
import { followedIn, Model, type Row, rowsIn, rowsOn } from './truth-oracle-model.ts'

export const TENANTS = ['acme', 'beta'] as const
/** In every handoff, so that a search for it finds all of them. */
export const WORD = 'harvest'

/** Where the stores of the cases are: in their folders, or on a server. */
export type OracleKind = 'sqlite' | 'postgres' | 'eventstoredb'

export interface History extends AsyncDisposable {
  readonly kind: OracleKind
  /** On a server: the store as the history ended; each case has a copy. */
  readonly server: LossyStore | undefined
  readonly model: Model
  /** The data folder as the history ended, as a killed process leaves it: its last events are behind the last checkpoint. */
  readonly late: string
  /** The same folder earlier, with what it knew then. */
  readonly early: string
  readonly earlyModel: Model
  /** How many leaves the last checkpoint of each tenant covers. */
  readonly covered: ReadonlyMap<string, number>
  /** How many leaves of each tenant log.db had when the history ended: the log follows the store after it was written. */
  readonly followed: ReadonlyMap<string, number>
  /** A folder for one case. */
  readonly copyOf: (folder: string) => TempFolder
  /** Of the history, for what is made from it. */
  readonly folder: TempFolder
}

/** `store`: the URL of a server; absent, it is in the folder. */
export function caseSettings(data: string, store?: string): Settings {
  const place = { data, ...(store !== undefined && { store }) }
  return readSettings({ ...place, 'checkpoint-seconds': '0', 'read-threads': '0', 'scrub-days': '0' }, {})
}

export async function makeHistory(seed: number, kind: OracleKind = 'sqlite'): Promise<History> {
  const random = seededRandom(seed)
  const folder = tempFolder()
  const data = folder.file('data')
  mkdirSync(data)
  const living = kind === 'sqlite' ? undefined : await lossyStore(kind, folder)
  if (living !== undefined)
    writeNewKeyFile(`${data}/keys.json`, createLedgerKeys(new Date().toISOString(), randomBytes))
  const made = await lived({ folder, data, random, living })
  await living?.[Symbol.asyncDispose]()
  return {
    ...{ ...made, kind, folder },
    copyOf: (of) => {
      const copied = tempFolder()
      cpSync(of, copied.file('data'), { recursive: true })
      return copied
    },
    [Symbol.asyncDispose]: async () => {
      await made.server?.[Symbol.asyncDispose]()
      folder[Symbol.dispose]()
    },
  }
}

interface Living {
  readonly folder: TempFolder
  readonly data: string
  readonly random: () => number
  /** The store on a server that the history is written to. */
  readonly living: LossyStore | undefined
}

type Lived = Pick<History, 'model' | 'earlyModel' | 'late' | 'early' | 'covered' | 'followed' | 'server'>

async function lived({ folder, data, random, living }: Living): Promise<Lived> {
  const rowsNow = async (of: string, name: string): Promise<readonly Row[]> =>
    living === undefined ? rowsIn(`${copyToRead(folder, of, name)}/store.db`) : rowsOn(living)
  await using opened = await openLedger(caseSettings(data, living?.url), silentLog)
  const drivers = TENANTS.flatMap((tenant) =>
    ['a', 'b', 'c'].map((name) => drive(opened, `${tenant}-${name}`, callerOf(tenant))),
  )
  for (const run of drivers) await run.start({ budget: { tokens: 100_000 } })
  const doSome = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) await step(pick(random, drivers), random, n)
  }
  // Each run is there before the first checkpoint, so that each class of damage finds one.
  for (const run of drivers) await step(run, random, 0)
  await doSome(4)
  await settled(opened)
  const early = folder.file('early')
  cpSync(data, early, { recursive: true })
  const earlyModel = new Model(await rowsNow(early, 'early-read'))
  await doSome(4 + Math.floor(random() * 8))
  await settled(opened)
  const covered = new Map<string, number>()
  const sofar = new Model(await rowsNow(data, 'covered'))
  for (const tenant of TENANTS) covered.set(tenant, sofar.leaves(tenant).length - 1)
  // Behind the last checkpoint: a run begins there, all go on but `c`, whose end a checkpoint covers.
  const fresh = TENANTS.map((tenant) => drive(opened, `${tenant}-d`, callerOf(tenant)))
  for (const run of fresh) await run.start({ budget: { tokens: 100_000 } })
  const going = [...drivers.filter(({ runId }) => !runId.endsWith('-c')), ...fresh]
  for (const run of [...going, ...going]) await step(run, random, 99)
  const late = folder.file('late')
  cpSync(data, late, { recursive: true })
  // Before the ledger is closed, which may write more.
  const server = await living?.copy()
  const model = new Model(await rowsNow(late, 'late-read'))
  return { model, earlyModel, late, early, covered, followed: followedIn(copyToRead(folder, late, 'log-read')), server }
}

export const callerOf = (tenant: string): Caller => ({ tenant, actor: `${tenant}-agent` })

/** A checkpoint of each log, with the files that follow the store made by questions. */
export async function settled(opened: OpenLedger): Promise<void> {
  await askEvery((tenant) => edgeOver(opened, tenant))
  await opened.ledger.logs?.publish()
}

function copyToRead(folder: TempFolder, data: string, name: string): string {
  const target = folder.file(name)
  cpSync(data, target, { recursive: true })
  return target
}

async function step(run: RunDriver, random: () => number, n: number): Promise<void> {
  const kind = n === 0 || n === 99 ? 'hand' : pick(random, ['hand', 'hand', 'call', 'open', 'refused'] as const)
  if (kind === 'hand') {
    await run.hand(
      'writer',
      { note: `${WORD} ${Math.floor(random() * 1e9)}` },
      { tokens: 1 + Math.floor(random() * 50) },
    )
  } else if (kind === 'call') await run.called(`pay${Math.floor(random() * 1e9)}`)
  else if (kind === 'open') await run.claimed(`search${Math.floor(random() * 1e9)}`)
  // The second of these in a run contradicts the first, and is refused.
  else await run.hand('other', { facts: { quantity: Math.floor(random() * 1e9) } })
}
