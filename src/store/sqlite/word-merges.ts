/**
 * @module The index of words: what its head is, and when it merges what each transaction added to it. Merged a little with each, as it is by default, every word of a
 * long row of transactions is written again and again; merged only where sixteen parts have come together, about twice. The larger each part
 * is, the fewer there are to merge: there the words of a whole transaction are gathered in memory before they are written.
 */
import type { Database } from './open.ts'

/**
 * Parts that are merged as they come, and bytes of words that are gathered in memory: of one transaction among few, the defaults of FTS5
 * (sqlite.org/fts5.html, "Special INSERT Commands").
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
  /** As the file says; undefined where that is not known. */
  #isLater: boolean | undefined

  constructor(db: Database) {
    this.#write = () => db.prepare("INSERT INTO audit_text (audit_text) VALUES ('flush')").run()
    this.#head = db.prepare<[], string | null>(HEAD).pluck()
    this.#set = (name, value) =>
      db.prepare(`INSERT INTO audit_text (audit_text, rank) VALUES ('${name}', ${value})`).run()
  }

  /** Within the transaction that adds words. The settings stay in the file: those that were left by a process that ended are set right by the next. */
  mergeLater(isLater: boolean): void {
    if (this.#isLater === isLater) return
    const { automerge, hashsize } = isLater ? OF_MANY : OF_FEW
    this.#set('automerge', automerge)
    this.#set('hashsize', hashsize)
    this.#isLater = isLater
  }

  /** Within the transaction, behind the last words: otherwise they are written as it ends, and change the head behind whoever seals it. */
  write(): void {
    this.#write()
  }

  /** What every change of the index of words that goes through SQLite changes: counts of rows and words, and the list of its parts. */
  head(): string {
    return this.#head.get() ?? ''
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
