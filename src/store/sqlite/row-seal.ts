/**
 * @module A seal over all rows of a file that follows the store: a mac over the sum of the macs of its rows and over the place it has
 * reached. Rows may come, change and go without reading the others; whoever edits the file cannot make the seal again. The sum itself is
 * nowhere on the disk: with it, rows could be looked for that cancel each other out.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FileGuard } from '../derived-file.ts'
import type { Database } from './open.ts'
import { fileIdentity, fileState, readRest, restState, saveRest } from './rest-file.ts'
import { type SealedTable, type Statements, statementsOf, type TextRow } from './sealed-rows.ts'

/** Part of the schema of each sealed file. */
export const SEAL_TABLE = 'CREATE TABLE seal (one INTEGER PRIMARY KEY CHECK (one = 1), mac TEXT NOT NULL) STRICT;'

/** Readings of all rows between which this process writes; the next one is in one go. */
const PACED_READINGS = 3
const MODULUS = 1n << 256n

interface Held {
  readonly state: string
  /** See `restState`; undefined where it is not known. */
  readonly rest: string | undefined
}

export class RowSeal {
  readonly #db: Database
  readonly #guard: FileGuard
  readonly #tables: ReadonlyMap<string, Statements>
  readonly #readMac
  readonly #writeMac
  readonly #dataVersion
  /** Sum of the rows as they were checked, or written by this process since; undefined: not checked yet. */
  #sum: bigint | undefined
  #seen = ''
  /** What the file held at this state, whatever opens its log later. */
  #held: Held = { state: '', rest: undefined }
  /** What the note beside the file vouches for. */
  #noted: string | undefined
  /** Of the file that is open: another one may be put in its place while it is. */
  readonly #identity: string
  /** Transactions of this process so far. */
  #writes = 0
  /** Connections of this process that are being opened. */
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

  /** Whether everything in the file is what processes with the ledger's keys wrote. Reads the whole file where that is not known. */
  async isAuthentic(reached: unknown): Promise<boolean> {
    // What is read here would vouch for what lies there, to whoever opens it by its name.
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
      // Some rows were read before, some after what this process wrote meanwhile: that says nothing.
      if (writes !== this.#writes) continue
      if (!this.#isSealed(sum, reached)) return false
      this.#sum = sum
      // Changed while it was read: whatever was read is vouched for, what is there now is read at the next question.
      this.#seen = before
      this.#held = held
      return true
    }
  }

  /**
   * What the file system says of the file now, where all of it is known to be this ledger's: for another connection, which may believe what it
   * reads while the file system still says so. Undefined where rows would have to be read to know, and of a file in memory.
   */
  knownState(): string | undefined {
    if (this.#sum === undefined || this.#db.name === ':memory:' || !this.#isInPlace()) return undefined
    return this.#isAsSeen() ? stateIn(this.#state()) : undefined
  }

  /** SQLite, run by root, gives a log that it opens to the owner of the file: that shows as a change, and is none. */
  opening(): void {
    this.#openings += 1
  }

  opened(): void {
    if (this.#isAsSeen()) this.#seen = this.#state()
    this.#openings = Math.max(0, this.#openings - 1)
  }

  /** Whether nobody else has written since all of it was checked. */
  #isAsSeen(): boolean {
    const state = this.#state()
    if (this.#seen === state) return true
    if (withoutLogChange(this.#seen) !== withoutLogChange(state)) return false
    return this.#openings > 0 || this.#isSameLog(state)
  }

  /** Nothing is known of it where the state is another by now: what was written meanwhile is not what was known. */
  #heldAt(state: string): Held {
    const { name } = this.#db
    const rest = name === ':memory:' ? undefined : restState(name)
    return { state, rest: this.#state() === state ? rest : undefined }
  }

  /** Another process may have opened the log, too: where its bytes were noted, they tell. */
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

  /** Without it nothing may be written: the sum would say less than the file. */
  get isChecked(): boolean {
    return this.#sum !== undefined
  }

  async #sumOfRows({ isPaced }: { readonly isPaced: boolean }): Promise<bigint> {
    let sum = 0n
    for (const name of this.#tables.keys()) {
      // Without a bound at first: a row may bear any number, below zero too.
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

  /** Whether the file is as this ledger's processes left it, by the note beside it: then no row is read. */
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

  /** For whoever opens the file next, or reads it beside this process. Costs nothing while nothing was written. */
  note(): void {
    const { name } = this.#db
    if (name === ':memory:' || this.#db.readonly || this.#sum === undefined) return
    if (this.#held.state !== this.#seen) this.#held = this.#heldAt(this.#seen)
    const { rest } = this.#held
    // Looked at behind what was read: all of that was there while it was known.
    if (rest === undefined || rest === this.#noted || !this.#isInPlace() || !this.#isAsSeen()) return
    saveRest(name, this.#guard.rowKey(), { sum: this.#sum, state: rest })
    this.#noted = rest
  }

  /** Before the file is closed: everything goes from the log into the file. Afterwards, what was returned notes how it was left. */
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

  /** Vouches for a copy of the file that was made while it was authentic. */
  noteCopy(path: string): void {
    const state = restState(path)
    if (this.#sum !== undefined && state !== undefined) saveRest(path, this.#guard.rowKey(), { sum: this.#sum, state })
  }

  /** In the transaction that writes them: rows of `name` that are about to be replaced or removed. */
  remove(name: string, rowid: number): void {
    this.#add(name, this.#at(name, rowid), -1n)
  }

  /** A row as it stands now. */
  add(name: string, rowid: number): void {
    this.#add(name, this.#at(name, rowid), 1n)
  }

  /** Rows that were added one after the other, as they stand now. */
  addAll(name: string, firstRowid: number, lastRowid: number): void {
    this.#add(name, this.#tables.get(name)?.between.all(firstRowid, lastRowid) ?? [], 1n)
  }

  /** The last thing of the transaction. */
  close(reached: unknown): void {
    this.#writeMac.run(this.#guard.seal(sealText(this.#sum ?? 0n, reached)))
  }

  /** Around every transaction of this process: what others wrote before it stays to be checked. */
  writing<T>(transaction: () => T): T {
    const isClean = this.#isAsSeen()
    this.#writes += 1
    try {
      const done = transaction()
      if (isClean) this.#seen = this.#state()
      return done
    } catch (error) {
      // What it added is not in the file.
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

  /** Changes when anybody else writes: through SQLite, or past it. */
  #state(): string {
    const { name } = this.#db
    if (name === ':memory:') return ''
    return `${this.#dataVersion.get()}\n${fileState(name)}`
  }
}

/** Behind the data version. */
function stateIn(seen: string): string {
  return seen.slice(seen.indexOf('\n') + 1)
}

/** The last number is the log's change time. */
function withoutLogChange(seen: string): string {
  return seen.replace(/ \d+$/, '')
}

/** True where the log has nothing left that the file has not, and the file is synced. */
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
