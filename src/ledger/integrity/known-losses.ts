/** @module What is known to be lost, whoever is asked: where logs stopped, positions without a record, events on record as broken. */
import type { Loss } from '../../../schemas/loss.ts'
import { runStream } from '../../../schemas/names.ts'
import type { FaultRow } from '../../store/view-store.ts'

/** Whose history is asked about. */
export interface LossRange {
  readonly tenant: string
  /** One run of it; absent: all of it. */
  readonly run?: string | undefined
}

export interface LossSources {
  /** Of the tenant's log, and of the store as a whole. */
  readonly ofLog: (tenant: string) => readonly Loss[]
  /** Events on record as broken that no later pass of the scrub found to be whole again. */
  readonly broken: (of: { readonly tenant: string; readonly stream?: string }) => readonly FaultRow[]
}

export type KnownLosses = (range: LossRange) => readonly Loss[]

export function knownLosses({ ofLog, broken }: LossSources): KnownLosses {
  return ({ tenant, run }) => {
    const stream = run === undefined ? undefined : runStream(tenant, run)
    const rows = broken({ tenant, ...(stream !== undefined && { stream }) })
    return [...ofLog(tenant), ...rows.map(lossOf)]
  }
}

function lossOf({ stream, revision, code }: FaultRow): Loss {
  return { scope: 'run', code, stream, revision }
}
