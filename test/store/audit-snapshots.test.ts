import { createHmac } from 'node:crypto'
import { copyFileSync, renameSync, statSync, utimesSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { AuditIndex } from '../../src/store/audit-index.ts'
import type { FileGuard } from '../../src/store/derived-file.ts'
import { StoreUnavailableError } from '../../src/store/event-store.ts'
import { AuditSnapshots, type IndexOwner } from '../../src/store/sqlite/audit-snapshots.ts'
import { openSqliteAudit } from '../../src/store/sqlite/sqlite-audit.ts'
import { auditEntry } from '../support/audit-entry.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('readings of the index beside its owner')

const KEY = Buffer.alloc(32, 7)
const GUARD: FileGuard = {
  rowKey: () => KEY,
  rowMac: (table, row) =>
    createHmac('sha256', KEY)
      .update(table + row)
      .digest('hex'),
  seal: (text) => `sealed ${text}`,
  holds: (text, seal) => seal === `sealed ${text}`,
}

interface Home extends Disposable {
  readonly path: string
  readonly index: AuditIndex
  readonly owner: IndexOwner
  readonly save: (leaf: number) => void
}

function home(): Home {
  const folder = tempFolder()
  const path = folder.file('audit.db')
  const index = openSqliteAudit({ path, guard: GUARD })
  const save = (leaf: number): void => {
    const progress = { position: String(leaf), digest: `d${leaf}` }
    const from = index.progress()?.position
    assert.ok(
      index.save(
        {
          entries: [auditEntry(leaf, { run: 'r', revision: leaf, time: '2026-01-31T21:00:00.000Z' })],
          states: new Map(),
          foreign: [],
          progress,
        },
        from,
      ),
    )
  }
  const owner: IndexOwner = {
    vouch: async () => ((await index.isAuthentic()) ? index.knownState() : undefined),
    opening: async () => index.opening(),
    opened: async () => index.opened(),
  }
  const close = (): void => {
    index[Symbol.dispose]()
    folder[Symbol.dispose]()
  }
  return { path, index, owner, save, [Symbol.dispose]: close }
}

const sizeIn = (snapshots: AuditSnapshots, owner: IndexOwner): Promise<number> =>
  snapshots.read(owner, async (index) => index.size('acme'))

test('each reading sees the index as it is then, over connections that stay open, while its owner goes on writing (F213)', async () => {
  using at = home()
  using snapshots = new AuditSnapshots(at.path)
  for (let leaf = 0; leaf < 5; leaf += 1) {
    at.save(leaf)
    assert.is(await sizeIn(snapshots, at.owner), leaf + 1)
  }
  const during = await snapshots.read(at.owner, async (index) => {
    at.save(5)
    // Another reading meanwhile has a connection of its own.
    return [await sizeIn(snapshots, at.owner), index.size('acme')]
  })
  assert.equal(during, [6, 5], 'one snapshot for the whole reading')
})

test('a connection of our own that is opened leaves the owner knowing its file, and a change of the log by anybody else does not (F213)', async () => {
  using at = home()
  at.save(0)
  assert.ok(await at.index.isAuthentic())
  assert.ok(at.index.knownState() !== undefined)
  using snapshots = new AuditSnapshots(at.path)
  assert.is(await sizeIn(snapshots, at.owner), 1)
  assert.ok(at.index.knownState() !== undefined)
  const { atime, mtime } = statSync(`${at.path}-wal`)
  utimesSync(`${at.path}-wal`, atime, mtime)
  assert.is(at.index.knownState(), undefined)
})

test('what somebody writes into the index between the word of its owner and the reading is in no answer (A239)', async () => {
  using at = home()
  for (let leaf = 0; leaf < 3; leaf += 1) at.save(leaf)
  using snapshots = new AuditSnapshots(at.path)
  await sizeIn(snapshots, at.owner)
  let forgeries = 0
  const forged: IndexOwner = {
    ...at.owner,
    vouch: async () => {
      const state = await at.owner.vouch()
      if (forgeries++ > 0) return state
      const db = new Sqlite(at.path)
      db.prepare("UPDATE events SET actor = 'mallory' WHERE leaf = 1").run()
      db.close()
      return state
    },
  }
  const read: (string | undefined)[] = []
  const answer = await snapshots
    .read(forged, async (index) => void read.push(index.row('acme', 1)?.actor))
    .catch((error: unknown) => error)
  assert.instance(answer, StoreUnavailableError)
  assert.equal(read, [], 'nothing was read')
  assert.is(await at.index.isAuthentic(), false)
})

test('another file that is put in the place of the index while it is open is not believed, now or by whoever opens it next (A238)', async () => {
  using at = home()
  for (let leaf = 0; leaf < 3; leaf += 1) at.save(leaf)
  assert.ok(await at.index.isAuthentic())
  const other = `${at.path}.other`
  const db = new Sqlite(at.path)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()
  copyFileSync(at.path, other)
  const forging = new Sqlite(other)
  forging.prepare("UPDATE events SET actor = 'mallory' WHERE leaf = 1").run()
  forging.close()
  renameSync(other, at.path)
  using snapshots = new AuditSnapshots(at.path)
  assert.is(await at.index.isAuthentic(), false)
  assert.is(at.index.knownState(), undefined)
  assert.instance(await sizeIn(snapshots, at.owner).catch((error: unknown) => error), StoreUnavailableError)
  // As after a crash: nothing beside the file vouches for it.
  using next = openSqliteAudit({ path: at.path, guard: GUARD })
  assert.is(await next.isAuthentic(), false)
})

test('the file that is rebuilt is read by the next question, over a new connection (F213)', async () => {
  using at = home()
  for (let leaf = 0; leaf < 3; leaf += 1) at.save(leaf)
  using snapshots = new AuditSnapshots(at.path)
  assert.is(await sizeIn(snapshots, at.owner), 3)
  at.index.renew('requested')
  at.save(0)
  assert.is(await sizeIn(snapshots, at.owner), 1)
})

test.run()
