/**
 * @module The port to the store of subject keys, which are kept apart from the events, so that a copy of the event store alone contains none (LIFE-3).
 * This module neither reads nor makes a key.
 */

/**
 * `open`: in use. `closing`: to be destroyed; new records about the subject use another key. `erased`: destroyed, but the erasure is not recorded in the
 * ledger yet. `done`: destroyed, and the erasure is recorded.
 */
export type SubjectKeyState = 'open' | 'closing' | 'erased' | 'done'

export interface SubjectKeyRow {
  readonly id: string
  readonly tenant: string
  /** Null once the key is destroyed. */
  readonly subject: string | null
  readonly state: SubjectKeyState
  /** Id of the ring key that the key is wrapped under. */
  readonly kid: string
  /** Null once the key is destroyed. */
  readonly wrapped: string | null
  /** The request for erasure of this key, once it is recorded in the ledger. */
  readonly request: string | null
}

/** Each call is durable when it returns. */
export interface SubjectStore extends Disposable {
  /** The only key of a subject in the state `open`. */
  inUse(tenant: string, subject: string): SubjectKeyRow | undefined
  /** The key that a run already uses for a subject: the run keeps it until it ends. */
  usedIn(tenant: string, subject: string, run: string): SubjectKeyRow | undefined
  key(id: string): SubjectKeyRow | undefined
  /** The existing keys of a subject. */
  keysOf(tenant: string, subject: string): readonly SubjectKeyRow[]
  inState(...states: readonly SubjectKeyState[]): readonly SubjectKeyRow[]
  add(row: Pick<SubjectKeyRow, 'id' | 'tenant' | 'kid'> & { readonly subject: string; readonly wrapped: string }): void
  /** Records that data of a run is encrypted under this key. */
  noteRun(id: string, run: string): void
  runsOf(id: string): readonly string[]
  rewrap(rows: readonly { readonly id: string; readonly kid: string; readonly wrapped: string }[]): void
  close(ids: readonly string[]): void
  noteRequest(ids: readonly string[], request: string): void
  /** Overwrites wrapped key and subject, in the file and its WAL. */
  destroy(ids: readonly string[]): void
  /** `proof` attests, under a key of the ledger, that the erasure is recorded. */
  noteDone(rows: readonly { readonly id: string; readonly proof: string }[]): void
  /** Proof for a key whose erasure is recorded, whether or not this file ever held that key. */
  proofOf(id: string): string | undefined
  /** A unique id of the file, and the number of keys that were made in it; undefined if the file does not exist yet. */
  identity(): { readonly id: string; readonly keys: number } | undefined
  /** Revision of the tenant's ledger stream up to which this file has applied the recorded erasures; -1 if none. */
  seen(tenant: string): number
  noteSeen(tenant: string, revision: number): void
}
