/** @module Lists and counts of which no more is kept than a page can show. */
import { NameTable } from './name-table.ts'

/** Longer lists end in a count of the rest. */
const LISTED_MAX = 200

/** The first items, and how many there are. */
export interface Listed<Item> {
  readonly items: readonly Item[]
  readonly total: number
}

export class BoundedList<Item> implements Listed<Item> {
  items: Item[] = []
  total = 0

  add(item: Item): void {
    this.total += 1
    if (this.items.length < LISTED_MAX) this.items.push(item)
  }
}

/** Names with how often each was met. Beyond a bound, new names are counted together. */
export class NameCounts {
  #counts = new Map<string, number>()
  others = 0

  add(name: string): void {
    if (this.#counts.has(name) || this.#counts.size < LISTED_MAX)
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1)
    else this.others += 1
  }

  entries(): readonly (readonly [name: string, count: number])[] {
    return [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))
  }
}

/** How much was opened and not closed, and the first of it in the order of opening. */
export class OpenList<Item> {
  /** Known when no pass is left. */
  list: Listed<Item> | undefined
  #table: NameTable
  /** Openings so far in this pass. */
  #met = 0
  /** Of what stayed open: the number of its first opening, and that of the last one of the same name. */
  #first: (readonly [first: number, last: number])[] = []
  #total = 0
  /** What is to be listed, by number of opening. */
  #items = new Map<number, Item>()
  /** Openings that are to be listed and whose item was not kept; undefined as long as it is not known what stays open. */
  #wanted: Set<number> | undefined

  constructor(maxBytes: number) {
    this.#table = new NameTable(maxBytes)
  }

  get heldBytes(): number {
    return this.#table.heldBytes
  }

  open(name: string, item: () => Item): void {
    this.#met += 1
    if (this.#wanted !== undefined) {
      if (this.#wanted.has(this.#met)) this.#items.set(this.#met, item())
      return
    }
    const [opening, last] = this.#table.get(name) ?? [this.#met, this.#met]
    this.#items.delete(last)
    if (this.#items.size < 2 * LISTED_MAX) this.#items.set(this.#met, item())
    this.#table.set(name, opening, this.#met)
  }

  close(name: string): void {
    const [, last] = (this.#wanted === undefined && this.#table.get(name)) || []
    if (last === undefined) return
    this.#items.delete(last)
    this.#table.set(name, 0, 0)
  }

  nextPass(): boolean {
    this.#met = 0
    if (this.#wanted === undefined) {
      for (const entry of this.#table.entries()) this.#add(entry)
      if (this.#table.nextPass()) return true
      this.#keepFirst()
      this.#wanted = new Set(this.#first.map(([, last]) => last).filter((last) => !this.#items.has(last)))
      if (this.#wanted.size > 0) return true
    }
    this.list = { items: this.#first.map(([, last]) => this.#items.get(last) as Item), total: this.#total }
    return false
  }

  #add(entry: readonly [first: number, last: number]): void {
    this.#total += 1
    this.#first.push(entry)
    if (this.#first.length > 2 * LISTED_MAX) this.#keepFirst()
  }

  #keepFirst(): void {
    this.#first.sort(([a], [b]) => a - b).splice(LISTED_MAX)
  }
}
