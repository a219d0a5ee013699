/** @module What the ledger stream of a tenant comes to, such as its legal holds: a pure fold over verified events, read again only from where it ended. */
import { type LostEvent, placeText } from '../../../schemas/acknowledged-loss.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import { readHeader } from '../../signing/header-reader.ts'
import type { EventStore, ReadRecord } from '../../store/event-store.ts'
import type { Sealer, SealFault } from '../identity/sealer.ts'
import { missingFault } from '../log/log-stops.ts'
import { type KnownEnd, lostEnd } from './lost-end.ts'
import { sealFaults } from './record-seal.ts'
import { DamagedStreamError } from './verified-events.ts'

export interface TenantFoldDeps {
  readonly store: Pick<EventStore, 'head' | 'readStream'>
  readonly sealer: Sealer
  /** Events of the tenant that were acknowledged as lost, by `placeText`; undefined if the ledger keeps no logs. */
  readonly acknowledged: ((tenant: string) => Promise<ReadonlyMap<string, LostEvent>>) | undefined
  /** What the logs have seen of a stream. */
  readonly knownHead: KnownEnd | undefined
}

export interface Folded<State> {
  readonly none: State
  /** The state after one more event whose seal is valid. Most events change nothing. */
  readonly withEvent: (state: State, record: Pick<ReadRecord, 'header' | 'data'>) => State
  /** What a lost event may be, for people: `a legal hold`. */
  readonly mayBe: string
}

/** Events whose loss was not acknowledged. */
export interface Unreadable {
  /** Names the first of them. */
  readonly error: DamagedStreamError
  /** All of them were recorded before this time, in milliseconds since 1970; undefined if nothing readable follows them. */
  readonly beforeMs: number | undefined
}

/** What the readable events come to. */
export interface ReadSoFar<State> {
  readonly state: State
  readonly unreadable?: Unreadable
}

export class TenantFold<State> {
  readonly #deps: TenantFoldDeps
  readonly #folded: Folded<State>
  readonly #known = new Map<string, { readonly head: number; readonly state: State }>()

  constructor(deps: TenantFoldDeps, folded: Folded<State>) {
    this.#deps = deps
    this.#folded = folded
  }

  /** Throws `DamagedStreamError` if an event of the tenant's ledger stream is missing or not as it was sealed, and its loss was not acknowledged. */
  async of(tenant: string): Promise<State> {
    const { state, unreadable } = await this.read(tenant)
    if (unreadable !== undefined) throw unreadable.error
    return state
  }

  /** With `unreadable`, the state lacks what those events may have changed. */
  async read(tenant: string): Promise<ReadSoFar<State>> {
    const stream = ledgerStream(tenant)
    const head = await this.#deps.store.head(stream)
    // What is lost of its end may be one of these events.
    const lost = await lostEnd(this.#deps, stream, head)
    const known = this.#known.get(tenant)
    if (known?.head === head && lost === undefined) return { state: known.state }
    const from = known !== undefined && known.head <= head ? known : { head: -1, state: this.#folded.none }
    const found = await this.#read(tenant, from, head)
    // Unreadable events are read again each time: they may be put back.
    if (found.unreadable === undefined) this.#known.set(tenant, { head, state: found.state })
    if (lost === undefined) return found
    return { state: found.state, unreadable: { error: found.unreadable?.error ?? lost, beforeMs: undefined } }
  }

  async #read(
    tenant: string,
    from: { readonly head: number; readonly state: State },
    head: number,
  ): Promise<ReadSoFar<State>> {
    const { store, sealer, acknowledged } = this.#deps
    const stream = ledgerStream(tenant)
    let { state } = from
    let next = from.head + 1
    let lost: ReadonlyMap<string, LostEvent> | undefined
    let unreadable: Unreadable | undefined
    const pastLoss = async (fault: SealFault, reason: string): Promise<void> => {
      lost ??= (await acknowledged?.(tenant)) ?? new Map()
      if (lost.has(placeText(fault))) return
      sealer.faultFound(fault)
      const error = unreadable?.error ?? new DamagedStreamError(stream, fault.revision, reason)
      unreadable = { error, beforeMs: undefined }
    }
    const pastMissing = async (end: number): Promise<void> => {
      for (; next < end; next += 1)
        await pastLoss(
          missingFault({ stream, revision: next }),
          `the event is missing, and may be ${this.#folded.mayBe}`,
        )
    }
    for await (const page of store.readStream(stream, { from: next, to: head })) {
      for (const record of page) {
        await pastMissing(record.revision)
        const [fault] = sealFaults(sealer, record)
        if (fault === undefined) {
          state = this.#folded.withEvent(state, record)
          unreadable = unreadable && { ...unreadable, beforeMs: unreadable.beforeMs ?? timeMs(record) }
        } else await pastLoss({ stream, revision: record.revision, ...fault }, `${fault.code}: ${fault.message}`)
        next = record.revision + 1
      }
    }
    await pastMissing(head + 1)
    return unreadable === undefined ? { state } : { state, unreadable }
  }
}

function timeMs({ header }: Pick<ReadRecord, 'header'>): number | undefined {
  const read = readHeader(header)
  return read.ok ? Date.parse(read.header.time) : undefined
}
