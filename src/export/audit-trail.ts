/** @module The ledger's records of one export: its start, before the first byte is sent, and its end, before the last one is. */
import type { JsonObject } from '../../schemas/json.ts'
import type { Caller, Ledger, PinnedTree } from '../ledger/ledger.ts'
import type { MadeSoFar } from './export-body.ts'

export interface ExportFacts {
  readonly exportId: string
  readonly format: string
  readonly run: string | undefined
  /** Filter in addition to the run; undefined or empty for none. */
  readonly filter: JsonObject | undefined
  readonly tree: PinnedTree | null
}

/** `start` and `complete` throw `StoreUnavailableError`. */
export interface ExportRecord {
  /** `offset`: number of bytes that the client already has. */
  start(offset?: number): Promise<void>
  complete(made: MadeSoFar): Promise<void>
  /** Records what was produced until the cut. Never rejects: the start is recorded, and an export without a recorded end counts as cut. */
  cut(made: MadeSoFar): Promise<void>
}

export function exportRecord({ exports }: Pick<Ledger, 'exports'>, caller: Caller, facts: ExportFacts): ExportRecord {
  const { exportId, format, run, filter = {}, tree } = facts
  const exported = {
    v: 1 as const,
    exportId,
    format,
    ...(run !== undefined && { run }),
    ...(Object.keys(filter).length > 0 && { filter }),
    asOf: tree?.eventId ?? null,
    treeSize: tree?.size ?? null,
    root: tree?.root ?? null,
  }
  const issued = (outcome: 'complete' | 'cut', { events, bytes, digest }: MadeSoFar): Promise<void> =>
    exports.record(caller, { type: 'ExportIssued', data: { ...exported, outcome, events, bytes, digest } })
  return {
    start: (offset = 0) =>
      exports.record(caller, { type: 'ExportStarted', data: { ...exported, ...(offset > 0 && { offset }) } }),
    complete: (made) => issued('complete', made),
    cut: (made) => issued('cut', made).catch(() => undefined),
  }
}

/** The exporting party, as stated in the file. */
export function exportedBy({ actor, principal, via }: Caller) {
  return { actor, ...(principal !== undefined && { principal }), ...(via && { via: [...via] }) }
}
