/** @module What is known to be lost, whoever is asked: where logs stopped, positions without a record, events on record as broken. */
import type { Loss } from '../../../schemas/loss.ts'
import { runStream } from '../../../schemas/names.ts'
import type { StoreStatus } from '../../store/event-store.ts'
import type { FaultRow } from '../../store/view-store.ts'
import { ACKNOWLEDGED } from '../ledger-stats.ts'

/** Whose history is asked about. */
export interface LossRange {
  readonly tenant: string
  /** One run of it; absent: all of it. */
  readonly run?: string | undefined
}

export interface LossSources {
  readonly status: () => Pick<StoreStatus, 'loss'>
  /** Of the tenant's log, and of the store as a whole. */
  readonly ofLog: (tenant: string) => readonly Loss[]
  /** Events on record as broken that no later pass of the scrub found to be whole again. */
  readonly broken: (of: { readonly tenant: string; readonly stream?: string }) => readonly FaultRow[]
}

/** The store went backwards: what came behind it is gone, whoever's it was. */
export const WENT_BACK: Loss = { scope: 'store', code: 'store-went-back' }

export type KnownLosses = (range: LossRange) => readonly Loss[]

export function knownLosses({ ofLog, broken, status }: LossSources): KnownLosses {
  return ({ tenant, run }) => {
    const stream = run === undefined ? undefined : runStream(tenant, run)
    // The log goes on past what was acknowledged: of another run it says nothing.
    const logged = ofLog(tenant).filter(
      (loss) => loss.code !== ACKNOWLEDGED || run === undefined || loss.stream === stream,
    )
    const rows = broken({ tenant, ...(stream !== undefined && { stream }) })
    return [...(status().loss === undefined ? [] : [WENT_BACK]), ...logged, ...rows.map(lossOf)]
  }
}

/** Of them, those of the run itself and of the store: a log that stopped at another run's event says nothing of this one. */
export function lossesOfRun(losses: readonly Loss[], stream: string, upTo = Number.POSITIVE_INFINITY): readonly Loss[] {
  return losses.filter((loss) => loss.scope === 'store' || (loss.stream === stream && (loss.revision ?? 0) <= upTo))
}

function lossOf({ stream, revision, code }: FaultRow): Loss {
  return { scope: 'run', code, stream, revision }
}
