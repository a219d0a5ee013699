/**
 * @module The port of shared copies: snapshots of the files that follow a store, stored where every process on that store finds them, so that a new
 * process need not read the whole history to build its own. A copy proves nothing: a process that takes one checks its seal and its rows, and continues
 * from its position in the store.
 */
import type { Position } from './event-store.ts'

/** `text` describes the copy and lists its parts; `seal` authenticates the text. Both are opaque here. */
export interface SharedCopy {
  readonly text: string
  readonly seal: string
}

/** Reads a part by its digest; undefined if the part does not exist. */
export type PartReader = (digest: string) => Promise<Uint8Array | undefined>

/** Stores a part unless it is stored already. */
export type PartWriter = (digest: string, bytes: Uint8Array) => Promise<void>

export interface WrittenCopy extends SharedCopy {
  /** Digests of the parts of the copy: all other parts are dropped. */
  readonly parts: readonly string[]
}

/** Methods reject if the server does not answer or the role lacks permission. */
export interface SharedCopies extends AsyncDisposable {
  latest(name: string): Promise<SharedCopy | undefined>
  /** `use` sees one consistent state, even if another process replaces the copy meanwhile. Undefined if there is no copy. */
  read<T>(name: string, use: (copy: SharedCopy, part: PartReader) => Promise<T>): Promise<T | undefined>
  /**
   * Writes the whole copy or nothing, one process at a time: writes nothing and returns false if another process is writing. A process that dies while
   * writing blocks no other. `make` gets the current copy; its rejection is passed on.
   */
  write(
    name: string,
    make: (kept: SharedCopy | undefined, put: PartWriter) => Promise<WrittenCopy | undefined>,
  ): Promise<boolean>
  /** Number of events after `after` up to `upTo`, counted up to `most`. */
  eventsBetween(after: Position | undefined, upTo: Position, most?: number): Promise<number>
}
