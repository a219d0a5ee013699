/** @module The recorded acknowledgements of a tenant's losses: which events are lost for good, and which leaves they were (LOG-63). */
import { isAcknowledgement, type LostEvent, lostEventsIn, placeText } from '../../../schemas/acknowledged-loss.ts'
import { EVENTS, type EventBody } from '../../../schemas/events.ts'
import { parseJsonOrUndefined } from '../../../schemas/json.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import { readHeader } from '../../signing/header-reader.ts'
import { streamTenant } from '../../signing/stream-tenant.ts'
import type { EventStore, ReadRecord } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import { sealFaults } from '../read/record-seal.ts'

/** Event id of a leaf that replaces a lost event, whose real id is not known. */
export const LOST_EVENT_ID = '00000000-0000-0000-0000-000000000000'
/** Maximum number per tenant; a tenant that would need more has to restore the store. */
export const ACKNOWLEDGEMENTS_MAX = 1_000

export interface Acknowledgement
  extends Pick<EventBody<'LossAcknowledged'>, 'stream' | 'from' | 'to' | 'what' | 'code' | 'reason'> {
  /** Id of the acknowledging event; `time` and `actor` are its time and its writer. */
  readonly event: string
  readonly time: string
  readonly actor: string
}

export interface OnRecord {
  readonly acknowledgements: readonly Acknowledgement[]
  /** Lost events by the index of their leaf. */
  readonly leaves: ReadonlyMap<number, LostEvent>
  /** Lost events by `placeText`. */
  readonly places: ReadonlyMap<string, LostEvent>
}

const NOTHING: OnRecord = { acknowledgements: [], leaves: new Map(), places: new Map() }

/** Reads acknowledgements from the store and verifies the seal of each one. A stream that has not grown is not read again. */
export class Acknowledgements {
  readonly #deps: { readonly store: Pick<EventStore, 'head' | 'readStream'>; readonly sealer: Sealer }
  readonly #known = new Map<string, { readonly head: number; readonly found: OnRecord }>()

  constructor(deps: { readonly store: Pick<EventStore, 'head' | 'readStream'>; readonly sealer: Sealer }) {
    this.#deps = deps
  }

  async of(tenant: string): Promise<OnRecord> {
    const { store } = this.#deps
    const stream = ledgerStream(tenant)
    const head = await store.head(stream)
    const known = this.#known.get(tenant)
    if (known?.head === head) return known.found
    const goesOn = known !== undefined && known.head < head
    let found = goesOn ? known.found : NOTHING
    for await (const page of store.readStream(stream, { from: goesOn ? known.head + 1 : 0, to: head }))
      for (const record of page) found = this.#with(found, tenant, record)
    this.#known.set(tenant, { head, found })
    return found
  }

  #with(before: OnRecord, tenant: string, record: ReadRecord): OnRecord {
    if (!isAcknowledgement(record.header) || before.acknowledgements.length >= ACKNOWLEDGEMENTS_MAX) return before
    const read = readHeader(record.header)
    if (!read.ok || read.header.type !== 'LossAcknowledged' || sealFaults(this.#deps.sealer, record).length > 0)
      return before
    const lost = lostEventsIn(record.data)
    const { data: body } = EVENTS.LossAcknowledged.schema.safeParse(parseJsonOrUndefined(record.data))
    if (body === undefined || lost.length === 0 || streamTenant(body.stream) !== tenant) return before
    const { stream, from, to, what, code, reason } = body
    const { id: event, time, actor } = read.header
    const own = { stream, from, to, what, code, reason, event, time, actor }
    return {
      acknowledgements: [...before.acknowledgements, own],
      leaves: new Map([...before.leaves, ...lost.map((each) => [each.index, each] as const)]),
      places: new Map([...before.places, ...lost.map((each) => [placeText(each), each] as const)]),
    }
  }
}
