/** @module The history as events: of a run, of a tenant, and live. */
import { parseStream, runStream } from '../../../schemas/names.ts'
import { ofAllAgents, ofWholeTenant, withinRun } from '../../access/check-access.ts'
import type { Pace } from '../../resources/work-queue.ts'
import type { EventStore, Position, ReadRecord } from '../../store/event-store.ts'
import { pacedPages } from '../../store/paced-pages.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Caller, Found, Ledger } from '../ledger.ts'
import type { LedgerEvent } from '../ledger-event.ts'
import { keptIn } from '../subjects/kept-values.ts'
import type { SubjectKeys } from '../subjects/subject-keys.ts'
import type { Queries } from './queries.ts'
import { shownEvent } from './record-seal.ts'

export type HistoryQueries = Pick<
  Ledger,
  'runEvents' | 'tenantEvents' | 'tail' | 'eventAt' | 'end' | 'comparePositions'
>

export interface HistoryDeps {
  readonly sealer: Sealer
  readonly subjects: SubjectKeys | undefined
}

/** Contained in the text of every event that holds encrypted values. */
const ENCRYPTED = '"$enc":'

export class History implements HistoryQueries {
  readonly #store: EventStore
  readonly #queries: Queries
  readonly #shown: (record: ReadRecord) => LedgerEvent
  /** An event with its decrypted values: only for callers that may read bodies, and never stored. */
  readonly #readable: (record: ReadRecord) => LedgerEvent

  constructor(store: EventStore, queries: Queries, { sealer, subjects }: HistoryDeps) {
    this.#store = store
    this.#queries = queries
    this.#shown = (record) => shownEvent(sealer, record)
    this.#readable = (record) => {
      const event = this.#shown(record)
      if (!record.data.includes(ENCRYPTED) || event.seal === 'invalid') return event
      const kept = keptIn(subjects, event)
      return kept === undefined ? event : Object.assign(event, { kept })
    }
  }

  async runEvents(
    caller: Caller,
    runId: string,
    range: { from: number; to?: number; kept?: true },
  ): Promise<Found<AsyncIterable<readonly LedgerEvent[]>>> {
    const found = await this.#queries.read(caller, runId, () => ({}))
    if (!found.ok) return found
    const to = Math.min(range.to ?? found.revision, found.revision)
    const pages = this.#store.readStream(runStream(caller.tenant, runId), { from: range.from, to })
    return { ok: true, revision: found.revision, value: this.#pages(pages, caller.pace, range.kept && this.#readable) }
  }

  tenantEvents(caller: Caller, range: { after?: Position; until?: Position }): AsyncIterable<readonly LedgerEvent[]> {
    const outside = ofWholeTenant(caller)
    if (outside !== undefined) throw new RangeError(outside.detail)
    const { after, until } = range
    return this.#pages(this.#store.readAll({ after, until, tenant: caller.tenant }), caller.pace)
  }

  async *tail(
    caller: Caller,
    from: { runId?: string; after?: Position; kept?: true },
    signal: AbortSignal,
  ): AsyncGenerator<readonly LedgerEvent[] | 'caught-up'> {
    const { runId, after } = from
    const shown = from.kept ? this.#readable : this.#shown
    if (withinRun(caller, runId) !== undefined) return
    if (runId === undefined && ofAllAgents(caller) !== undefined) return
    const stream = runId === undefined ? undefined : runStream(caller.tenant, runId)
    // The earlier history of a run is read from its own stream, so that the history of the whole tenant need not be read for it.
    const end = stream === undefined || after !== undefined ? undefined : await this.#store.end()
    if (stream !== undefined && end !== undefined) yield* this.#runUntil(stream, { end, pace: caller.pace, shown })
    for await (const page of this.#store.subscribe({ after: end ?? after, tenant: caller.tenant }, signal)) {
      if (page === 'caught-up') {
        yield page
        continue
      }
      await caller.pace?.turn()
      const own = stream === undefined ? page : page.filter((record) => record.stream === stream)
      if (own.length > 0) yield own.map(shown)
    }
  }

  async *#runUntil(
    stream: string,
    { end, pace, shown }: { end: Position; pace: Pace | undefined; shown: (record: ReadRecord) => LedgerEvent },
  ): AsyncGenerator<readonly LedgerEvent[]> {
    for await (const page of pacedPages(this.#store.readStream(stream), pace)) {
      const known = page.filter((record) => this.#store.comparePositions(record.position, end) <= 0)
      if (known.length > 0) yield known.map(shown)
      if (known.length < page.length) return
    }
  }

  async eventAt(caller: Caller, position: Position): Promise<LedgerEvent | undefined> {
    const record = await this.#store.recordAt(position)
    const place = record && parseStream(record.stream)
    if (record === undefined || place?.tenant !== caller.tenant || place.kind === 'value') return undefined
    return this.#shown(record)
  }

  end(): Promise<Position | undefined> {
    return this.#store.end()
  }

  comparePositions(a: Position, b: Position): number {
    return this.#store.comparePositions(a, b)
  }

  async *#pages(
    pages: AsyncIterable<readonly ReadRecord[]>,
    pace: Pace | undefined,
    shown = this.#shown,
  ): AsyncGenerator<readonly LedgerEvent[]> {
    for await (const page of pacedPages(pages, pace)) yield page.map(shown)
  }
}
