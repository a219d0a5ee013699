/**
 * @module Controls when the word index merges the segments that each transaction adds to it, and reads its head. Merging a little with each transaction,
 * as FTS5 does by default, rewrites every word again and again in a long series of transactions; merging only when sixteen segments exist rewrites it
 * about twice. Larger segments mean fewer merges, so in a series all words of a transaction are collected in memory before they are written.
 */
import type { Database } from './open.ts'

/**
 * Number of segments that are merged automatically, and bytes of words collected in memory. OF_FEW, for single transactions, has the defaults of FTS5
 * (sqlite.org/fts5.html, "Special INSERT Commands"); OF_MANY is for a series.
 */
const OF_FEW = { automerge: 4, hashsize: 1024 * 1024 } as const
const OF_MANY = { automerge: 0, hashsize: 8 * 1024 * 1024 } as const

/** Records 1 and 10 of an index (sqlite.org/src, ext/fts5/fts5_index.c): its averages and its structure. */
const HEAD =
  "SELECT group_concat(hex(block), ' ') FROM (SELECT block FROM audit_text_data WHERE id IN (1, 10) ORDER BY id)"

export class WordMerges {
  readonly #set: (name: keyof typeof OF_FEW, value: number) => void
  readonly #write: () => void
  readonly #head
  /** The setting stored in the file; undefined if it is not known. */
  #isLater: boolean | undefined

  constructor(db: Database) {
    this.#write = () => db.prepare("INSERT INTO audit_text (audit_text) VALUES ('flush')").run()
    this.#head = db.prepare<[], string | null>(HEAD).pluck()
    this.#set = (name, value) =>
      db.prepare(`INSERT INTO audit_text (audit_text, rank) VALUES ('${name}', ${value})`).run()
  }

  /**
   * Call it within the transaction that adds words. The settings are stored in the file: those left by a process that ended are corrected by the next one.
   */
  mergeLater(isLater: boolean): void {
    if (this.#isLater === isLater) return
    const { automerge, hashsize } = isLater ? OF_MANY : OF_FEW
    this.#set('automerge', automerge)
    this.#set('hashsize', hashsize)
    this.#isLater = isLater
  }

  /** Call it within the transaction, after the last words: otherwise they are written at its end, which changes the head after the seal was computed. */
  write(): void {
    this.#write()
  }

  /** A text that changes with every change of the word index through SQLite: counts of rows and words, and the list of its segments. */
  head(): string {
    return this.#head.get() ?? ''
  }

  /** Wraps the transaction: if it fails, the settings it made are not in the file. */
  within<T>(transaction: () => T): T {
    try {
      return transaction()
    } catch (error) {
      this.#isLater = undefined
      throw error
    }
  }
}
