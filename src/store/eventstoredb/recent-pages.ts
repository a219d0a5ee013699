/**
 * @module The latest stretch of `$all` that was read, without a gap: whoever follows the store beside others is given what they were given a moment
 * ago, so that each event comes from the node once. What was forgotten, or lies before it, is read again. It holds what the node sent and nothing
 * else: an append of this process is in it once it was read.
 */
import type { Position as AllPosition } from '@eventstore/db-client'
import type { ReadRecord } from '../event-store.ts'
import { compareAllPositions, parseAllPosition } from './all-positions.ts'

/** A string takes up to two bytes a character. */
const CHARS_MAX = 4 * 1024 * 1024
/** Beside its texts, in the same measure. */
const RECORD_CHARS = 256

/** Every record of the ledger's streams from behind `at`, or from the start, up to and with `upTo`. */
export interface PageSpan {
  readonly at: AllPosition | undefined
  readonly upTo: AllPosition
  readonly records: readonly ReadRecord[]
}

/** A place to read on from, and where to stop. */
export interface PageRequest {
  readonly at: AllPosition | undefined
  readonly end: AllPosition
}

type FoundPage = Pick<PageSpan, 'records' | 'upTo'>

export class RecentPages {
  /** Each begins where the one before it ends. */
  #pages: (PageSpan & { readonly chars: number })[] = []
  #chars = 0
  #epoch = 0
  readonly #underWay = new Map<string, Promise<unknown>>()

  /** The node that told of it may have been replaced by one that never had it. */
  forget(): void {
    this.#pages = []
    this.#chars = 0
    this.#epoch += 1
  }

  /** Whether reading on from there would be part of the stretch. */
  reaches(at: AllPosition | undefined): boolean {
    const [first] = this.#pages
    return first === undefined || isBefore(first.at, at) || isSame(first.at, at)
  }

  /** What is known from there on, or what `read` finds. Readers who come to one place at once wait for one of them. */
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

  /** Readers of what is older leave the stretch as it is; one who is ahead of it begins another. */
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

/** Undefined is the start. */
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
