/** @module All known losses, from every source: where logs stopped, positions without a record, and events recorded as broken. */
import type { Loss } from '../../../schemas/loss.ts'
import { runStream } from '../../../schemas/names.ts'
import type { StoreStatus } from '../../store/event-store.ts'
import type { FaultRow } from '../../store/view-store.ts'
import { ACKNOWLEDGED } from '../ledger-stats.ts'
import type { IsAcknowledged } from '../log/acknowledged-holes.ts'

/** The history to which a query about losses applies. */
export interface LossRange {
  readonly tenant: string
  /** One run of the tenant; if absent, the whole tenant. */
  readonly run?: string | undefined
  /** The only run that an answer about the tenant speaks of: what is acknowledged as lost of other runs does not affect it. */
  readonly about?: string | undefined
}

export interface LossSources {
  readonly status: () => Pick<StoreStatus, 'loss'>
  /** Losses of the tenant's log, and of the store as a whole. */
  readonly ofLog: (tenant: string) => readonly Loss[]
  /** Events recorded as broken, except those that a later scrub pass found to be repaired. */
  readonly present: (of: { readonly tenant: string; readonly stream?: string }) => readonly FaultRow[]
  readonly acknowledged: (tenant: string) => IsAcknowledged
}

/** The store went backwards: later events of any tenant are lost. */
export const WENT_BACK: Loss = { scope: 'store', code: 'store-went-back' }

export type KnownLosses = (range: LossRange) => readonly Loss[]

export function knownLosses({ ofLog, present, acknowledged, status }: LossSources): KnownLosses {
  return ({ tenant, run, about = run }) => {
    const own = about === undefined ? undefined : runStream(tenant, about)
    // The log continues past acknowledged losses, so they do not affect other runs.
    const logged = ofLog(tenant).filter(
      (loss) => loss.code !== ACKNOWLEDGED || own === undefined || loss.stream === own,
    )
    const rows = present({ tenant, ...(run !== undefined && { stream: runStream(tenant, run) }) })
    const isElsewhere = own === undefined || rows.length === 0 ? () => false : acknowledged(tenant)
    const shown = rows.filter((row) => row.stream === own || !isElsewhere(row))
    return [...(status().loss === undefined ? [] : [WENT_BACK]), ...logged, ...shown.map(lossOf)]
  }
}

/** The losses of the run itself and of the store: a log that stopped at an event of another run does not affect this one. */
export function lossesOfRun(losses: readonly Loss[], stream: string, upTo = Number.POSITIVE_INFINITY): readonly Loss[] {
  return losses.filter((loss) => loss.scope === 'store' || (loss.stream === stream && (loss.revision ?? 0) <= upTo))
}

function lossOf({ stream, revision, code }: FaultRow): Loss {
  return { scope: 'run', code, stream, revision }
}
