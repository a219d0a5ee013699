/** @module All known losses, from every source: where logs stopped, positions without a record, and events recorded as broken. */
import type { Loss } from '../../../schemas/loss.ts'
import { runStream } from '../../../schemas/names.ts'
import type { StoreStatus } from '../../store/event-store.ts'
import type { FaultRow } from '../../store/view-store.ts'
import { ACKNOWLEDGED } from '../ledger-stats.ts'

/** The history to which a query about losses applies. */
export interface LossRange {
  readonly tenant: string
  /** One run of the tenant; if absent, the whole tenant. */
  readonly run?: string | undefined
}

export interface LossSources {
  readonly status: () => Pick<StoreStatus, 'loss'>
  /** Losses of the tenant's log, and of the store as a whole. */
  readonly ofLog: (tenant: string) => readonly Loss[]
  /** Events recorded as broken, except those that a later scrub pass found to be repaired. */
  readonly broken: (of: { readonly tenant: string; readonly stream?: string }) => readonly FaultRow[]
}

/** The store went backwards: later events of any tenant are lost. */
export const WENT_BACK: Loss = { scope: 'store', code: 'store-went-back' }

export type KnownLosses = (range: LossRange) => readonly Loss[]

export function knownLosses({ ofLog, broken, status }: LossSources): KnownLosses {
  return ({ tenant, run }) => {
    const stream = run === undefined ? undefined : runStream(tenant, run)
    // The log continues past acknowledged losses, so they do not affect other runs.
    const logged = ofLog(tenant).filter(
      (loss) => loss.code !== ACKNOWLEDGED || run === undefined || loss.stream === stream,
    )
    const rows = broken({ tenant, ...(stream !== undefined && { stream }) })
    return [...(status().loss === undefined ? [] : [WENT_BACK]), ...logged, ...rows.map(lossOf)]
  }
}

/** The losses of the run itself and of the store: a log that stopped at an event of another run does not affect this one. */
export function lossesOfRun(losses: readonly Loss[], stream: string, upTo = Number.POSITIVE_INFINITY): readonly Loss[] {
  return losses.filter((loss) => loss.scope === 'store' || (loss.stream === stream && (loss.revision ?? 0) <= upTo))
}

function lossOf({ stream, revision, code }: FaultRow): Loss {
  return { scope: 'run', code, stream, revision }
}
