/** @module The side of the thread that reads ahead: pages as far as they are asked for. */
import { columnsOf } from '../ledger/audit/page-columns.ts'
import type { ReadHalf } from '../store/read-only-store.ts'
import { type AheadRange, type FromAhead, PAGES_AHEAD } from './index-ahead.ts'
import { PinnedStore } from './pinned-store.ts'

export class ReadAhead {
  readonly #say: (message: FromAhead) => void
  #toSay = PAGES_AHEAD
  #isEnded = false
  #wake = (): void => undefined

  constructor(say: (message: FromAhead) => void) {
    this.#say = say
  }

  /** One page was taken. */
  more(): void {
    this.#toSay += 1
    this.#wake()
  }

  end(): void {
    this.#isEnded = true
    this.#wake()
  }

  /** Throws what reading throws: nothing behind the last page that was handed over is said then. */
  async run(reader: ReadHalf, { after, until }: AheadRange): Promise<void> {
    const pinned = new PinnedStore(reader)
    await pinned.reach(until)
    for await (const records of pinned.store.readAll({ after, until })) {
      const page = columnsOf(records)
      while (this.#toSay === 0 && !this.#isEnded) await this.#change()
      if (this.#isEnded) return
      if (page === undefined) continue
      this.#toSay -= 1
      this.#say({ kind: 'page', page })
    }
    this.#say({ kind: 'over' })
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }
}
