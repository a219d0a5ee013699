/** @module The messages between the store's thread and the writer thread. They use flat arrays, which are copied faster than objects. */
import { errorKind } from '../../workers/failure.ts'
import type { MovedBodies } from '../archived-body.ts'
import { type Append, type AppendResult, type StoreFault, StoreOpenError } from '../event-store.ts'

/** Appends that share one transaction. The records of all appends are concatenated in order; `counts` has the number of records of each append. */
export interface AppendGroup {
  readonly id: number
  readonly streams: readonly string[]
  readonly expected: readonly number[]
  readonly counts: readonly number[]
  readonly headers: readonly string[]
  readonly datas: readonly string[]
  readonly requests: readonly (string | null)[]
  readonly salts: Uint8Array
  /** End of each record's salt in `salts`. */
  readonly saltEnds: readonly number[]
}

/** SQLite rejected the append's rows as not fitting the table: an error of the caller, which affects no other append of the group. */
interface InvalidAppend {
  readonly kind: 'invalid'
  readonly detail: string
}

export type Refusal = Exclude<AppendResult, { kind: 'appended' }> | InvalidAppend

export type GroupOutcome =
  /** Committed: the records that were not refused are at position `before` + 1 and following, in order. */
  | { readonly kind: 'committed'; readonly before: number; readonly refusals: ReadonlyMap<number, Refusal> }
  /** Nothing was written and every append gets `result`; the writer continues. */
  | { readonly kind: 'refused'; readonly result: Refusal; readonly fault?: StoreFault | undefined }
  /** The connection can no longer be trusted with the file and is closed; every append gets `result`. */
  | {
      readonly kind: 'failed'
      readonly result: Extract<Refusal, { kind: 'unknown' | 'unavailable' }>
      readonly fault?: StoreFault | undefined
    }

/** Start parameters of the writer thread. */
export interface WriterSettings {
  readonly path: string
  /** Result of `fileIdentity` when the store was opened: another file at the path is refused. */
  readonly identity: string | undefined
  readonly logFrames: number | undefined
}

export interface WriterCalls {
  /** Rejects if the file was closed before, after a failure: the group was then not started. */
  readonly append: (group: AppendGroup) => GroupOutcome
  /** Rejects if nothing was moved, or if that is not known because the commit failed: the file is closed then. */
  readonly move: (moved: MovedBodies) => void
  /** Rejects if it failed; the file is closed then. */
  readonly compact: () => void
}

export interface WriterHostCalls {
  /** Notifies of a failed checkpoint. Acknowledged appends are not at risk, but this connection is closed. */
  readonly stopped: (detail: string, fault: StoreFault | undefined) => void
}

export const WRITER_ERRORS = [
  errorKind('store-open', StoreOpenError, {
    data: ({ code }) => code,
    make: (code, message) => new StoreOpenError(code, message),
  }),
]

/** Packs appends for the other thread. Salts are copied into one buffer, because transferring a view would copy its entire pool. */
export function packGroup(id: number, appends: readonly Append[]): AppendGroup {
  const [streams, headers, datas]: [string[], string[], string[]] = [[], [], []]
  const [expected, counts, saltEnds]: [number[], number[], number[]] = [[], [], []]
  const requests: (string | null)[] = []
  let end = 0
  for (const { stream, expectedRevision, records } of appends) {
    streams.push(stream)
    expected.push(expectedRevision)
    counts.push(records.length)
    for (const { header, data, requestId, salt } of records) {
      headers.push(header)
      datas.push(data)
      requests.push(requestId ?? null)
      end += salt.byteLength
      saltEnds.push(end)
    }
  }
  return { id, streams, expected, counts, headers, datas, requests, salts: saltsOf(appends, end), saltEnds }
}

function saltsOf(appends: readonly Append[], bytes: number): Uint8Array {
  const salts = new Uint8Array(bytes)
  let at = 0
  for (const { records } of appends) {
    for (const { salt } of records) {
      salts.set(salt, at)
      at += salt.byteLength
    }
  }
  return salts
}
