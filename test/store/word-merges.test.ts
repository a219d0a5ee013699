import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { fileGuard } from '../../src/ledger/identity/file-guard.ts'
import type { AuditEntry, AuditIndex } from '../../src/store/audit-index.ts'
import { openDatabase } from '../../src/store/sqlite/open.ts'
import { openSqliteAudit } from '../../src/store/sqlite/sqlite-audit.ts'
import { auditEntry } from '../support/audit-entry.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { testLedger } from '../support/test-ledger.ts'

const test = suite("words of the auditors' index while it is made from far behind")

const TRANSACTIONS = 40

function save(
  index: AuditIndex,
  leaf: number,
  isBulk: boolean,
  entries: readonly AuditEntry[] = [entryOf(leaf)],
): void {
  const progress = { position: String(leaf + 1), digest: `d${leaf}` }
  const batch = { entries, states: new Map<string, string>(), foreign: [], progress, isBulk }
  assert.ok(index.save(batch, index.progress()?.position))
}

function entryOf(leaf: number): AuditEntry {
  return { ...auditEntry(leaf, { run: 'r', revision: leaf, time: '2026-01-31T21:00:00.000Z' }), text: `word ${leaf}` }
}

/** How the file gathers and merges words, and the parts that they lie in. */
function inFile(path: string): { readonly automerge: unknown; readonly hashsize: unknown; readonly parts: number } {
  const db = new Sqlite(path, { readonly: true })
  try {
    const setting = db.prepare('SELECT v FROM audit_text_config WHERE k = ?').pluck()
    const [automerge, hashsize] = [setting.get('automerge'), setting.get('hashsize')]
    const parts = db.prepare('SELECT count(DISTINCT segid) FROM audit_text_idx').pluck().get()
    return { automerge, hashsize, parts: Number(parts) }
  } finally {
    db.close()
  }
}

function hits(index: AuditIndex, words: readonly string[]): readonly number[] {
  const view = { tenant: 'acme', size: index.size('acme') }
  return index.rows(view, { phrases: [words] }, { limit: 2 * TRANSACTIONS, after: undefined }).map(({ leaf }) => leaf)
}

test('are found while parts wait to be merged, and afterwards', () => {
  using folder = tempFolder()
  const index = openSqliteAudit({ path: folder.file('audit.db') })
  for (let leaf = 0; leaf < TRANSACTIONS; leaf += 1) save(index, leaf, true)
  assert.is(hits(index, ['word']).length, TRANSACTIONS)
  assert.equal(hits(index, ['word', '7']), [7])
  save(index, TRANSACTIONS, false)
  assert.is(hits(index, ['word']).length, TRANSACTIONS + 1)
  index[Symbol.dispose]()
})

test('are merged as they come again by the next process, where the one that made it was killed', () => {
  using folder = tempFolder()
  const path = folder.file('audit.db')
  const killed = openSqliteAudit({ path })
  for (let leaf = 0; leaf < TRANSACTIONS; leaf += 1) save(killed, leaf, true)
  assert.equal([inFile(path).automerge, inFile(path).hashsize], [0, 8 * 1024 * 1024])
  const { parts } = inFile(path)
  const next = openSqliteAudit({ path })
  for (let leaf = TRANSACTIONS; leaf < 2 * TRANSACTIONS; leaf += 1) save(next, leaf, false)
  assert.equal([inFile(path).automerge, inFile(path).hashsize], [4, 1024 * 1024])
  assert.ok(inFile(path).parts < parts, `${parts} parts became ${inFile(path).parts}`)
  assert.is(hits(next, ['word']).length, 2 * TRANSACTIONS)
  for (const index of [next, killed]) index[Symbol.dispose]()
})

test('are merged as the last transaction that was written says, where one that was to change that fails', () => {
  using folder = tempFolder()
  const path = folder.file('audit.db')
  const index = openSqliteAudit({ path })
  save(index, 0, false)
  assert.throws(() => save(index, 1, true, [entryOf(0)]), /UNIQUE/)
  assert.is(inFile(path).automerge, 4)
  save(index, 1, true)
  assert.is(inFile(path).automerge, 0)
  index[Symbol.dispose]()
})

test('lie under the seal of the file with their counts and the list of their parts: whoever empties the index, or takes words out of it or puts some in, costs the file (A412, LOG-61)', async () => {
  await using inner = await testLedger()
  const guard = fileGuard(inner.keys, 'audit')
  for (const edit of [
    `INSERT INTO audit_text (audit_text) VALUES ('delete-all')`,
    `INSERT INTO audit_text (audit_text, rowid, tenant, body) VALUES ('delete', 1, '', 'word')`,
    `INSERT INTO audit_text (rowid, tenant, body) VALUES (99, 'x', 'word')`,
  ]) {
    using folder = tempFolder()
    const path = folder.file('audit.db')
    {
      using index = openSqliteAudit({ path, guard })
      assert.ok(await index.isAuthentic())
      for (let leaf = 0; leaf < TRANSACTIONS; leaf += 1) save(index, leaf, leaf % 2 === 0)
    }
    {
      using index = openSqliteAudit({ path, guard })
      assert.ok(await index.isAuthentic())
      save(index, TRANSACTIONS, false)
    }
    const db = openDatabase({ path, busyTimeoutMs: 0 })
    db.exec(edit)
    db.close()
    using index = openSqliteAudit({ path, guard })
    assert.not(await index.isAuthentic(), edit)
  }
})

test.run()
