/** @module The truth oracle over archives (LIFE-50): a history some of whose bodies lie in files beside the store, and the damages of these files. */
import {
  closeSync,
  cpSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { type OpenLedger, openLedger } from '../../src/compose/compose.ts'
import { runRetention } from '../../src/export/archive/retention-pass.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import { pick } from '../support/random.ts'
import { drive } from '../support/run-driver.ts'
import type { TempFolder } from '../support/temp-folder.ts'
import type { Damage, Strike } from './truth-oracle-damage.ts'
import { callerOf, caseSettings, type History, settled, TENANTS, WORD } from './truth-oracle-history.ts'
import { followedIn, Model, type Row, rowsIn } from './truth-oracle-model.ts'

/** The runs of each tenant that have ended, each in an archive of its own. */
const ARCHIVED = ['e', 'f'] as const
const CLASSES = [{ class: 'all', keep: { atMost: 0 }, action: 'archive' }] as const
/** In each data folder. */
const FOLDER = 'store.db.archives'
/** Of a pass that was made in another copy of the folder, with other contents of its files. */
const OLDER = 'older.archives'

const made = new WeakMap<History, Promise<History>>()

/** The same history, made once, which goes on until some of its runs are archived. */
export function archivedHistory(history: History): Promise<History> {
  const known = made.get(history) ?? goesOn(history)
  made.set(history, known)
  return known
}

/** Two runs end in each tenant, a checkpoint covers them, and they are archived; what was acknowledged is what the store held before. */
async function goesOn(history: History): Promise<History> {
  const folder = { file: (name: string) => history.folder.file(`archived-${name}`) }
  const data = folder.file('data')
  cpSync(history.late, data, { recursive: true })
  const late = folder.file('late')
  const before = await endedRuns(data, folder)
  const other = folder.file('other')
  cpSync(data, other, { recursive: true })
  // Both runs in one file.
  await archive(other, 20_000, () => undefined)
  await archive(data, 1, () => cpSync(data, late, { recursive: true }))
  cpSync(`${other}/${FOLDER}`, `${late}/${OLDER}`, { recursive: true })
  const known = new Set(before.map(({ position }) => position))
  const model = new Model([...before, ...rowsIn(`${late}/store.db`).filter(({ position }) => !known.has(position))])
  const toRead = folder.file('log-read')
  cpSync(late, toRead, { recursive: true })
  const covered = new Map(TENANTS.map((tenant) => [tenant, new Model(before).leaves(tenant).length - 1]))
  return { ...history, model, late, covered, followed: followedIn(toRead) }
}

/** Every row of the store before anything was archived. */
async function endedRuns(data: string, folder: Pick<TempFolder, 'file'>): Promise<readonly Row[]> {
  await using opened = await openLedger(caseSettings(data), silentLog)
  for (const tenant of TENANTS)
    for (const name of ARCHIVED) {
      const run = drive(opened, `${tenant}-${name}`, callerOf(tenant))
      await run.start({ budget: { tokens: 100_000 } })
      for (const note of ['first', 'second'])
        await run.hand('writer', { note: `${WORD} ${note} of ${name}` }, { tokens: 7 })
      await run.called(`pay-${name}`)
      await run.do({ kind: 'complete', body: {} })
    }
  await settled(opened)
  const copy = folder.file('before-read')
  cpSync(data, copy, { recursive: true })
  return rowsIn(`${copy}/store.db`)
}

async function archive(data: string, eventsMax: number, then: () => void): Promise<void> {
  await using opened = await openLedger(caseSettings(data), silentLog)
  for (const tenant of TENANTS) await archiveOf(opened, { data, tenant, eventsMax })
  await settled(opened)
  then()
}

async function archiveOf(
  { ledger, store }: OpenLedger,
  { data, tenant, eventsMax }: { readonly data: string; readonly tenant: string; readonly eventsMax: number },
): Promise<void> {
  const caller = { tenant, actor: 'local' }
  const nowMs = (): number => Date.now() + 1_000
  const passed = await runRetention({
    ...{ ledger, store, caller, classes: CLASSES, folder: `${data}/${FOLDER}`, nowMs, eventsMax },
  })
  if (!passed.ok || passed.value.archives.length === 0)
    throw new Error(`nothing was archived: ${JSON.stringify(passed)}`)
}

/** The file with the first event of the run that is struck. */
function fileOf({ data, run }: Strike): string {
  const folder = `${data}/${FOLDER}`
  const name = readdirSync(folder).find((each) => readFileSync(`${folder}/${each}`, 'utf8').includes(`.${run}"`))
  if (name === undefined) throw new Error(`no archive has ${run}`)
  return `${folder}/${name}`
}

/** Another file of the folder: of the same tenant, or of the other one. */
function otherOf(strike: Strike, isSameTenant: boolean): string {
  const own = fileOf(strike)
  const folder = `${strike.data}/${FOLDER}`
  const others = readdirSync(folder).map((name) => `${folder}/${name}`)
  const fits = (path: string): boolean => path.startsWith(`${folder}/${strike.tenant}-`) === isSameTenant
  return pick(
    strike.random,
    others.filter((path) => path !== own && fits(path)),
  )
}

function cut(strike: Strike): void {
  const path = fileOf(strike)
  truncateSync(path, Math.floor(statSync(path).size * (0.2 + 0.6 * strike.random())))
}

/** A letter of a body becomes another one, at the same length. */
function altered(strike: Strike): void {
  const path = fileOf(strike)
  const places = [...readFileSync(path, 'latin1').matchAll(/harvest|"tokens":7|writer/g)].map(({ index }) => index)
  const at = pick(strike.random, places) + 1
  const file = openSync(path, 'r+')
  const letter = Buffer.alloc(1)
  readSync(file, letter, 0, 1, at)
  writeSync(file, letter[0] === 0x7a ? 'y' : 'z', at)
  closeSync(file)
}

const swapped =
  (isSameTenant: boolean) =>
  (strike: Strike): void => {
    const [own, other] = [fileOf(strike), otherOf(strike, isSameTenant)]
    const kept = readFileSync(own)
    cpSync(other, own)
    writeFileSync(other, kept)
  }

const away = (strike: Strike): void => renameSync(fileOf(strike), `${strike.data}/away.jsonl`)

function broughtBack({ data, tenant }: Strike): void {
  const folder = `${data}/${FOLDER}`
  const there = new Set(readdirSync(folder))
  const name = [1, 2].map((n) => `${tenant}-${String(n).padStart(6, '0')}.jsonl`).find((each) => !there.has(each))
  renameSync(`${data}/away.jsonl`, `${folder}/${name}`)
}

function putOlder(strike: Strike): void {
  const [older = ''] = readdirSync(`${strike.data}/${OLDER}`).filter((name) => name.startsWith(`${strike.tenant}-`))
  cpSync(`${strike.data}/${OLDER}/${older}`, fileOf(strike))
}

/** A server keeps a file open for a second, and reads what was sealed from it meanwhile. */
const NOTICED_MS = 1_200

async function awayBeside(strike: Strike): Promise<void> {
  away(strike)
  await sleep(NOTICED_MS)
}

const allAway = ({ data }: Strike): void => rmSync(`${data}/${FOLDER}`, { recursive: true })

/** Of which every run is one that was archived. */
const archived = { archived: true } as const
const isAway = { ...archived, isAway: true } as const

export const ARCHIVE_DAMAGES: Readonly<Record<string, Damage>> = {
  'archive: none': { ...archived, sound: true },
  'archive: cut': { ...archived, before: cut },
  'archive: a byte altered': { ...archived, before: altered },
  'archive: swapped with another of the tenant': { ...archived, before: swapped(true) },
  'archive: swapped with one of another tenant': { ...archived, before: swapped(false) },
  'archive: deleted': { ...isAway, before: away },
  'archive: all deleted': { ...isAway, before: allAway },
  'archive: put back older': { ...archived, before: putOlder },
  'archive: deleted, put back': { ...archived, before: away, putBack: broughtBack, sound: true },
  'live: archive deleted': { ...isAway, beside: awayBeside },
  'live: archive: a byte altered': { ...archived, beside: altered },
  'live: archive cut': { ...archived, beside: cut },
}

/** The run that is struck. */
export const archivedRun = (random: () => number): string => pick(random, ARCHIVED)
