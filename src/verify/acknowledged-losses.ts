/** @module The events that acknowledgements on record name as lost, for a verification: each in its place, and no others (LOG-66, LOG-67). */
import { type LostEvent, lostEventsIn, placeText } from '../../schemas/acknowledged-loss.ts'
import type { Header } from '../../schemas/header.ts'
import { parseJson } from '../../schemas/json.ts'
import { ledgerStream } from '../../schemas/names.ts'
import { logTenant } from '../signing/stream-tenant.ts'

/** Of a source: whoever has to acknowledge more has to restore the store. */
const LOST_MAX = 10_000

/** An event that is acknowledged as lost, in the log of its tenant. */
export interface AcknowledgedEvent extends LostEvent {
  readonly tenant: string
  /** Id of the acknowledgement. */
  readonly event: string
  readonly reason: string
}

/** What a first reading finds on record. */
export class FoundAcknowledgements {
  readonly lost: AcknowledgedEvent[] = []

  /** `header` verifies in its place. */
  take(header: Header, data: string): void {
    const { type, stream, tenant, id: event } = header
    if (type !== 'LossAcknowledged' || stream !== ledgerStream(tenant)) return
    const lost = lostEventsIn(data)
    if (this.lost.length + lost.length > LOST_MAX || lost.some((each) => logTenant(each.stream) !== tenant)) return
    const { reason } = parseJson<{ readonly reason: string }>(data)
    for (const each of lost) this.lost.push({ ...each, tenant, event, reason })
  }
}

/** For a second reading: by place, and by leaf. */
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

  /** The one that is this leaf of the tenant's log. */
  leaf(tenant: string, index: number): AcknowledgedEvent | undefined {
    return this.#leaves.get(leafText(tenant, index))
  }

  all(): Iterable<AcknowledgedEvent> {
    return this.#places.values()
  }
}

const leafText = (tenant: string, index: number): string => `${tenant} ${index}`
