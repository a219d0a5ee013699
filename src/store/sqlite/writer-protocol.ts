/** @module What the store's thread and the writer's thread say to each other. Flat arrays: they copy faster than objects. */
import { errorKind } from '../../workers/failure.ts'
import { type Append, type AppendResult, type StoreFault, StoreOpenError } from '../event-store.ts'

/** Appends that share one transaction. Record `r` belongs to the append whose `counts` cover it, in order. */
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

/** SQLite took the append's rows for none that fit the table: an error of the caller, alone in its group. */
interface InvalidAppend {
  readonly kind: 'invalid'
  readonly detail: string
}

export type Refusal = Exclude<AppendResult, { kind: 'appended' }> | InvalidAppend

export type GroupOutcome =
  /** Committed: the records not refused stand from position `before` + 1 on, in order. */
  | { readonly kind: 'committed'; readonly before: number; readonly refusals: ReadonlyMap<number, Refusal> }
  /** Nothing was written, every append gets `result`; the writer goes on. */
  | { readonly kind: 'refused'; readonly result: Refusal; readonly fault?: StoreFault | undefined }
  /** The file can no longer be trusted to this connection, which is closed; every append gets `result`. */
  | {
      readonly kind: 'failed'
      readonly result: Extract<Refusal, { kind: 'unknown' | 'unavailable' }>
      readonly fault?: StoreFault | undefined
    }

/** What the writer's thread is started with. */
export interface WriterSettings {
  readonly path: string
  /** What `fileIdentity` was when the store was opened: it may not come back as another file. */
  readonly identity: string | undefined
  readonly logFrames: number | undefined
}

export interface WriterCalls {
  /** Rejects where the file was closed before, after a failure: then it was not begun. */
  readonly append: (group: AppendGroup) => GroupOutcome
}

export interface WriterHostCalls {
  /** Told: a checkpoint failed. Nothing that was answered is in danger, but this connection is closed. */
  readonly stopped: (detail: string, fault: StoreFault | undefined) => void
}

export const WRITER_ERRORS = [
  errorKind('store-open', StoreOpenError, {
    data: ({ code }) => code,
    make: (code, message) => new StoreOpenError(code, message),
  }),
]

/** Packs appends for the other thread. Salts are gathered in one buffer: a view would drag its whole pool along. */
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
