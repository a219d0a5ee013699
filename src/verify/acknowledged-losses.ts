/** @module The events that recorded acknowledgements name as lost, for a verification: each at its place, and no others (LOG-66, LOG-67). */
import { LOST_EVENTS_MAX, type LostEvent, lostEventsIn, placeText } from '../../schemas/acknowledged-loss.ts'
import type { Header } from '../../schemas/header.ts'
import { parseJson } from '../../schemas/json.ts'
import { ledgerStream } from '../../schemas/names.ts'
import { logTenant } from '../signing/stream-tenant.ts'

/** An event that is acknowledged as lost, in its tenant's log. */
export interface AcknowledgedEvent extends LostEvent {
  readonly tenant: string
  /** Id of the event that acknowledges the loss. */
  readonly event: string
  readonly reason: string
}

/** Acknowledgements found in a first pass over the records. */
export class FoundAcknowledgements {
  readonly lost: AcknowledgedEvent[] = []
  /** Number of lost events by tenant. */
  readonly #counts = new Map<string, number>()

  /** `header` must have been verified at its place. */
  take(header: Header, data: string): void {
    const { type, stream, tenant, id: event } = header
    if (type !== 'LossAcknowledged' || stream !== ledgerStream(tenant)) return
    const lost = lostEventsIn(data)
    const count = (this.#counts.get(tenant) ?? 0) + lost.length
    if (count > LOST_EVENTS_MAX || lost.some((each) => logTenant(each.stream) !== tenant)) return
    this.#counts.set(tenant, count)
    const { reason } = parseJson<{ readonly reason: string }>(data)
    for (const each of lost) this.lost.push({ ...each, tenant, event, reason })
  }
}

/** Acknowledged losses for a second pass, by place and by leaf. */
export class AcknowledgedLosses {
  readonly #places = new Map<string, AcknowledgedEvent>()
  readonly #leaves = new Map<string, AcknowledgedEvent>()

  constructor(lost: readonly AcknowledgedEvent[]) {
    for (const each of lost) {
      this.#places.set(placeText(each), each)
      this.#leaves.set(leafText(each.tenant, each.index), each)
    }
  }

  get size(): number {
    return this.#places.size
  }

  at(place: { readonly stream: string; readonly revision: number }): AcknowledgedEvent | undefined {
    return this.#places.get(placeText(place))
  }

  /** The lost event at this leaf index of the tenant's log. */
  leaf(tenant: string, index: number): AcknowledgedEvent | undefined {
    return this.#leaves.get(leafText(tenant, index))
  }

  all(): Iterable<AcknowledgedEvent> {
    return this.#places.values()
  }
}

const leafText = (tenant: string, index: number): string => `${tenant} ${index}`
