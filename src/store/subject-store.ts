/** @module Where the keys of subjects lie: apart from the events, so that a copy of the store alone holds none (LIFE-3). Nothing here reads or makes a key. */

/**
 * `open`: in use; `closing`: to be destroyed, what is recorded of the subject from now on has another one; `erased`: gone, which is not on
 * record yet; `done`: gone, on record.
 */
export type SubjectKeyState = 'open' | 'closing' | 'erased' | 'done'

export interface SubjectKeyRow {
  readonly id: string
  readonly tenant: string
  /** Null once it is destroyed. */
  readonly subject: string | null
  readonly state: SubjectKeyState
  /** The key of the ring that it is wrapped under. */
  readonly kid: string
  /** Null once it is destroyed. */
  readonly wrapped: string | null
  /** The erasure that was requested of it, once that is on record. */
  readonly request: string | null
}

/** Each call is durable when it returns. */
export interface SubjectStore extends Disposable {
  /** The one key of a subject that is `open`. */
  inUse(tenant: string, subject: string): SubjectKeyRow | undefined
  /** The key that a run uses for a subject already: until it ends that stays so. */
  usedIn(tenant: string, subject: string, run: string): SubjectKeyRow | undefined
  key(id: string): SubjectKeyRow | undefined
  /** Those of a subject that exist. */
  keysOf(tenant: string, subject: string): readonly SubjectKeyRow[]
  inState(...states: readonly SubjectKeyState[]): readonly SubjectKeyRow[]
  add(row: Pick<SubjectKeyRow, 'id' | 'tenant' | 'kid'> & { readonly subject: string; readonly wrapped: string }): void
  /** Notes that something of a run is encrypted under it. */
  noteRun(id: string, run: string): void
  runsOf(id: string): readonly string[]
  rewrap(rows: readonly { readonly id: string; readonly kid: string; readonly wrapped: string }[]): void
  close(ids: readonly string[]): void
  noteRequest(ids: readonly string[], request: string): void
  /** Secret and subject are overwritten, in the file and its log. */
  destroy(ids: readonly string[]): void
  /** `proof`: says under a key of the ledger that the erasure is on record. */
  noteDone(rows: readonly { readonly id: string; readonly proof: string }[]): void
  /** Of a key whose erasure is on record, whether or not this file ever had it. */
  proofOf(id: string): string | undefined
  /** The file by a name of its own, and how many keys were made in it; undefined where there is no file yet. */
  identity(): { readonly id: string; readonly keys: number } | undefined
  /** Revision of the tenant's ledger stream up to which this file has carried out what is on record; -1: none. */
  seen(tenant: string): number
  noteSeen(tenant: string, revision: number): void
}
