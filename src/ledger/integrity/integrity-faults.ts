/**
 * @module Events that do not verify, from all readers: logged once, counted, and recorded as IntegrityFaultFound, once per place (LOG-24). Lists and
 * pages read them from the views, which follow these events.
 */
import { ledgerStream, SYSTEM_TENANT } from '../../../schemas/names.ts'
import type { KeyRing } from '../../signing/key-ring.ts'
import { streamTenant } from '../../signing/stream-tenant.ts'
import { type EventStore, readOne } from '../../store/event-store.ts'
import type { FaultRow, ViewStore } from '../../store/view-store.ts'
import type { LedgerFacts } from '../identity/ledger-facts.ts'
import type { Sealer, SealFault } from '../identity/sealer.ts'
import type { Log } from '../ports.ts'
import { sealFaults } from '../read/record-seal.ts'
import type { RunList } from '../read/run-list.ts'
import { faultsOnRecord, runListReached } from '../read/run-list-projection.ts'

/** Maximum number recorded per tenant: if more is broken, the store has to be restored, and a longer list would not help. */
const ON_RECORD_MAX = 1_000
/** Maximum number that is read, of all tenants. */
const ROWS_MAX = 100_000
/** Maximum number of places that a process remembers as examined. */
const KNOWN_MAX = 10_000
/** A key that this process does not know may come with the next key file: such a fault is reported and not recorded. */
const NOT_YET_KNOWN = 'unknown-key'

export interface IntegrityDeps {
  readonly store: EventStore
  readonly views: ViewStore
  readonly list: RunList
  readonly sealer: Sealer
  readonly facts: LedgerFacts
  readonly log: Log
  /** The store belongs to another writer: faults are logged, and named for as long as this process runs. */
  readonly readOnly: boolean
  /** Current time: RFC 3339, UTC. */
  readonly now: () => string
}

export class IntegrityFaults {
  readonly #deps: IntegrityDeps
  readonly #known = new Set<string>()
  /** When this process last met each fault: a fault that recurs is no longer considered as repaired. */
  readonly #metAt = new Map<string, string>()
  /** Faults that no event can record, known to this process only. With `ring`: the key was not in it, so the fault counts until a newer key file has the key. */
  readonly #unrecorded = new Map<string, { readonly row: FaultRow; readonly ring: KeyRing | undefined }>()
  /** Faults that were met and are neither recorded nor past yet: what is answered meanwhile names them. */
  readonly #pending = new Map<string, FaultRow>()
  #rows: readonly FaultRow[] = []
  #rowsOf: number | undefined
  #last: Promise<void> = Promise.resolve()

  constructor(deps: IntegrityDeps) {
    this.#deps = deps
    deps.sealer.onFault((fault) => this.#read(fault))
  }

  /** Recorded faults of a tenant or of one of its streams. */
  onRecord({ tenant, stream }: { readonly tenant?: string; readonly stream?: string }): readonly FaultRow[] {
    return this.#all().filter((row) => (tenant ?? row.tenant) === row.tenant && (stream ?? row.stream) === row.stream)
  }

  #all(): readonly FaultRow[] {
    const recorded = this.#recorded()
    if (this.#unrecorded.size + this.#pending.size === 0) return recorded
    const there = new Set(recorded.map(placeOf))
    const { ring } = this.#deps.sealer
    const others = [...this.#unrecorded.values()].filter((each) => each.ring === undefined || each.ring === ring)
    const rows = new Map([...others.map(({ row }) => row), ...this.#pending.values()].map((row) => [placeOf(row), row]))
    return [...recorded, ...[...rows.values()].filter((row) => !there.has(placeOf(row)))]
  }

  /** Cached until the views have added faults, because every page asks for them. */
  #recorded(): readonly FaultRow[] {
    const { list, views } = this.#deps
    const { faultsSeen } = list
    if (this.#rowsOf === faultsSeen) return this.#rows
    try {
      this.#rows = views.faults({ limit: ROWS_MAX })
      this.#rowsOf = faultsSeen
    } catch (error) {
      this.#deps.log.warn(
        { err: error },
        'which events are recorded as broken could not be read: what was known still counts',
      )
    }
    return this.#rows
  }

  /** When a recorded fault was last met, as far as this process knows; RFC 3339, UTC. */
  metAt(row: FaultRow): string {
    const met = this.#metAt.get(placeOf(row)) ?? ''
    return met.localeCompare(row.foundAt) > 0 ? met : row.foundAt
  }

  /** Resolves once every fault found so far is recorded, or could not be. */
  settled(): Promise<void> {
    return this.#last
  }

  /** A fault met by a reader: the event is read once more, because a bit that flipped in transit is not in the store. */
  #read(fault: SealFault): void {
    this.#once(fault, async () => {
      if (await this.#isStillThere(fault)) await this.#take(fault, 'read')
    })
  }

  /** A fault confirmed by the scrub. Resolves as `settled`. */
  confirmed(fault: SealFault): Promise<void> {
    this.#once(fault, () => this.#take(fault, 'scrub'))
    return this.#last
  }

  #once(fault: SealFault, work: () => Promise<void>): void {
    const place = placeOf(fault)
    if (this.#metAt.has(place) || this.#metAt.size < KNOWN_MAX) this.#metAt.set(place, this.#deps.now())
    if (this.#known.has(place) || this.#known.size >= KNOWN_MAX) return
    this.#known.add(place)
    const { stream, revision, code } = fault
    const tenant = streamTenant(stream)
    if (tenant !== undefined) this.#pending.set(place, { tenant, stream, revision, code, foundAt: this.#deps.now() })
    this.#last = this.#last
      .then(work)
      .catch((error: unknown) => {
        // The next reader that meets the fault tries again.
        this.#known.delete(place)
        this.#deps.log.warn({ err: error, ...fault }, 'a broken seal could not be recorded yet')
      })
      .finally(() => this.#pending.delete(place))
  }

  async #isStillThere(fault: SealFault): Promise<boolean> {
    const { store, sealer } = this.#deps
    const record = await readOne(store, fault)
    return record === undefined || sealFaults(sealer, record).length > 0
  }

  /** A hanging write of another process blocks reads of the whole store, and so the run list; the ledger's own stream can still be read. */
  async #isBehindTheList(tenant: string, { stream, revision }: SealFault): Promise<boolean> {
    const { store, views } = this.#deps
    const reached = runListReached(views)?.position
    for await (const page of store.readStream(ledgerStream(tenant), { direction: 'backwards' })) {
      for (const record of page) {
        if (reached !== undefined && store.comparePositions(record.position, reached) <= 0) return false
        const found = faultsOnRecord(tenant, record)
        if (found.some((row) => row.stream === stream && row.revision === revision)) return true
      }
    }
    return false
  }

  #remember(place: Omit<FaultRow, 'foundAt'>, ring?: KeyRing): void {
    for (const [name, each] of this.#unrecorded)
      if (each.ring !== undefined && each.ring !== this.#deps.sealer.ring) this.#unrecorded.delete(name)
    const row = { ...place, foundAt: this.#deps.now() }
    if (this.#unrecorded.size < ON_RECORD_MAX) this.#unrecorded.set(placeOf(place), { row, ring })
  }

  async #take(fault: SealFault, foundBy: 'scrub' | 'read'): Promise<void> {
    const { list, views, facts, log, readOnly } = this.#deps
    const { stream, revision, code, message } = fault
    const tenant = streamTenant(stream)
    const exists = async (): Promise<boolean> => {
      await list.catchUp()
      const listed = views.faults({ stream, limit: ON_RECORD_MAX }).some((row) => row.revision === revision)
      return listed || (tenant !== undefined && (await this.#isBehindTheList(tenant, fault)))
    }
    const isOnRecord = await exists()
    log.error(
      { stream, revision, code, reason: message, foundBy },
      'an event is not the one that was sealed for its place: run "countersign verify", and restore the store from a copy',
    )
    if (tenant === undefined) return
    const place = { tenant, stream, revision, code }
    if (code === NOT_YET_KNOWN) return this.#remember(place, this.#deps.sealer.ring)
    if (isOnRecord) return
    if (readOnly) return this.#remember(place)
    // Recording a fault in the stream whose first event is broken would continue that stream.
    if (tenant === SYSTEM_TENANT || (stream === ledgerStream(tenant) && revision === 0)) return this.#remember(place)
    // The recorded ones may all be past or acknowledged.
    if (views.faults({ tenant, limit: ON_RECORD_MAX }).length >= ON_RECORD_MAX) return this.#remember(place)
    const data = { v: 1, stream, revision, code, message, foundBy }
    try {
      // Another process may have found it in the meantime.
      await facts.record({ tenant, type: 'IntegrityFaultFound', data }, exists)
    } catch (error) {
      // A full disk, or a stream that has lost its own end (LOG-70): what was found at the start is not met again.
      this.#remember(place)
      throw error
    }
    await list.catchUp()
  }
}

function placeOf({ stream, revision }: Pick<SealFault, 'stream' | 'revision'>): string {
  return `${stream} @ ${revision}`
}
