/**
 * @module The port of shared copies: what the files that follow a store held at some position, put where every process on that store finds it,
 * so that a new one need not read the history to make its own. A copy proves nothing: whoever takes one checks its seal and its rows, and
 * goes on from its position in the store.
 */
import type { Position } from './event-store.ts'

/** `text` says what the copy is and which parts it has; `seal` vouches for the text. Both are opaque here. */
export interface SharedCopy {
  readonly text: string
  readonly seal: string
}

/** A part by its digest; undefined where it is not there. */
export type PartReader = (digest: string) => Promise<Uint8Array | undefined>

/** Keeps a part, where it is not kept already. */
export type PartWriter = (digest: string, bytes: Uint8Array) => Promise<void>

export interface WrittenCopy extends SharedCopy {
  /** Digests of its parts: others are dropped. */
  readonly parts: readonly string[]
}

/** Rejects where the server does not answer, or the role may not. */
export interface SharedCopies extends AsyncDisposable {
  latest(name: string): Promise<SharedCopy | undefined>
  /** What `use` sees is one state throughout, whoever replaces the copy meanwhile. Undefined where none is kept. */
  read<T>(name: string, use: (copy: SharedCopy, part: PartReader) => Promise<T>): Promise<T | undefined>
  /**
   * All of it or nothing, by one process at a time: false, and nothing, where another one is at it. One that dies in the middle holds nobody
   * up. `make` finds what is kept by then; what makes it reject is passed on.
   */
  write(
    name: string,
    make: (kept: SharedCopy | undefined, put: PartWriter) => Promise<WrittenCopy | undefined>,
  ): Promise<boolean>
  /** Events behind `after` up to `upTo`, counted to `most`. */
  eventsBetween(after: Position | undefined, upTo: Position, most?: number): Promise<number>
}
