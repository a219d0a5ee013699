/**
 * @module The most recently read range of `$all`, without gaps: a follower gets pages that were read for other followers shortly before, so that each
 * event is fetched from the node once. Pages that were evicted, or precede the range, are read again. It contains only records received from the node: an
 * append of this process is included once it was read.
 */
import type { Position as AllPosition } from '@eventstore/db-client'
import type { ReadRecord } from '../event-store.ts'
import { compareAllPositions, parseAllPosition } from './all-positions.ts'

/** A string takes up to two bytes per character. */
const CHARS_MAX = 4 * 1024 * 1024
/** Estimated overhead of a record in addition to its texts, in characters. */
const RECORD_CHARS = 256

/** All records of the ledger's streams after `at` (or from the start) up to and including `upTo`. */
export interface PageSpan {
  readonly at: AllPosition | undefined
  readonly upTo: AllPosition
  readonly records: readonly ReadRecord[]
}

/** A position to read after, and where to stop. */
export interface PageRequest {
  readonly at: AllPosition | undefined
  readonly end: AllPosition
}

type FoundPage = Pick<PageSpan, 'records' | 'upTo'>

export class RecentPages {
  /** Each page begins where the previous one ends. */
  #pages: (PageSpan & { readonly chars: number })[] = []
  #chars = 0
  #epoch = 0
  readonly #underWay = new Map<string, Promise<unknown>>()

  /** Discards everything: the node that sent it may have been replaced by one that never had it. */
  forget(): void {
    this.#pages = []
    this.#chars = 0
    this.#epoch += 1
  }

  /** Whether a read from this position falls within or after the range. */
  reaches(at: AllPosition | undefined): boolean {
    const [first] = this.#pages
    return first === undefined || isBefore(first.at, at) || isSame(first.at, at)
  }

  /** Returns a cached page from that position, or the result of `read`. Concurrent readers at the same position wait for one of them. */
  async page(request: PageRequest, read: () => Promise<FoundPage>): Promise<FoundPage> {
    const key = keyOf(request.at)
    for (let other = this.#underWay.get(key); other !== undefined; other = this.#underWay.get(key)) {
      await other.catch(() => undefined)
    }
    const known = this.#known(request)
    if (known !== undefined) return known
    const reading = this.#read(request, read).finally(() => this.#underWay.delete(key))
    this.#underWay.set(key, reading)
    return await reading
  }

  async #read({ at }: PageRequest, read: () => Promise<FoundPage>): Promise<FoundPage> {
    const epoch = this.#epoch
    const found = await read()
    if (epoch === this.#epoch) this.#add({ at, ...found })
    return found
  }

  #known({ at, end }: PageRequest): FoundPage | undefined {
    const page = this.#pages.find((each) => !isBefore(at, each.at) && isBefore(at, each.upTo))
    if (page === undefined) return undefined
    const upTo = compareAllPositions(page.upTo, end) <= 0 ? page.upTo : end
    const isComplete = upTo === page.upTo && isSame(at, page.at)
    return { upTo, records: isComplete ? page.records : page.records.filter((record) => liesIn(record, at, upTo)) }
  }

  /** A page before the end of the range is not added; one that starts after it begins a new range. */
  #add(found: PageSpan): void {
    const last = this.#pages.at(-1)
    if (last !== undefined && isBefore(found.at, last.upTo)) return
    if (last !== undefined && !isSame(found.at, last.upTo)) this.forget()
    const chars = found.records.reduce((sum, { header, data }) => sum + header.length + data.length + RECORD_CHARS, 0)
    this.#pages.push({ ...found, chars })
    this.#chars += chars
    while (this.#chars > CHARS_MAX) this.#chars -= this.#pages.shift()?.chars ?? 0
  }
}

function keyOf(at: AllPosition | undefined): string {
  return at === undefined ? '' : `${at.commit}/${at.prepare}`
}

/** `undefined` is the start of `$all`. */
function isBefore(a: AllPosition | undefined, b: AllPosition | undefined): boolean {
  if (a === undefined || b === undefined) return a === undefined && b !== undefined
  return compareAllPositions(a, b) < 0
}

function isSame(a: AllPosition | undefined, b: AllPosition | undefined): boolean {
  return keyOf(a) === keyOf(b)
}

function liesIn({ position }: ReadRecord, at: AllPosition | undefined, upTo: AllPosition): boolean {
  const place = parseAllPosition(position)
  return isBefore(at, place) && compareAllPositions(place, upTo) <= 0
}
