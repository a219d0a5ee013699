/** @module Packing of facts about sound rows into columns that are passed between threads, and unpacking into items, one stream after another. */
import { DIGEST_BYTES, digestAt, ID_BYTES, packDigest, packId, viewOf } from '../packed-text.ts'
import type { PlacedRecord, SoundFacts, SoundLink, SoundRows, SourceFault, SourceItem } from '../source-item.ts'
import { continues, type StreamState } from '../stream-check.ts'
import { LINK_NUMBERS, LINK_TEXTS, type LookedRows, PIECE_NUMBERS } from './protocol.ts'

type Columns = Omit<LookedRows, 'after' | 'through' | 'sizes' | 'used' | 'others'>

/** A link that grows row by row. */
interface Growing extends StreamState {
  readonly place: number
  readonly first: SoundFacts
  time: string
  events: number
  behindClock: number
  lastRow: number
}

export class SoundColumns {
  readonly #places: Uint32Array<ArrayBuffer>
  readonly #digests: Uint8Array<ArrayBuffer>
  readonly #ids: Uint8Array<ArrayBuffer>
  /** Writable views of the same bytes. */
  readonly #into: { readonly digests: Buffer; readonly ids: Buffer }
  readonly #pieces: number[] = []
  readonly #linkNumbers: number[] = []
  readonly #linkTexts: string[] = []
  readonly #streams = new Map<string, number>()
  readonly #tenants: string[] = []
  /** Links of the current piece, in the order in which they began. */
  readonly #links = new Map<string, Growing>()
  #last: Growing | undefined
  #begin = { row: 0, sound: 0 }
  #sound = 0

  constructor(rows: number) {
    this.#places = new Uint32Array(rows)
    this.#digests = new Uint8Array(rows * DIGEST_BYTES)
    this.#ids = new Uint8Array(rows * ID_BYTES)
    this.#into = { digests: viewOf(this.#digests), ids: viewOf(this.#ids) }
  }

  /** `row`: its index among all rows. */
  take(facts: SoundFacts, row: number): void {
    if (row !== this.#begin.row + this.#sound - this.#begin.sound) this.#end(row)
    const link = this.#grown(facts, row)
    const at = this.#sound
    this.#places[at] = link.place
    packDigest(facts.digest, this.#into.digests, at * DIGEST_BYTES)
    packId(facts.id, this.#into.ids, at * ID_BYTES)
    if (facts.behindClock) link.behindClock += 1
    link.lastRow = at
    this.#sound += 1
  }

  columns(): Columns {
    this.#end(0)
    return {
      pieces: this.#pieces,
      linkNumbers: this.#linkNumbers,
      linkTexts: this.#linkTexts,
      streams: [...this.#streams.keys()],
      tenants: this.#tenants,
      places: this.#places,
      digests: this.#digests,
      ids: this.#ids,
    }
  }

  #grown(facts: SoundFacts, row: number): Growing {
    // Events of one stream are mostly adjacent.
    const known = this.#last?.first.stream === facts.stream ? this.#last : this.#links.get(facts.stream)
    if (known === undefined) return this.#started(facts)
    if (!continues(known, facts)) {
      // The judging thread has to report the fault: the piece ends before this row.
      this.#end(row)
      return this.#started(facts)
    }
    known.next += 1
    known.digest = facts.digest
    known.time = facts.time
    known.ringIndex = facts.ringIndex
    known.events += 1
    this.#last = known
    return known
  }

  #started(facts: SoundFacts): Growing {
    const { revision, digest, time, ringIndex } = facts
    const started = {
      place: this.#links.size,
      first: facts,
      next: revision + 1,
      digest,
      digestKnown: true,
      time,
      ringIndex,
      events: 1,
      behindClock: 0,
      lastRow: this.#sound,
    }
    this.#links.set(facts.stream, started)
    this.#last = started
    return started
  }

  /** Ends the current piece; the next one begins at this row. */
  #end(row: number): void {
    const { row: first, sound } = this.#begin
    if (this.#sound > sound) this.#pieces.push(first, this.#sound - sound, this.#links.size)
    for (const { first: of, time, ringIndex, events, behindClock, lastRow } of this.#links.values()) {
      const { revision, prev = '' } = of
      this.#linkNumbers.push(this.#placeOf(of), events, behindClock, revision, of.ringIndex, ringIndex, lastRow)
      this.#linkTexts.push(prev, of.time, time)
    }
    this.#links.clear()
    this.#last = undefined
    this.#begin = { row, sound: this.#sound }
  }

  #placeOf({ stream, tenant }: SoundFacts): number {
    const known = this.#streams.get(stream)
    if (known !== undefined) return known
    this.#streams.set(stream, this.#tenants.length)
    return this.#tenants.push(tenant) - 1
  }
}

/** The checked rows as items, in order. `at` reads the row at a position again. */
export function itemsOf(rows: LookedRows, at: (position: string) => PlacedRecord | SourceFault): SourceItem[] {
  const items: SourceItem[] = []
  const { after, others, pieces } = rows
  const reading = { link: 0, sound: 0 }
  let other = 0
  for (let piece = 0; piece < pieces.length; piece += PIECE_NUMBERS) {
    const [first = 0, count = 0, links = 0] = pieces.slice(piece, piece + PIECE_NUMBERS)
    for (; (others[other]?.at ?? first) < first; other += 1) items.push((others[other] as Other).item)
    const position = after + 1 + first
    items.push({ ...soundRows(rows, reading, count, links), position, reread: () => reread(position, count, at) })
    reading.link += links
    reading.sound += count
  }
  for (; other < others.length; other += 1) items.push((others[other] as Other).item)
  return items
}

type Other = LookedRows['others'][number]

function* reread(
  position: number,
  count: number,
  at: (position: string) => PlacedRecord | SourceFault,
): Generator<PlacedRecord | SourceFault> {
  for (let row = 0; row < count; row += 1) yield at(String(position + row))
}

function soundRows(
  rows: LookedRows,
  { link, sound }: { readonly link: number; readonly sound: number },
  count: number,
  links: number,
): Omit<SoundRows, 'position' | 'reread'> {
  const { places, digests, ids } = rows
  return {
    sound: true,
    count,
    links: Array.from({ length: links }, (_, at) => linkOf(rows, link + at)),
    places: places.subarray(sound, sound + count),
    digests: digests.subarray(sound * DIGEST_BYTES, (sound + count) * DIGEST_BYTES),
    ids: ids.subarray(sound * ID_BYTES, (sound + count) * ID_BYTES),
  }
}

function linkOf({ linkNumbers, linkTexts, streams, tenants, digests }: LookedRows, link: number): SoundLink {
  const numbers = link * LINK_NUMBERS
  const texts = link * LINK_TEXTS
  const place = linkNumbers[numbers] ?? -1
  const prev = linkTexts[texts]
  return {
    stream: streams[place] ?? '',
    tenant: tenants[place] ?? '',
    events: linkNumbers[numbers + 1] ?? 0,
    behindClock: linkNumbers[numbers + 2] ?? 0,
    revision: linkNumbers[numbers + 3] ?? -1,
    prev: prev === '' ? undefined : prev,
    time: linkTexts[texts + 1] ?? '',
    ringIndex: linkNumbers[numbers + 4] ?? -1,
    lastTime: linkTexts[texts + 2] ?? '',
    lastRingIndex: linkNumbers[numbers + 5] ?? -1,
    digest: digestAt(digests, (linkNumbers[numbers + 6] ?? 0) * DIGEST_BYTES),
  }
}
