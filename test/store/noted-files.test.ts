import { createHmac } from 'node:crypto'
import { chmodSync, closeSync, openSync, readFileSync, statSync, utimesSync, writeSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AuditIndex } from '../../src/store/audit-index.ts'
import type { FileGuard } from '../../src/store/derived-file.ts'
import { openSqliteAudit, readSqliteAudit } from '../../src/store/sqlite/sqlite-audit.ts'
import { auditEntry } from '../support/audit-entry.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('what the owner of a file notes beside it')

const KEY = Buffer.alloc(32, 7)

interface Counted {
  readonly guard: FileGuard
  /** Rows that were read to know whose they are. */
  readonly rows: () => number
}

function counted(): Counted {
  let rows = 0
  const mac = (text: string): string => createHmac('sha256', KEY).update(text).digest('hex')
  const guard: FileGuard = {
    rowKey: () => KEY,
    rowMac: (table, row) => {
      rows += 1
      return mac(table + row)
    },
    seal: (text) => mac(`sealed ${text}`),
    holds: (text, seal) => seal === mac(`sealed ${text}`),
  }
  return { guard, rows: () => rows }
}

interface Home extends Disposable {
  readonly path: string
  readonly index: AuditIndex
  readonly rows: () => number
  readonly save: (leaf: number) => void
}

async function home(): Promise<Home> {
  const folder = tempFolder()
  const path = folder.file('audit.db')
  const { guard, rows } = counted()
  const index = openSqliteAudit({ path, guard })
  assert.ok(await index.isAuthentic())
  const save = (leaf: number): void => {
    const entries = [auditEntry(leaf, { run: 'r', revision: leaf, time: '2026-01-31T21:00:00.000Z', actor: 'alice' })]
    const progress = { position: String(leaf), digest: `d${leaf}` }
    assert.ok(index.save({ entries, states: new Map(), foreign: [], progress }, index.progress()?.position))
  }
  for (let leaf = 0; leaf < 5; leaf += 1) save(leaf)
  index.noteFile()
  const close = (): void => {
    index[Symbol.dispose]()
    folder[Symbol.dispose]()
  }
  return { path, index, rows, save, [Symbol.dispose]: close }
}

/** As another process finds the file, beside the one that has it open. */
async function found(path: string): Promise<{ readonly isAuthentic: boolean; readonly rows: number }> {
  const { guard, rows } = counted()
  const file = readSqliteAudit({ path, guard })
  assert.ok(file)
  const isAuthentic = await file.over.isAuthentic()
  file[Symbol.dispose]()
  return { isAuthentic, rows: rows() }
}

/** Over `text` in the log of the file, as if nothing had been written: the time of change is not the forger's to set. */
function forgeLog(path: string, text: string, other: string): void {
  const log = `${path}-wal`
  const at = readFileSync(log).lastIndexOf(text)
  assert.ok(at > 0, `${text} is in the log`)
  const { atime, mtime } = statSync(log)
  const file = openSync(log, 'r+')
  writeSync(file, other, at)
  closeSync(file)
  utimesSync(log, atime, mtime)
}

test('a file that its owner has open, and goes on writing, is known to whoever reads it beside him without reading a row (F287)', async () => {
  using at = await home()
  for (let leaf = 5; leaf < 8; leaf += 1) {
    assert.equal(await found(at.path), { isAuthentic: true, rows: 0 })
    at.save(leaf)
    at.index.noteFile()
  }
  assert.equal(await found(at.path), { isAuthentic: true, rows: 0 })
  at.save(8)
  const { isAuthentic, rows } = await found(at.path)
  assert.ok(isAuthentic && rows > 8, 'what is not noted yet is read')
})

test('a log that was opened, and holds what it held, costs neither its owner nor a reader a reading of the rows (F287)', async () => {
  using at = await home()
  const before = at.rows()
  // As SQLite does when it is run by root: nothing but the time of change is another.
  chmodSync(`${at.path}-wal`, statSync(`${at.path}-wal`).mode)
  assert.ok(await at.index.isAuthentic())
  assert.is(at.rows(), before)
  assert.equal(await found(at.path), { isAuthentic: true, rows: 0 })
})

test('a log into which somebody wrote past SQLite vouches for nothing, whatever its times and its note say (A210)', async () => {
  using at = await home()
  forgeLog(at.path, 'alice', 'mallo')
  const reading = await found(at.path).catch((error: unknown) => error)
  assert.not.equal(reading, { isAuthentic: true, rows: 0 })
  const before = at.rows()
  await at.index.isAuthentic().catch(() => false)
  assert.ok(at.rows() > before, 'its owner reads the rows')
})

test('what somebody wrote into the log before its owner noted what it holds is in no note (A210)', async () => {
  using at = await home()
  at.save(5)
  forgeLog(at.path, 'alice', 'mallo')
  at.index.noteFile()
  const reading = await found(at.path).catch((error: unknown) => error)
  assert.not.equal(reading, { isAuthentic: true, rows: 0 })
})

test('a note of an earlier state is none of the present one (A210)', async () => {
  using at = await home()
  const note = readFileSync(`${at.path}.sealed`)
  at.save(5)
  at.index.noteFile()
  const file = openSync(`${at.path}.sealed`, 'w')
  writeSync(file, note)
  closeSync(file)
  const { rows } = await found(at.path)
  assert.ok(rows > 5)
})

test.run()
