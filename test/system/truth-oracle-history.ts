/** @module The seeded history of the truth oracle: tenants, runs and checkpoints at drawn places, and copies of the folder on the way. */
import { cpSync, mkdirSync } from 'node:fs'
import { type OpenLedger, openLedger } from '../../src/compose/compose.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Caller } from '../../src/ledger/ledger.ts'
import { readSettings, type Settings } from '../../src/settings/config.ts'
import { pick, seededRandom } from '../support/random.ts'
import { drive, type RunDriver } from '../support/run-driver.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { askEvery } from './truth-oracle-edge.ts'
import { Model, rowsIn } from './truth-oracle-model.ts'

export const TENANTS = ['acme', 'beta'] as const
/** In every handoff, so that a search for it finds all of them. */
export const WORD = 'harvest'

export interface History extends Disposable {
  readonly model: Model
  /** The data folder as the history ended, as a killed process leaves it: its last events are behind the last checkpoint. */
  readonly late: string
  /** The same folder earlier, with what it knew then. */
  readonly early: string
  readonly earlyModel: Model
  /** How many leaves the last checkpoint of each tenant covers. */
  readonly covered: ReadonlyMap<string, number>
  /** A folder for one case. */
  readonly copyOf: (folder: string) => TempFolder
}

export function caseSettings(data: string): Settings {
  return readSettings({ data, 'checkpoint-seconds': '0', 'read-threads': '0', 'scrub-days': '0' }, {})
}

export async function makeHistory(seed: number): Promise<History> {
  const random = seededRandom(seed)
  const folder = tempFolder()
  const data = folder.file('data')
  mkdirSync(data)
  await using opened = await openLedger(caseSettings(data), silentLog)
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
  await doSome(4 + Math.floor(random() * 8))
  await settled(opened)
  const covered = new Map<string, number>()
  const rowsNow = new Model(rowsIn(copyToRead(folder, data, 'covered')))
  for (const tenant of TENANTS) covered.set(tenant, rowsNow.leaves(tenant).length - 1)
  // Behind the last checkpoint: a run begins there, all go on but `c`, whose end a checkpoint covers.
  const fresh = TENANTS.map((tenant) => drive(opened, `${tenant}-d`, callerOf(tenant)))
  for (const run of fresh) await run.start({ budget: { tokens: 100_000 } })
  const going = [...drivers.filter(({ runId }) => !runId.endsWith('-c')), ...fresh]
  for (const run of [...going, ...going]) await step(run, random, 99)
  const late = folder.file('late')
  cpSync(data, late, { recursive: true })
  const modelOf = (of: string, name: string): Model => new Model(rowsIn(copyToRead(folder, of, name)))
  return {
    model: modelOf(late, 'late-read'),
    late,
    early,
    earlyModel: modelOf(early, 'early-read'),
    covered,
    copyOf: (of) => {
      const made = tempFolder()
      cpSync(of, made.file('data'), { recursive: true })
      return made
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

export const callerOf = (tenant: string): Caller => ({ tenant, actor: `${tenant}-agent` })

/** A checkpoint of each log, with the files that follow the store made by questions. */
async function settled(opened: OpenLedger): Promise<void> {
  await askEvery(opened)
  await opened.ledger.logs?.publish()
}

function copyToRead(folder: TempFolder, data: string, name: string): string {
  const target = folder.file(name)
  cpSync(data, target, { recursive: true })
  return `${target}/store.db`
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
