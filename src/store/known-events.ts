/**
 * @module What a process was told of as durable, and which of its store's answers contradict that. Pure: an answer is compared with what was known
 * when the question was asked, since more may be known by the time it is answered.
 */
import type { Append, AppendResult, Position, ReadRecord } from './event-store.ts'

/** An event that was acknowledged to this process, or read by it. */
export interface KnownEvent {
  readonly stream: string
  readonly revision: number
  readonly position: Position
  readonly id: string
}

/** What was known when a question was asked. */
export interface KnownBefore {
  /** The event at the highest position. */
  readonly last: KnownEvent | undefined
  /** The highest revision of the stream in question. */
  readonly head: KnownEvent | undefined
}

/** Of a canonical header: no member before it holds another id. */
const ID = /"id":"([0-9a-f-]{36})"/

type Compare = (a: Position, b: Position) => number

/** Streams whose head is remembered, the latest ones. Of all others the last event of all is known. */
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

  /** An event whose seal holds. */
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

  /** What a server lets go of on purpose is no sign of an older store. The last event of all is then one of another stream. */
  forget(stream: string): void {
    this.#heads.delete(stream)
    if (this.#last?.stream !== stream) return
    this.#last = undefined
    for (const event of this.#heads.values()) if (this.isBeyond(event.position)) this.#last = event
  }
}

/**
 * Whether the record at a known event's place is that event. One whose header was altered and still names it is: its seal says the rest, and
 * the store did not go backwards.
 */
export function isSameEvent(found: ReadRecord | undefined, { id }: Pick<KnownEvent, 'id'>): boolean {
  return found?.header.includes(id) === true
}

/** Each function gives the known event that the answer leaves no room for; undefined where the answer fits. */
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

/** Positions of one server grow: what was written after an event is known to be there lies behind it. */
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
