/** @module The stream heads in the logs' file, from which the tree of streams that a checkpoint commits to is built. */
import type { LogStore, StreamHeadRow, StreamHeads } from '../log-store.ts'
import type { Database } from './open.ts'
import type { RowSeal } from './row-seal.ts'

interface HeadColumns {
  readonly key: Buffer
  readonly events: number
  readonly digest: Buffer
}

/** Sorts after every 32-byte key. */
const LAST_KEY = Buffer.alloc(33, 0xff)

function prepareStatements(db: Database) {
  const columns = 'SELECT key, events, digest FROM stream_heads WHERE log = ?'
  return {
    logAt: db.prepare<[string], number>('SELECT id FROM logs WHERE tenant = ?').pluck(),
    size: db.prepare<[number], number>('SELECT size FROM head_sizes WHERE log = ?').pluck(),
    saveSize: db.prepare('INSERT OR REPLACE INTO head_sizes (log, size) VALUES (?, ?)'),
    head: db.prepare<unknown[], HeadColumns>(`${columns} AND key = ?`),
    heads: db.prepare<unknown[], HeadColumns>(`${columns} AND key >= ? AND key < ? ORDER BY key LIMIT ?`),
    headAt: db.prepare<unknown[], number>('SELECT id FROM stream_heads WHERE log = ? AND key = ?').pluck(),
    ids: db.prepare<[number], number>('SELECT id FROM stream_heads WHERE log = ?').pluck(),
    saveHead: db
      .prepare<unknown[], number>(`INSERT INTO stream_heads (log, key, events, digest) VALUES (?, ?, ?, ?)
        ON CONFLICT (log, key) DO UPDATE SET events = excluded.events, digest = excluded.digest RETURNING id`)
      .pluck(),
    dropHeads: db.prepare('DELETE FROM stream_heads WHERE log = ?'),
    dropSize: db.prepare('DELETE FROM head_sizes WHERE log = ?'),
  }
}

/** Each write is one transaction, sealed by `close`. */
export class SqliteHeads implements Pick<LogStore, 'headsSize' | 'head' | 'heads' | 'saveHeads' | 'dropHeads'> {
  readonly #statements
  readonly #seal: RowSeal | undefined
  readonly #save
  readonly #drop

  constructor(db: Database, { seal, close }: { readonly seal: RowSeal | undefined; readonly close: () => void }) {
    this.#seal = seal
    this.#statements = prepareStatements(db)
    this.#save = db.transaction((log: number, { size, heads }: StreamHeads, from: number) => {
      if ((this.#statements.size.get(log) ?? 0) !== from) return false
      for (const head of heads) this.#write(log, head)
      this.#writeSize(log, size)
      close()
      return true
    })
    this.#drop = db.transaction((log: number) => {
      for (const id of this.#statements.ids.all(log)) this.#seal?.remove('stream_heads', id)
      if (this.#statements.size.get(log) !== undefined) this.#seal?.remove('head_sizes', log)
      this.#statements.dropHeads.run(log)
      this.#statements.dropSize.run(log)
      close()
    })
  }

  headsSize(tenant: string): number {
    const log = this.#statements.logAt.get(tenant)
    return (log === undefined ? undefined : this.#statements.size.get(log)) ?? 0
  }

  head(tenant: string, key: Uint8Array): StreamHeadRow | undefined {
    return this.#statements.head.get(this.#statements.logAt.get(tenant), key)
  }

  heads(tenant: string, from: Uint8Array, below: Uint8Array | undefined, limit: number): readonly StreamHeadRow[] {
    return this.#statements.heads.all(this.#statements.logAt.get(tenant), from, below ?? LAST_KEY, limit)
  }

  saveHeads(heads: StreamHeads, from: number): boolean {
    const log = this.#statements.logAt.get(heads.tenant)
    if (log === undefined || this.#seal?.isChecked === false) return false
    return this.#sealed(() => this.#save.immediate(log, heads, from))
  }

  dropHeads(tenant: string): void {
    const log = this.#statements.logAt.get(tenant)
    if (log !== undefined && this.#seal?.isChecked !== false) this.#sealed(() => this.#drop.immediate(log))
  }

  #write(log: number, { key, events, digest }: StreamHeadRow): void {
    const { headAt, saveHead } = this.#statements
    const known = headAt.get(log, key)
    if (known !== undefined) this.#seal?.remove('stream_heads', known)
    const written = saveHead.get(log, key, events, digest)
    if (written !== undefined) this.#seal?.add('stream_heads', written)
  }

  #writeSize(log: number, size: number): void {
    if (this.#statements.size.get(log) !== undefined) this.#seal?.remove('head_sizes', log)
    this.#statements.saveSize.run(log, size)
    this.#seal?.add('head_sizes', log)
  }

  #sealed<T>(write: () => T): T {
    return this.#seal === undefined ? write() : this.#seal.writing(write)
  }
}
