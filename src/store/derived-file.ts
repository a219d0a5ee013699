/** @module The common interface of the files kept next to the event store: they follow the store, and a file that is lost or in doubt is rebuilt from it. */
import { StoreUnavailableError } from './event-store.ts'

export interface DerivedFile extends Disposable {
  /** Deletes the file and creates it anew, empty: its followers start again at the beginning of the store. `reason` is logged. */
  renew(reason: string): void
  /** Calls `listener` after the file was rebuilt, by `renew` or because it was found damaged; returns the unsubscriber. */
  onRenewed(listener: () => void): () => void
}

/** Authenticates the content of a file with keys that an attacker who edits the file does not have. */
export interface FileGuard {
  readonly rowKey: () => Uint8Array
  /** HMAC-SHA-256 under the row key over the concatenation of both texts in UTF-8, in lowercase hexadecimal digits. */
  readonly rowMac: (table: string, row: string) => string
  readonly seal: (text: string) => string
  readonly holds: (text: string, seal: string) => boolean
}

/** Reason for rebuilding a file that another party wrote to. */
export const NOT_AUTHENTIC = 'it holds other than this ledger wrote, or was sealed with a key that was rotated away'

export interface DerivedFileOptions {
  /** A path, or `:memory:`. */
  readonly path: string
  /** Absent if no other process can write the file, such as a file in memory: its content is then trusted. */
  readonly guard?: FileGuard | undefined
  /** Called each time the file is rebuilt, including when it is opened. */
  readonly onRenewed?: ((renewal: DerivedFileRenewal) => void) | undefined
}

export interface DerivedFileRenewal {
  readonly file: string
  readonly reason: string
}

const RETRY_AFTER_MS = 1_000

/** The file was found damaged during this call and has been rebuilt, empty: the interrupted operation starts again from the file's progress. */
export class DerivedFileRenewedError extends StoreUnavailableError {
  readonly renewal: DerivedFileRenewal

  constructor(renewal: DerivedFileRenewal) {
    const { file, reason } = renewal
    super(`${file} was damaged (${reason}) and is rebuilt from the event store`, RETRY_AFTER_MS)
    this.name = 'DerivedFileRenewedError'
    this.renewal = renewal
  }
}

const TRIES = 3

/** Repeats `work` if a derived file was rebuilt during it. Damage that recurs at once is thrown. */
export async function againIfRenewed<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof DerivedFileRenewedError) || tries === TRIES) throw error
    }
  }
}

/**
 * Repeats a read in several steps if a derived file was rebuilt during it, also if another caller found the damage between two steps: the later steps would
 * have read an empty file, and nothing in their results would show it.
 */
export function readWhole<T>(file: Pick<DerivedFile, 'onRenewed'>, work: () => Promise<T>): Promise<T> {
  return againIfRenewed(async () => {
    let isRenewed = false
    const stop = file.onRenewed(() => {
      isRenewed = true
    })
    try {
      const found = await work()
      if (isRenewed) throw new DerivedFileRenewedError({ file: 'what was read', reason: 'while it was read' })
      return found
    } finally {
      stop()
    }
  })
}
