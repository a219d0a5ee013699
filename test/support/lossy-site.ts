/** @module A ledger in a folder whose store is then damaged: what a test takes away, alters and puts back. */
import { rmSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import type { Loss } from '../../schemas/loss.ts'
import type { LedgerKeys } from '../../src/signing/ledger-keys.ts'
import { type StoreRow, tamper } from './tamper.ts'
import { type TempFolder, tempFolder } from './temp-folder.ts'
import { type TestLogs, testLogs } from './test-logs.ts'

export interface Site extends Disposable {
  readonly folder: TempFolder
  readonly keys: LedgerKeys
  readonly path: string
}

/** Runs `one` and `two` of acme, `far` of beta; a checkpoint covers the first events of `one`, and `log.db` knows all. */
export async function site(): Promise<Site> {
  const folder = tempFolder()
  await using at = await testLogs({ folder: folder.path })
  await at.fill('acme', 'one', 2)
  await at.logs.publish()
  await at.fill('acme', 'two', 1)
  await at.fill('beta', 'far', 1)
  await at.ledger.execute(alice, 'two', { kind: 'envelope', body: { agent: 'a', payload: { n: 9 } } } as never, {})
  await at.logs.treeAt('acme', (await at.store.end()) ?? '')
  return { folder, keys: at.keys, path: folder.file('store.db'), [Symbol.dispose]: () => folder[Symbol.dispose]() }
}

export const alice = { tenant: 'acme', actor: 'alice' } as const
export const opened = ({ folder, keys }: Site): Promise<TestLogs> => testLogs({ folder: folder.path, keys })
export const last = (rows: readonly StoreRow[], stream: string): StoreRow => {
  const row = rows.filter((each) => each.stream === stream).at(-1)
  if (row === undefined) throw new Error(`no row of ${stream}`)
  return row
}
export const removed = (path: string, positions: readonly number[]): void =>
  tamper(path, (db) => {
    for (const position of positions) db.prepare('DELETE FROM events WHERE position = ?').run(position)
  })
export const putBack = (path: string, rows: readonly StoreRow[]): void =>
  tamper(path, (db) => {
    for (const { stream: _, ...row } of rows)
      db.prepare(
        'INSERT INTO events (position, stream_id, revision, header, salt, data, request) VALUES (@position, @stream_id, @revision, @header, @salt, @data, @request)',
      ).run(row)
  })
/** Under a ledger that has the file open. */
export const beside = (path: string, change: (db: Sqlite.Database) => void): void => {
  const db = new Sqlite(path)
  const triggers = db
    .prepare<[], { name: string; sql: string }>(`SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'`)
    .all()
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`)
  change(db)
  for (const { sql } of triggers) db.exec(sql)
  db.close()
}
export const withoutLog = ({ folder }: Pick<Site, 'folder'>): void => {
  for (const suffix of ['', '-wal', '-shm']) rmSync(folder.file(`log.db${suffix}`), { force: true })
}
export const startedCode = async ({ ledger }: TestLogs, tenant: string): Promise<string> => {
  const body = { id: 'new', name: 'new' }
  const outcome = await ledger.execute({ tenant, actor: 'alice' }, 'new', { kind: 'start', body } as never, {})
  return outcome.ok ? 'started' : outcome.refusal.code
}
export const codes = (losses: readonly Loss[]): readonly string[] => losses.map(({ scope, code }) => `${scope} ${code}`)
