/** @module What the ledger stream of a tenant comes to, such as its legal holds: a pure fold over verified events, read again only from where it ended. */
import { type LostEvent, placeText } from '../../../schemas/acknowledged-loss.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import type { EventStore, ReadRecord } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import { type KnownEnd, refuseLostEnd } from './lost-end.ts'
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
    const stream = ledgerStream(tenant)
    const head = await this.#deps.store.head(stream)
    // What is lost of its end may be one of these events.
    await refuseLostEnd(this.#deps, stream, head)
    const known = this.#known.get(tenant)
    if (known?.head === head) return known.state
    const from = known !== undefined && known.head < head ? known : { head: -1, state: this.#folded.none }
    const state = await this.#read(tenant, from, head)
    this.#known.set(tenant, { head, state })
    return state
  }

  get #missing(): string {
    return `the event is missing, and may be ${this.#folded.mayBe}`
  }

  async #read(tenant: string, from: { readonly head: number; readonly state: State }, head: number): Promise<State> {
    const { store, sealer, acknowledged } = this.#deps
    const stream = ledgerStream(tenant)
    let { state } = from
    let next = from.head + 1
    let lost: ReadonlyMap<string, LostEvent> | undefined
    const pastLoss = async (revision: number, reason: string): Promise<void> => {
      lost ??= (await acknowledged?.(tenant)) ?? new Map()
      if (!lost.has(placeText({ stream, revision }))) throw new DamagedStreamError(stream, revision, reason)
    }
    for await (const page of store.readStream(stream, { from: next, to: head })) {
      for (const record of page) {
        for (; next < record.revision; next += 1) await pastLoss(next, this.#missing)
        const [fault] = sealFaults(sealer, record)
        if (fault === undefined) state = this.#folded.withEvent(state, record)
        else await pastLoss(record.revision, `${fault.code}: ${fault.message}`)
        next = record.revision + 1
      }
    }
    for (; next <= head; next += 1) await pastLoss(next, this.#missing)
    return state
  }
}
