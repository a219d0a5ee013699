/** @module The recorded legal holds of a tenant (LIFE-20 to LIFE-22): a pure fold, and its reader. */
import type { HoldAnswer } from '../../../schemas/answers/holds.ts'
import { EVENTS } from '../../../schemas/events.ts'
import { parseJsonOrUndefined } from '../../../schemas/json.ts'
import { readHeader } from '../../signing/header-reader.ts'
import type { ReadRecord } from '../../store/event-store.ts'
import { TenantFold, type TenantFoldDeps } from '../read/tenant-fold.ts'

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

const NONE: Holds = new Map()

/** Reads only what was appended since the last time. */
export class HoldRecords extends TenantFold<Holds> {
  constructor(deps: TenantFoldDeps) {
    super(deps, { none: NONE, withEvent, mayBe: 'a legal hold' })
  }
}
