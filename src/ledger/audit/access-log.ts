/**
 * @module The access log (LOG-20): one entry per read, and one event for all reads within a short interval, in `access-<tenant>.<writer>`, a stream
 * that only this process writes. A read is answered once its entry is durable, and is not answered if it cannot be recorded.
 */

import { ACCESS_ENTRIES_MAX, type AccessEntry, accessVersion } from '../../../schemas/events/access-recorded.ts'
import { parseJson } from '../../../schemas/json.ts'
import { accessStream } from '../../../schemas/names.ts'
import { type AccessRead, recordedFilters } from '../../access/audit-trail.ts'
import type { MemoryBudget } from '../../resources/memory-budget.ts'
import { weigh } from '../../resources/memory-budget.ts'
import { OverloadedError } from '../../resources/overloaded-error.ts'
import { textBytes } from '../../resources/sized-cache.ts'
import { type Expectation, firstExpectation } from '../../signing/check.ts'
import { type EventStore, NO_STREAM, StoreUnavailableError } from '../../store/event-store.ts'
import { wasWritten } from '../../store/was-written.ts'
import { sealFact } from '../identity/append-fact.ts'
import { NotOnRecordError } from '../identity/ledger-facts.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Caller } from '../ledger.ts'
import type { Effects } from '../ports.ts'
import { type KnownEnd, refuseLostEnd } from '../read/lost-end.ts'
import { expectedNext } from '../read/verified-events.ts'

/** Interval between two events of a tenant, in milliseconds; the reads in between share one event. */
const TOGETHER_MS = 100
/** Maximum size of the entries of one event as JSON, in characters: far below the limit of any store for one write. */
const EVENT_MAX_CHARS = 256 * 1024
const RETRY_MS = 1_000
/** Estimated bytes of a tenant's writer. Half of the memory share is for writers, the other half for waiting reads. */
const WRITER_BYTES = 1_024

export interface AccessLogDeps {
  readonly store: Pick<EventStore, 'append' | 'head' | 'readStream'>
  readonly sealer: Sealer
  readonly effects: Effects
  readonly memory: MemoryBudget
  /** UUID of this start of the process. */
  readonly writer: string
  /** What the log knows of a stream; absent if no log is kept. */
  readonly knownHead?: KnownEnd | undefined
}

interface Waiting {
  readonly entry: AccessEntry
  readonly recorded: () => void
  readonly failed: (error: unknown) => void
}

interface TenantWriter {
  readonly tenant: string
  /** Undefined until it is read from the store: this process may have written the stream before, and evicted its state. */
  at: Expectation | undefined
  readonly waiting: Waiting[]
  writing: Promise<void> | undefined
  /** When the next event may be written, by `monotonicMs`; at once after a pause. */
  dueMs: number
}

export class AccessLog implements AsyncDisposable {
  readonly #deps: AccessLogDeps
  /** Least recently used first. */
  readonly #writers = new Map<string, TenantWriter>()
  readonly #writersMax: number

  constructor(deps: AccessLogDeps) {
    this.#deps = deps
    const { memory } = deps
    this.#writersMax = Math.max(1, Math.floor(memory.limitOf('access') / 2 / WRITER_BYTES))
    memory.watch('access', () => this.#writers.size * WRITER_BYTES)
  }

  /** Resolves once the read is recorded. Throws `NotOnRecordError` if it cannot be recorded now, and `OverloadedError` if too many reads are waiting. */
  record(caller: Caller, read: AccessRead): Promise<void> {
    return this.recordEntry(caller.tenant, entryOf(caller, read, new Date(this.#deps.effects.nowMs()).toISOString()))
  }

  /** Records an entry that has already been built. */
  async recordEntry(tenant: string, entry: AccessEntry): Promise<void> {
    const account = this.#deps.memory.account('access')
    // Counted twice: as a waiting entry, and as part of the text of its event.
    const release = account.take(2 * (weigh(entry) + textBytes(tenant)), tenant)
    if (release === undefined) throw new OverloadedError('too many reads wait to be recorded', RETRY_MS)
    try {
      await new Promise<void>((recorded, failed) => {
        const writer = this.#writer(tenant)
        writer.waiting.push({ entry, recorded, failed })
        this.#start(writer)
      })
    } finally {
      release()
    }
  }

  #start(writer: TenantWriter): void {
    writer.writing ??= this.#write(writer).finally(() => {
      writer.writing = undefined
      // A caller notified of its record may have added another entry before this point.
      if (writer.waiting.length > 0) this.#start(writer)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const writer of this.#writers.values()) while (writer.writing !== undefined) await writer.writing
  }

  #writer(tenant: string): TenantWriter {
    const writer = this.#writers.get(tenant) ?? { tenant, at: undefined, waiting: [], writing: undefined, dueMs: 0 }
    this.#writers.delete(tenant)
    this.#writers.set(tenant, writer)
    for (const [name, oldest] of this.#writers) {
      if (this.#writers.size <= this.#writersMax) break
      if (oldest !== writer && oldest.writing === undefined && oldest.waiting.length === 0) this.#writers.delete(name)
    }
    return writer
  }

  /** The state of the stream that its next event has to continue. */
  async #placeOf(tenant: string): Promise<Expectation> {
    const { store, sealer } = this.#deps
    const stream = accessStream(tenant, this.#deps.writer)
    const head = await store.head(stream)
    await refuseLostEnd(this.#deps, stream, head)
    if (head === NO_STREAM) return firstExpectation(stream)
    for await (const [record] of store.readStream(stream, { from: head, to: head })) {
      if (record !== undefined) return expectedNext(sealer, record)
    }
    throw new StoreUnavailableError(`${stream} @ ${head} cannot be read`, RETRY_MS)
  }

  async #write(writer: TenantWriter): Promise<void> {
    const { monotonicMs, sleep } = this.#deps.effects
    // Sleeps even if the event is due, so that reads made in the same turn share it.
    await sleep(Math.min(TOGETHER_MS, Math.max(0, writer.dueMs - monotonicMs())))
    writer.dueMs = monotonicMs() + TOGETHER_MS
    while (writer.waiting.length > 0) {
      const group = takeGroup(writer.waiting)
      try {
        await this.#append(
          writer,
          group.map(({ entry }) => entry),
        )
        for (const { recorded } of group) recorded()
      } catch (error) {
        for (const { failed } of group) failed(error)
      }
    }
  }

  async #append(writer: TenantWriter, entries: readonly AccessEntry[]): Promise<void> {
    const { tenant } = writer
    writer.at ??= await this.#placeOf(tenant)
    const { at } = writer
    const data = { v: accessVersion(entries), entries: parseJson(JSON.stringify(entries)) }
    const { append, next } = sealFact(this.#deps, { tenant, type: 'AccessRecorded', data, at })
    const result = await this.#deps.store.append(append)
    if (result.kind === 'appended' || (await wasWritten(this.#deps.store, append))) {
      writer.at = next
      return
    }
    // The current head of the stream is looked up before the next append.
    writer.at = undefined
    const retryAfterMs = result.kind === 'unavailable' ? result.retryAfterMs : RETRY_MS
    throw new NotOnRecordError(`the read cannot be recorded now (${result.kind})`, retryAfterMs)
  }
}

function takeGroup(waiting: Waiting[]): readonly Waiting[] {
  let chars = 0
  const over = waiting.findIndex(({ entry }, at) => {
    chars += JSON.stringify(entry).length
    return at === ACCESS_ENTRIES_MAX || (at > 0 && chars > EVENT_MAX_CHARS)
  })
  return waiting.splice(0, over < 0 ? waiting.length : over)
}

function entryOf({ actor, principal, via }: Caller, { filters, ...read }: AccessRead, at: string): AccessEntry {
  const recorded = recordedFilters(filters)
  return {
    at,
    actor,
    ...(principal !== undefined && { principal }),
    ...(via !== undefined && { via: [...via] }),
    ...read,
    ...(Object.keys(recorded).length > 0 && { filters: recorded }),
  }
}
