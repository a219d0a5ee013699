/** @module Data folders whose processes share, on one PostgreSQL, the files that follow the store. */
import pg from 'pg'
import * as assert from 'uvu/assert'
import { openLedger } from '../../src/compose/compose.ts'
import { SharedFiles } from '../../src/compose/compose-sharing.ts'
import { silentLog } from '../../src/ledger/effects.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { readSettings } from '../../src/settings/config.ts'
import { fixedKeys, requireKeys } from '../../src/settings/key-source.ts'
import { readConnectionUrl } from '../../src/store/postgres/connection-url.ts'
import { openPostgresCopies } from '../../src/store/postgres/postgres-copies.ts'
import { askAll } from './audited.ts'
import { countersign } from './command-line.ts'
import { newPostgresUrl } from './postgres-store.ts'
import { drive } from './run-driver.ts'
import { type TempFolder, tempFolder } from './temp-folder.ts'
import { alice } from './test-ledger.ts'

export const FILES = ['log.db', 'views.db', 'audit.db']
/** So few that a test need not write a thousand. */
const LEAST_EVENTS = 5

export interface SharedPlace extends AsyncDisposable {
  readonly url: string
  readonly folder: TempFolder
  readonly superuser: pg.Client
  readonly warned: string[]
  /** The files of a data folder, as the process that owns it shares them. */
  readonly files: (data: string) => SharedFiles
  readonly write: (data: string, runs: readonly string[]) => Promise<void>
}

export async function sharedPlace(): Promise<SharedPlace> {
  const url = await newPostgresUrl()
  const folder = tempFolder()
  const made = await countersign(['keys', 'create', '--keys', folder.file('keys.json')])
  assert.is(made.code, 0, made.stderr)
  const superuser = new pg.Client(readConnectionUrl(url).config)
  await superuser.connect()
  const warned: string[] = []
  const log = { ...silentLog, warn: (_: object, message: string) => void warned.push(message) }
  const keys = fixedKeys(requireKeys({ kind: 'file', path: folder.file('keys.json') }))
  return {
    ...{ url, folder, superuser, warned },
    files: (data) => {
      const copies = openPostgresCopies(url)
      return new SharedFiles({ copies, keys, log, data: folder.file(data), leastEvents: LEAST_EVENTS })
    },
    write: async (data, runs) => {
      const flags = { data: folder.file(data), store: url, keys: folder.file('keys.json'), 'checkpoint-seconds': '0' }
      await using opened = await openLedger(readSettings(flags, {}), silentLog)
      for (const run of runs) await handOver(opened.ledger, run)
      await opened.ledger.logs?.publish()
      await answers(opened.ledger)
    },
    [Symbol.asyncDispose]: async () => {
      await superuser.end()
      folder[Symbol.dispose]()
    },
  }
}

export async function handOver(ledger: Ledger, run: string): Promise<void> {
  const at = drive({ ledger }, run)
  await at.start()
  await at.hand('a', { facts: { revenue: 500 } }, { tokens: 40 })
  await at.hand('b', { facts: { revenue: 600 } }, { tokens: 2 })
}

/** What the files are asked for; reads that are recorded add events, which are left out. */
export async function answers(ledger: Ledger): Promise<unknown> {
  const filter = { types: ['RunStarted', 'EnvelopeAccepted'] as const }
  return {
    runs: (await ledger.listRuns(alice, { limit: 100 })).items,
    spend: await askAll(ledger, 'spend'),
    events: await askAll(ledger, 'events', { filter: filter as never }),
  }
}

export const runNames = (from: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `run-${from + index}`)
