/**
 * @module The events that were acknowledged to a process as durable, and the detection of store answers that contradict them. Free of I/O: an answer is
 * compared with what was known when the request was sent, since more may be known when the answer arrives.
 */
import type { Append, AppendResult, Position, ReadRecord } from './event-store.ts'

/** An event that was acknowledged to this process, or read by it. */
export interface KnownEvent {
  readonly stream: string
  readonly revision: number
  readonly position: Position
  readonly id: string
}

/** What was known when a request was sent. */
export interface KnownBefore {
  /** The event at the highest position. */
  readonly last: KnownEvent | undefined
  /** The highest known revision of the stream in question. */
  readonly head: KnownEvent | undefined
}

/** Matches the id in a canonical header: no earlier member contains another id. */
const ID = /"id":"([0-9a-f-]{36})"/

type Compare = (a: Position, b: Position) => number

/** Maximum number of streams whose head is remembered; the most recent are kept. For other streams only the globally last event is known. */
const STREAMS_MAX = 1_024

export class KnownEvents {
  readonly #compare: Compare
  readonly #heads = new Map<string, KnownEvent>()
  #last: KnownEvent | undefined

  constructor(compare: Compare) {
    this.#compare = compare
  }

  get last(): KnownEvent | undefined {
    return this.#last
  }

  before(stream: string): KnownBefore {
    return { last: this.#last, head: this.#heads.get(stream) }
  }

  appended({ stream, expectedRevision, records }: Append, position: Position): void {
    const id = records.at(-1)?.id
    if (id !== undefined) this.#see({ stream, revision: expectedRevision + records.length, position, id })
  }

  /** Takes an event whose seal was verified. */
  read({ stream, revision, position, header }: ReadRecord): void {
    const id = ID.exec(header)?.[1]
    if (id !== undefined) this.#see({ stream, revision, position, id })
  }

  isBeyond(position: Position): boolean {
    return this.#last === undefined || this.#compare(position, this.#last.position) > 0
  }

  #see(event: KnownEvent): void {
    if (this.isBeyond(event.position)) this.#last = event
    const { stream, revision } = event
    if (revision < (this.#heads.get(stream)?.revision ?? -1)) return
    this.#heads.delete(stream)
    this.#heads.set(stream, event)
    if (this.#heads.size <= STREAMS_MAX) return
    for (const oldest of this.#heads.keys()) {
      this.#heads.delete(oldest)
      return
    }
  }

  /** Forgets a stream that the server drops on purpose, which is no sign of an older store. The globally last event is then one of another stream. */
  forget(stream: string): void {
    this.#heads.delete(stream)
    if (this.#last?.stream !== stream) return
    this.#last = undefined
    for (const event of this.#heads.values()) if (this.isBeyond(event.position)) this.#last = event
  }
}

/**
 * Whether the record at a known event's position is that event. A record with an altered header that still contains the id counts as the same: the seal
 * check detects the change, and the store did not go backwards.
 */
export function isSameEvent(found: ReadRecord | undefined, { id }: Pick<KnownEvent, 'id'>): boolean {
  return found?.header.includes(id) === true
}

/** Each of these functions returns the known event that contradicts the answer; undefined if the answer is consistent. */
export function contradictedByHead({ head }: KnownBefore, revision: number): KnownEvent | undefined {
  return head !== undefined && revision < head.revision ? head : undefined
}

export function contradictedByEnd(
  { last }: Pick<KnownBefore, 'last'>,
  end: Position | undefined,
  compare: Compare,
): KnownEvent | undefined {
  if (last === undefined) return undefined
  return end === undefined || compare(end, last.position) < 0 ? last : undefined
}

/** Positions of one server increase: an event written after another is known has a higher position. */
export function contradictedByAppend(
  before: KnownBefore,
  { expectedRevision }: Append,
  result: AppendResult,
  compare: Compare,
): KnownEvent | undefined {
  if (result.kind === 'conflict') return contradictedByHead(before, result.actual)
  if (result.kind !== 'appended') return undefined
  const { last } = before
  const isBehind = last !== undefined && compare(result.position, last.position) <= 0
  return contradictedByHead(before, expectedRevision) ?? (isBehind ? last : undefined)
}
