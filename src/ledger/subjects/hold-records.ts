/** @module The recorded legal holds of a tenant (LIFE-20 to LIFE-22): a pure fold, and its reader. */
import { type LostEvent, placeText } from '../../../schemas/acknowledged-loss.ts'
import type { HoldAnswer } from '../../../schemas/answers/holds.ts'
import { EVENTS } from '../../../schemas/events.ts'
import { parseJsonOrUndefined } from '../../../schemas/json.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import { readHeader } from '../../signing/header-reader.ts'
import type { EventStore, ReadRecord } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import { sealFaults } from '../read/record-seal.ts'
import { DamagedStreamError } from '../read/verified-events.ts'

export type Hold = HoldAnswer
/** Holds by their id, in the order in which they were placed. */
export type Holds = ReadonlyMap<string, Hold>

/** What somebody wants to erase. */
export interface Wanted {
  readonly runs: ReadonlySet<string>
  readonly keyIds: ReadonlySet<string>
}

/** The first active hold that covers any part of it. */
export function holdOn(holds: Holds, { runs, keyIds }: Wanted): Hold | undefined {
  for (const hold of holds.values()) {
    if (hold.state !== 'active') continue
    if (hold.scope === 'tenant' || (hold.run !== undefined && runs.has(hold.run))) return hold
    if (hold.keyIds?.some((id) => keyIds.has(id)) === true) return hold
  }
  return undefined
}

/** The holds after one more event whose seal is valid. A release of an unknown or a released hold changes nothing. */
export function withEvent(holds: Holds, { header: text, data: body }: Pick<ReadRecord, 'header' | 'data'>): Holds {
  const read = readHeader(text)
  if (!read.ok) return holds
  const { type, time, actor, principal } = read.header
  const by = principal ?? actor
  if (type === 'HoldPlaced') {
    const { hold, scope, run, keyIds, reason } = EVENTS.HoldPlaced.schema.parse(parseJsonOrUndefined(body))
    const what = { ...(run !== undefined && { run }), ...(keyIds && { keyIds }) }
    return new Map(holds).set(hold, { hold, state: 'active', scope, ...what, reason, placedBy: by, placedAt: time })
  }
  if (type !== 'HoldReleased') return holds
  const { hold, reason } = EVENTS.HoldReleased.schema.parse(parseJsonOrUndefined(body))
  const placed = holds.get(hold)
  if (placed === undefined || placed.state === 'released') return holds
  const released = { releasedBy: by, releasedAt: time, releaseReason: reason }
  return new Map(holds).set(hold, { ...placed, state: 'released', ...released })
}

interface HoldRecordsDeps {
  readonly store: Pick<EventStore, 'head' | 'readStream'>
  readonly sealer: Sealer
  /** Events of the tenant that were acknowledged as lost, by `placeText`; undefined if the ledger keeps no logs. */
  readonly acknowledged: ((tenant: string) => Promise<ReadonlyMap<string, LostEvent>>) | undefined
  /** What the logs have seen of a stream. */
  readonly knownHead: ((stream: string) => { readonly events: number } | undefined) | undefined
}

const NONE: Holds = new Map()

/** Reads only what was appended since the last time. */
export class HoldRecords {
  readonly #deps: HoldRecordsDeps
  readonly #known = new Map<string, { readonly head: number; readonly holds: Holds }>()

  constructor(deps: HoldRecordsDeps) {
    this.#deps = deps
  }

  /**
   * Throws `DamagedStreamError` if an event of the tenant's ledger stream is missing or not as it was sealed, and its loss was not acknowledged: it may
   * have been a hold.
   */
  async of(tenant: string): Promise<Holds> {
    const stream = ledgerStream(tenant)
    const { store, knownHead } = this.#deps
    const head = await store.head(stream)
    const seen = knownHead?.(stream)?.events ?? 0
    if (seen > head + 1) throw new DamagedStreamError(stream, head + 1, 'the event is missing, and may be a legal hold')
    const known = this.#known.get(tenant)
    if (known?.head === head) return known.holds
    const from = known !== undefined && known.head < head ? known : { head: -1, holds: NONE }
    const holds = await this.#read(tenant, from, head)
    this.#known.set(tenant, { head, holds })
    return holds
  }

  async #read(tenant: string, from: { readonly head: number; readonly holds: Holds }, head: number): Promise<Holds> {
    const { store, sealer, acknowledged } = this.#deps
    const stream = ledgerStream(tenant)
    let { holds } = from
    let next = from.head + 1
    let lost: ReadonlyMap<string, LostEvent> | undefined
    const pastLoss = async (revision: number, reason: string): Promise<void> => {
      lost ??= (await acknowledged?.(tenant)) ?? new Map()
      if (!lost.has(placeText({ stream, revision }))) throw new DamagedStreamError(stream, revision, reason)
    }
    for await (const page of store.readStream(stream, { from: next, to: head })) {
      for (const record of page) {
        for (; next < record.revision; next += 1) await pastLoss(next, 'the event is missing, and may be a legal hold')
        const [fault] = sealFaults(sealer, record)
        if (fault === undefined) holds = withEvent(holds, record)
        else await pastLoss(record.revision, `${fault.code}: ${fault.message}`)
        next = record.revision + 1
      }
    }
    for (; next <= head; next += 1) await pastLoss(next, 'the event is missing, and may be a legal hold')
    return holds
  }
}
