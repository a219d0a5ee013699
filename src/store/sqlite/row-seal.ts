/**
 * @module A seal over all rows of a file that follows the store: a MAC over the sum of the MACs of its rows and the progress it has reached. Rows can be
 * added, changed and removed without reading the others; an attacker who edits the file cannot recompute the seal. The sum itself is never stored in plain
 * text: an attacker who knew it could search for rows that cancel each other out.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FileGuard } from '../derived-file.ts'
import type { Database } from './open.ts'
import { fileIdentity, fileState, readRest, restState, saveRest } from './rest-file.ts'

/** Part of the schema of each sealed file. */
export const SEAL_TABLE = 'CREATE TABLE seal (one INTEGER PRIMARY KEY CHECK (one = 1), mac TEXT NOT NULL) STRICT;'

/** Number of scans of all rows that yield to other work, so that this process may write in between; the next scan runs without yielding. */
const PACED_READINGS = 3
const MODULUS = 1n << 256n

interface Held {
  readonly state: string
  /** Result of `restState`; undefined if it is not known. */
  readonly rest: string | undefined
}

export class RowSeal {
  readonly #db: Database
  readonly #guard: FileGuard
  readonly #tables: ReadonlyMap<string, Statements>
  readonly #readMac
  readonly #writeMac
  readonly #dataVersion
  /** Sum of the rows as checked, or as written by this process since; undefined until they are checked. */
  #sum: bigint | undefined
  #seen = ''
  /** The content at this state, independent of which process opens the WAL later. */
  #held: Held = { state: '', rest: undefined }
  /** The state that the note next to the file vouches for. */
  #noted: string | undefined
  /** Identity of the open file: another file may be put at its path in the meantime. */
  readonly #identity: string
  /** Number of transactions of this process so far. */
  #writes = 0
  /** Number of connections of this process that are being opened. */
  #openings = 0

  constructor(db: Database, guard: FileGuard, tables: readonly SealedTable[]) {
    this.#db = db
    this.#guard = guard
    this.#tables = new Map(tables.map((table) => [table.name, statementsOf(db, table)]))
    this.#readMac = db.prepare<[], string>('SELECT mac FROM seal').pluck()
    this.#writeMac = db.prepare('INSERT OR REPLACE INTO seal (one, mac) VALUES (1, ?)')
    this.#dataVersion = db.prepare<[], number>('PRAGMA data_version').pluck()
    this.#identity = fileIdentity(db.name)
  }

  /** Whether everything in the file was written by processes with the ledger's keys. Reads the whole file if that is not known yet. */
  async isAuthentic(reached: unknown): Promise<boolean> {
    // Without this check, rows of the open file would vouch for another file that is now at its path.
    if (!this.#isInPlace()) return false
    if (this.#sum === undefined && this.#isAsLeft(reached)) return true
    if (this.#sum !== undefined && this.#isAsSeen()) {
      this.note()
      return true
    }
    for (let readings = 1; ; readings += 1) {
      const [before, writes] = [this.#state(), this.#writes]
      const held = this.#heldAt(before)
      const sum = await this.#sumOfRows({ isPaced: readings <= PACED_READINGS })
      // Some rows were read before, some after a write of this process: the sum is meaningless.
      if (writes !== this.#writes) continue
      if (!this.#isSealed(sum, reached)) return false
      this.#sum = sum
      // If the file changed during the pass, the rows that were read are authentic, and the new content is read at the next call.
      this.#seen = before
      this.#held = held
      return true
    }
  }

  /**
   * The file system's state of the file, if all of its content is known to be this ledger's. Another connection may trust what it reads as long as this
   * state is unchanged. Undefined if rows would have to be read to know, and for a file in memory.
   */
  knownState(): string | undefined {
    if (this.#sum === undefined || this.#db.name === ':memory:' || !this.#isInPlace()) return undefined
    return this.#isAsSeen() ? stateIn(this.#state()) : undefined
  }

  /** When run by root, SQLite changes the owner of a WAL that it opens to the owner of the file: the state changes although the content does not. */
  opening(): void {
    this.#openings += 1
  }

  opened(): void {
    if (this.#isAsSeen()) this.#seen = this.#state()
    this.#openings = Math.max(0, this.#openings - 1)
  }

  /** Whether no other connection has written since the rows were checked. */
  #isAsSeen(): boolean {
    const state = this.#state()
    if (this.#seen === state) return true
    if (withoutLogChange(this.#seen) !== withoutLogChange(state)) return false
    return this.#openings > 0 || this.#isSameLog(state)
  }

  /** `rest` is undefined if the state changed in the meantime, since it would then describe other content. */
  #heldAt(state: string): Held {
    const { name } = this.#db
    const rest = name === ':memory:' ? undefined : restState(name)
    return { state, rest: this.#state() === state ? rest : undefined }
  }

  /** Another process may have opened the WAL as well, which changes its change time only: the digest of its bytes decides, if it was noted. */
  #isSameLog(state: string): boolean {
    const { rest } = this.#held
    if (this.#seen !== this.#held.state || rest === undefined || restState(this.#db.name) !== rest) return false
    if (this.#state() !== state) return false
    this.#seen = state
    this.#held = { state, rest }
    return true
  }

  #isInPlace(): boolean {
    return fileIdentity(this.#db.name) === this.#identity
  }

  /** Whether the sum is known. Until then nothing may be written, because the sum would not cover the existing rows. */
  get isChecked(): boolean {
    return this.#sum !== undefined
  }

  async #sumOfRows({ isPaced }: { readonly isPaced: boolean }): Promise<bigint> {
    let sum = 0n
    for (const name of this.#tables.keys()) {
      // The first page has no lower bound, because a rowid may be any number, including negative ones.
      for (let after: number | undefined; ; ) {
        const rows = this.#after(name, after)
        for (const { text } of rows) sum += this.#valueOf(name, text)
        const last = rows.at(-1)
        if (last === undefined) break
        after = last.number
        if (isPaced) await nextTurn()
      }
    }
    return sum % MODULUS
  }

  /** Whether the file is unchanged since this ledger's processes last wrote it, according to the note next to it: no row is read then. */
  #isAsLeft(reached: unknown): boolean {
    const { name } = this.#db
    const rest = name === ':memory:' ? undefined : readRest(name, this.#guard.rowKey())
    const state = this.#state()
    if (rest === undefined || rest.state !== restState(name) || !this.#isSealed(rest.sum, reached)) return false
    if (this.#state() !== state) return false
    this.#sum = rest.sum
    this.#seen = state
    this.#held = { state, rest: rest.state }
    this.#noted = rest.state
    return true
  }

  #isSealed(sum: bigint, reached: unknown): boolean {
    const mac = this.#readMac.get()
    const isEmpty = sum === 0n && mac === undefined && reached === undefined
    return isEmpty || (mac !== undefined && this.#guard.holds(sealText(sum, reached), mac))
  }

  /** Writes the note for the next process that opens the file or reads it concurrently. Costs nothing if nothing was written since the last note. */
  note(): void {
    const { name } = this.#db
    if (name === ':memory:' || this.#db.readonly || this.#sum === undefined) return
    if (this.#held.state !== this.#seen) this.#held = this.#heldAt(this.#seen)
    const { rest } = this.#held
    // Checked after the state was read, so that all content of that state was known to be authentic.
    if (rest === undefined || rest === this.#noted || !this.#isInPlace() || !this.#isAsSeen()) return
    saveRest(name, this.#guard.rowKey(), { sum: this.#sum, state: rest })
    this.#noted = rest
  }

  /** Called before the file is closed: checkpoints the whole WAL into the file. The returned function, called after closing, notes the final state. */
  leave(): () => void {
    const { name } = this.#db
    const sum = this.#sum
    const isKnown = sum !== undefined && name !== ':memory:' && this.#db.open && !this.#db.readonly
    const isComplete = isKnown && this.#isInPlace() && this.#isAsSeen()
    if (!isComplete || !isEmptied(this.#db)) return () => undefined
    const state = restState(name)
    return () => {
      if (state !== undefined && restState(name) === state) saveRest(name, this.#guard.rowKey(), { sum, state })
    }
  }

  /** Writes the note for a copy of the file that was made while the file was authentic. */
  noteCopy(path: string): void {
    const state = restState(path)
    if (this.#sum !== undefined && state !== undefined) saveRest(path, this.#guard.rowKey(), { sum: this.#sum, state })
  }

  /** Subtracts a row of `name` that is about to be replaced or removed. Call within the transaction that does so. */
  remove(name: string, rowid: number): void {
    this.#add(name, this.#at(name, rowid), -1n)
  }

  /** Adds a row with its current content. */
  add(name: string, rowid: number): void {
    this.#add(name, this.#at(name, rowid), 1n)
  }

  /** Adds consecutive rows with their current content. */
  addAll(name: string, firstRowid: number, lastRowid: number): void {
    this.#add(name, this.#tables.get(name)?.between.all(firstRowid, lastRowid) ?? [], 1n)
  }

  /** Writes the seal; must be the last statement of the transaction. */
  close(reached: unknown): void {
    this.#writeMac.run(this.#guard.seal(sealText(this.#sum ?? 0n, reached)))
  }

  /** Wraps every transaction of this process. Earlier writes of other processes remain to be checked. */
  writing<T>(transaction: () => T): T {
    const isClean = this.#isAsSeen()
    this.#writes += 1
    try {
      const done = transaction()
      if (isClean) this.#seen = this.#state()
      return done
    } catch (error) {
      // The rolled-back rows are in the sum but not in the file.
      this.#sum = undefined
      throw error
    }
  }

  #add(name: string, rows: readonly TextRow[], sign: bigint): void {
    let sum = this.#sum ?? 0n
    for (const { text } of rows) sum += sign * this.#valueOf(name, text)
    this.#sum = ((sum % MODULUS) + MODULUS) % MODULUS
  }

  #valueOf(name: string, text: string): bigint {
    return BigInt(`0x${this.#guard.rowMac(`${name}\n`, text)}`)
  }

  #after(name: string, rowid: number | undefined): readonly TextRow[] {
    const { first, after } = this.#tables.get(name) ?? {}
    return (rowid === undefined ? first?.all() : after?.all(rowid)) ?? []
  }

  #at(name: string, rowid: number): readonly TextRow[] {
    return this.#tables.get(name)?.at.all(rowid) ?? []
  }

  /** A text that changes whenever another connection or program writes to the file, through SQLite or directly. */
  #state(): string {
    const { name } = this.#db
    if (name === ':memory:') return ''
    return `${this.#dataVersion.get()}\n${fileState(name)}`
  }
}

/** The part of the state after the data version. */
function stateIn(seen: string): string {
  return seen.slice(seen.indexOf('\n') + 1)
}

/** Removes the last number, which is the change time of the WAL. */
function withoutLogChange(seen: string): string {
  return seen.replace(/ \d+$/, '')
}

/** Checkpoints and truncates the WAL. True if the file then holds everything and is fsynced. */
function isEmptied(db: Database): boolean {
  try {
    const [{ busy } = { busy: 1 }] = db.pragma('wal_checkpoint(TRUNCATE)') as readonly { busy: number }[]
    return busy === 0
  } catch {
    return false
  }
}

function sealText(sum: bigint, reached: unknown): string {
  return JSON.stringify([sum.toString(16), reached ?? null])
}

// Reads the rows of sealed tables as texts, over which a seal is computed.

const ROWS_AT_ONCE = 2_000

interface SealedTable {
  readonly name: string
  readonly columns: readonly string[]
}

interface TextRow {
  readonly number: number
  readonly text: string
}

type Statement = { readonly all: (...values: readonly unknown[]) => readonly TextRow[] }

const prepared = (db: Database, sql: string): Statement => db.prepare<unknown[], TextRow>(sql)

interface Statements {
  readonly first: Statement
  readonly after: Statement
  readonly at: Statement
  readonly between: Statement
}

function statementsOf(db: Database, { name, columns }: SealedTable): Statements {
  const text = `json_array(rowid, ${columns.map((column) => `CASE typeof(${column}) WHEN 'blob' THEN hex(${column}) ELSE ${column} END`).join(', ')})`
  const rows = `SELECT rowid AS number, ${text} AS text FROM ${name} NOT INDEXED`
  return {
    first: prepared(db, `${rows} ORDER BY rowid LIMIT ${ROWS_AT_ONCE}`),
    after: prepared(db, `${rows} WHERE rowid > ? ORDER BY rowid LIMIT ${ROWS_AT_ONCE}`),
    at: prepared(db, `${rows} WHERE rowid = ?`),
    between: prepared(db, `${rows} WHERE rowid BETWEEN ? AND ?`),
  }
}
