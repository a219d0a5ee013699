/**
 * @module When the index of words merges what each transaction added to it. Merged a little with each, as it is by default, every word of a
 * long row of transactions is written again and again; merged only where sixteen parts have come together, about twice.
 */
import type { Database } from './open.ts'

/** Parts that are merged as they come: the default of FTS5 (sqlite.org/fts5.html, "The 'automerge' Configuration Option"). */
const MERGED_AT_ONCE = 4
const MERGED_LATER = 0

export class WordMerges {
  readonly #setAutomerge
  /** As the file says; undefined where that is not known. */
  #isLater: boolean | undefined

  constructor(db: Database) {
    this.#setAutomerge = (parts: number) =>
      db.prepare(`INSERT INTO audit_text (audit_text, rank) VALUES ('automerge', ${parts})`).run()
  }

  /** Within the transaction that adds words. The setting stays in the file: one that was left by a process that ended is set right by the next. */
  mergeLater(isLater: boolean): void {
    if (this.#isLater === isLater) return
    this.#setAutomerge(isLater ? MERGED_LATER : MERGED_AT_ONCE)
    this.#isLater = isLater
  }

  /** Around the transaction: what it set is not in the file where it fails. */
  within<T>(transaction: () => T): T {
    try {
      return transaction()
    } catch (error) {
      this.#isLater = undefined
      throw error
    }
  }
}
