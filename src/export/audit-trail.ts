/** @module What the ledger records of one export: that it began, before its first byte leaves, and how it ended, before its last. */
import type { JsonObject } from '../../schemas/json.ts'
import type { Caller, Ledger, PinnedTree } from '../ledger/ledger.ts'
import type { MadeSoFar } from './export-body.ts'

export interface ExportFacts {
  readonly exportId: string
  readonly format: string
  readonly run: string | undefined
  /** Beside the run; undefined or without members where there is none. */
  readonly filter: JsonObject | undefined
  readonly tree: PinnedTree | null
}

/** `start` and `complete` throw `StoreUnavailableError`. */
export interface ExportRecord {
  /** `offset`: so many bytes of the file are there already. */
  start(offset?: number): Promise<void>
  complete(made: MadeSoFar): Promise<void>
  /** With what was made until then. Never rejects: the start is on record, and without an end it counts as cut. */
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

/** Who exports, as the file itself says it. */
export function exportedBy({ actor, principal, via }: Caller) {
  return { actor, ...(principal !== undefined && { principal }), ...(via && { via: [...via] }) }
}
