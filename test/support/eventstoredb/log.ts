/**
 * @module What an EventStoreDB node keeps and decides, in memory: streams, the global log, expected revisions, idempotency, soft deletes
 * and tombstones. As the real server it compares the ids of a repeated append and never its content.
 */

export interface LoggedEvent {
  readonly id: string
  readonly stream: string
  readonly revision: bigint
  readonly type: string
  readonly contentType: string
  readonly data: Uint8Array
  readonly metadata: Uint8Array
  readonly position: bigint
  readonly createdMs: number
}

export type ProposedEvent = Pick<LoggedEvent, 'id' | 'type' | 'contentType' | 'data' | 'metadata'>

export type Expected = bigint | 'any' | 'no-stream' | 'stream-exists'

export type LogResult =
  | { readonly kind: 'appended'; readonly revision: bigint; readonly position: bigint }
  /** `actual` undefined: there is no stream. */
  | { readonly kind: 'wrong-revision'; readonly actual: bigint | undefined }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'too-large' }

/** The server's default: over all events of one append, data, metadata and two bytes a character of the type. */
export const MAX_APPEND_BYTES = 1_048_576
/** The revision of a tombstone, and the `$tb` of a soft delete. */
export const LAST_REVISION = 9_223_372_036_854_775_807n
const FIRST_POSITION = 512n
const EMPTY = new Uint8Array(0)

interface Stream {
  readonly events: LoggedEvent[]
  tombstoned: boolean
  /** First revision that the last scavenge left. */
  scavenged?: number
}

export class EventLog {
  readonly all: LoggedEvent[] = []
  readonly #streams = new Map<string, Stream>()
  /** Ids the node remembers; a real one forgets the oldest, and all of them when it restarts. */
  readonly #ids = new Map<string, LoggedEvent>()
  readonly #listeners = new Set<() => void>()
  /** By position. They keep their index in all lists, which readers count by. */
  readonly #lost = new Set<bigint>()
  #nextPosition = FIRST_POSITION

  onAppended(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Of another node, with the same content. */
  copy(): EventLog {
    const copied = new EventLog()
    copied.all.push(...this.all)
    for (const [name, { events, ...stream }] of this.#streams)
      copied.#streams.set(name, { ...stream, events: [...events] })
    for (const [id, event] of this.#ids) copied.#ids.set(id, event)
    for (const position of this.#lost) copied.#lost.add(position)
    copied.#nextPosition = this.#nextPosition
    return copied
  }

  forgetIds(): void {
    this.#ids.clear()
  }

  append(name: string, expected: Expected, proposed: readonly ProposedEvent[]): LogResult {
    if (appendBytes(proposed) > MAX_APPEND_BYTES) return { kind: 'too-large' }
    const stream = this.#streams.get(name)
    if (stream?.tombstoned === true) return { kind: 'deleted' }
    const actual = stream === undefined || stream.events.length === 0 ? undefined : BigInt(stream.events.length - 1)
    const judged = this.#judge(name, { expected, actual, proposed })
    if (judged !== undefined) return judged

    if (this.isSoftDeleted(name)) this.#write(`$$${name}`, [metadataEvent(`{"$tb":${(actual ?? -1n) + 1n}}`)])
    return this.#write(name, proposed)
  }

  /** Undefined: it may be written. */
  #judge(
    name: string,
    {
      expected,
      actual,
      proposed,
    }: { expected: Expected; actual: bigint | undefined; proposed: readonly ProposedEvent[] },
  ): LogResult | undefined {
    const wrong: LogResult = { kind: 'wrong-revision', actual }
    if (expected === 'any' || expected === 'stream-exists') {
      if (expected === 'stream-exists' && actual === undefined) return wrong
      const known = proposed.map(({ id }) => this.#ids.get(id)).filter((event) => event?.stream === name)
      if (known.length === 0) return undefined
      return known.length === proposed.length ? repeated(known.at(-1)) : wrong
    }
    const [at, head] = [expected === 'no-stream' ? -1n : expected, actual ?? -1n]
    if (at > head) return wrong
    if (at === head || proposed.length === 0) return undefined
    if (expected === 'no-stream' && this.isSoftDeleted(name)) return undefined
    const there = this.#streams.get(name)?.events.slice(Number(at) + 1, Number(at) + 1 + proposed.length) ?? []
    const same = there.length === proposed.length && there.every(({ id }, index) => id === proposed[index]?.id)
    return same ? repeated(there.at(-1)) : wrong
  }

  #write(name: string, proposed: readonly ProposedEvent[]): LogResult {
    const stream = this.#streams.get(name) ?? { events: [], tombstoned: false }
    this.#streams.set(name, stream)
    for (const event of proposed) this.#add(stream, { ...event, stream: name, revision: BigInt(stream.events.length) })
    for (const listener of [...this.#listeners]) listener()
    const last = stream.events.at(-1)
    return { kind: 'appended', revision: last?.revision ?? 0n, position: last?.position ?? 0n }
  }

  #add(stream: Stream, event: Omit<LoggedEvent, 'position' | 'createdMs'>): void {
    const logged = { ...event, position: this.#nextPosition, createdMs: Date.now() }
    this.#nextPosition += BigInt(64 + event.data.length + event.metadata.length)
    stream.events.push(logged)
    this.all.push(logged)
    this.#ids.set(event.id, logged)
  }

  /** As an older copy that is put in its place: its last events are gone, and their places free. */
  rollBack(events: number): void {
    const gone = this.all.splice(-events)
    for (const { stream, id } of gone) {
      this.#streams.get(stream)?.events.pop()
      this.#ids.delete(id)
    }
    for (const [name, { events: left }] of this.#streams) if (left.length === 0) this.#streams.delete(name)
    this.#nextPosition = gone[0]?.position ?? this.#nextPosition
  }

  /** As in a chunk that somebody rewrote without this event: reads pass over its place, which stays taken. */
  lose({ position }: LoggedEvent): void {
    this.#lost.add(position)
  }

  isLost({ position }: LoggedEvent): boolean {
    return this.#lost.has(position)
  }

  putBack({ position }: LoggedEvent): void {
    this.#lost.delete(position)
  }

  /** As in a chunk that somebody rewrote with another content of this event. */
  alter(event: LoggedEvent, changed: Partial<Pick<LoggedEvent, 'data' | 'metadata'>>): void {
    const isIt = ({ position }: LoggedEvent): boolean => position === event.position
    for (const list of [this.all, this.#streams.get(event.stream)?.events ?? []]) {
      const at = list.findIndex(isIt)
      if (at >= 0) list[at] = { ...event, ...changed }
    }
  }

  /** The events that reads show; a string says why there is nothing to read. */
  visible(name: string): readonly LoggedEvent[] | 'missing' | 'deleted' {
    const stream = this.#streams.get(name)
    if (stream?.tombstoned === true) return 'deleted'
    if (stream === undefined || this.isSoftDeleted(name)) return 'missing'
    const { truncateBefore, maxCount } = this.#retention(name)
    const counted = maxCount === undefined ? 0 : stream.events.length - maxCount
    const first = Math.max(truncateBefore, counted, stream.scavenged ?? 0)
    const left = stream.events.slice(first)
    if (this.#lost.size === 0) return left
    const found = left.filter((event) => !this.isLost(event))
    return found.length === 0 && left.length > 0 ? 'missing' : found
  }

  /** The range of a long stream without a copy of all of it. */
  range(events: readonly LoggedEvent[], from: bigint, count: number): readonly LoggedEvent[] {
    const start =
      this.#lost.size === 0
        ? Math.max(Number(from - (events[0]?.revision ?? 0n)), 0)
        : events.filter(({ revision }) => revision < from).length
    return events.slice(start, start + count)
  }

  /** Drops for good what reads of streams hide already. The server keeps a stream's last event, or the mark of its deletion. */
  scavenge(): void {
    const kept = this.all.filter(({ stream, revision, type }) => {
      const events = this.#streams.get(stream)
      if (type === '$streamDeleted' || events?.events.at(-1)?.revision === revision) return true
      if (events?.tombstoned === true || this.isSoftDeleted(stream)) return false
      const visible = this.visible(stream)
      return typeof visible === 'string' || revision >= (visible[0]?.revision ?? 0n)
    })
    for (const [name, stream] of this.#streams) {
      const visible = this.visible(name)
      stream.scavenged = typeof visible === 'string' ? stream.events.length - 1 : Number(visible[0]?.revision ?? 0)
    }
    this.all.splice(0, this.all.length, ...kept)
  }

  isSoftDeleted(name: string): boolean {
    return this.#metadata(name).includes(`"$tb":${LAST_REVISION}`)
  }

  softDelete(name: string): bigint {
    const result = this.#write(`$$${name}`, [metadataEvent(`{"$tb":${LAST_REVISION}}`)])
    return result.kind === 'appended' ? result.position : 0n
  }

  tombstone(name: string): bigint {
    const stream = this.#streams.get(name) ?? { events: [], tombstoned: false }
    this.#streams.set(name, stream)
    const mark = { ...metadataEvent(''), type: '$streamDeleted', stream: name, revision: LAST_REVISION }
    this.#add(stream, mark)
    stream.tombstoned = true
    for (const listener of [...this.#listeners]) listener()
    return this.all.at(-1)?.position ?? 0n
  }

  #metadata(name: string): string {
    if (name.startsWith('$$')) return ''
    const last = this.#streams.get(`$$${name}`)?.events.at(-1)
    return last === undefined ? '' : Buffer.from(last.data).toString('utf8')
  }

  #retention(name: string): { readonly truncateBefore: number; readonly maxCount: number | undefined } {
    const text = this.#metadata(name)
    const number = (key: string): number | undefined => {
      const found = new RegExp(`"\\$${key}":(\\d+)`).exec(text)?.[1]
      return found === undefined ? undefined : Number(found)
    }
    return { truncateBefore: number('tb') ?? 0, maxCount: number('maxCount') }
  }
}

function repeated(last: LoggedEvent | undefined): LogResult {
  return { kind: 'appended', revision: last?.revision ?? 0n, position: last?.position ?? 0n }
}

function appendBytes(proposed: readonly ProposedEvent[]): number {
  return proposed.reduce((sum, { data, metadata, type }) => sum + data.length + metadata.length + 2 * type.length, 0)
}

function metadataEvent(text: string): ProposedEvent {
  const data = Buffer.from(text)
  return { id: crypto.randomUUID(), type: '$metadata', contentType: 'application/json', data, metadata: EMPTY }
}
