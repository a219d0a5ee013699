/**
 * @module Who read what (LOG-20): one entry a read, one event for all reads of a moment, in `access-<tenant>.<writer>`, a
 * stream that this process alone writes. A read is answered when its entry is durable, and not at all where it cannot be.
 */
import { ACCESS_ENTRIES_MAX, type AccessEntry } from '../../../schemas/events/access-recorded.ts'
import { accessStream } from '../../../schemas/names.ts'
import { type AccessRead, recordedFilters } from '../../access/on-record.ts'
import { type Expectation, firstExpectation } from '../../signing/check.ts'
import { type Append, type EventStore, StoreUnavailableError } from '../../store/event-store.ts'
import { sealFact } from '../identity/append-fact.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Caller } from '../ledger.ts'
import type { Effects } from '../ports.ts'

/** Reads of so long share one event. */
const TOGETHER_MS = 100
/** Entries of one event, as JSON: far below what any store takes in one write. */
const EVENT_MAX_CHARS = 256 * 1024
const RETRY_MS = 1_000

export interface AccessLogDeps {
  readonly store: Pick<EventStore, 'append' | 'readStream'>
  readonly sealer: Sealer
  readonly effects: Effects
  /** UUID of this process's start. */
  readonly writer: string
}

interface Waiting {
  readonly entry: AccessEntry
  readonly recorded: () => void
  readonly failed: (error: unknown) => void
}

interface TenantWriter {
  readonly tenant: string
  at: Expectation
  readonly waiting: Waiting[]
  writing: Promise<void> | undefined
}

export class AccessLog implements AsyncDisposable {
  readonly #deps: AccessLogDeps
  readonly #writers = new Map<string, TenantWriter>()

  constructor(deps: AccessLogDeps) {
    this.#deps = deps
  }

  /** Resolves when the read is on record. Throws `StoreUnavailableError` where it cannot be put there now. */
  record(caller: Caller, read: AccessRead): Promise<void> {
    const writer = this.#writer(caller.tenant)
    const entry = entryOf(caller, read, new Date(this.#deps.effects.nowMs()).toISOString())
    return new Promise((recorded, failed) => {
      writer.waiting.push({ entry, recorded, failed })
      this.#start(writer)
    })
  }

  #start(writer: TenantWriter): void {
    writer.writing ??= this.#write(writer).finally(() => {
      writer.writing = undefined
      // One that was told of its record asked again before this.
      if (writer.waiting.length > 0) this.#start(writer)
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const writer of this.#writers.values()) while (writer.writing !== undefined) await writer.writing
  }

  #writer(tenant: string): TenantWriter {
    const known = this.#writers.get(tenant)
    if (known !== undefined) return known
    const at = firstExpectation(accessStream(tenant, this.#deps.writer))
    const writer: TenantWriter = { tenant, at, waiting: [], writing: undefined }
    this.#writers.set(tenant, writer)
    return writer
  }

  async #write(writer: TenantWriter): Promise<void> {
    await this.#deps.effects.sleep(TOGETHER_MS)
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
    const { tenant, at } = writer
    const data = { v: 1, entries: JSON.parse(JSON.stringify(entries)) }
    const { append, next } = sealFact(this.#deps, { tenant, type: 'AccessRecorded', data, at })
    const result = await this.#deps.store.append(append)
    if (result.kind === 'appended' || (await this.#wasWritten(append))) {
      writer.at = next
      return
    }
    const retryAfterMs = result.kind === 'unavailable' ? result.retryAfterMs : RETRY_MS
    throw new StoreUnavailableError(`the read cannot be put on record now (${result.kind})`, retryAfterMs)
  }

  /** After a lost answer, or another's event in its place: what stands there now is told by its text, mac and all. */
  async #wasWritten({ stream, expectedRevision, records }: Append): Promise<boolean> {
    const revision = expectedRevision + 1
    for await (const page of this.#deps.store.readStream(stream, { from: revision, to: revision })) {
      return page[0]?.header === records[0]?.header
    }
    return false
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
