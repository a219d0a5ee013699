/** @module What the files beside the event store have in common: they follow it, and one that is lost or in doubt is rebuilt from it. */
import { StoreUnavailableError } from './event-store.ts'

export interface DerivedFile extends Disposable {
  /** Deletes the file and rebuilds it, empty: whoever follows the store with it begins at the start. `reason` goes to the log. */
  renew(reason: string): void
  /** Calls back after the file was rebuilt, by `renew` or because it was found damaged; returns the unsubscriber. */
  onRenewed(listener: () => void): () => void
}

/** Vouches for what a file holds, with keys that whoever edits the file has not. */
export interface FileGuard {
  readonly rowKey: () => Uint8Array
  /** HMAC-SHA-256 under the row key over both texts in UTF-8, one behind the other, in lowercase hexadecimal digits. */
  readonly rowMac: (table: string, row: string) => string
  readonly seal: (text: string) => string
  readonly holds: (text: string, seal: string) => boolean
}

/** Why a file is rebuilt that somebody else wrote to. */
export const NOT_AUTHENTIC = 'it holds other than this ledger wrote, or was sealed with a key that was rotated away'

export interface DerivedFileOptions {
  /** A path, or `:memory:`. */
  readonly path: string
  /** Absent where nobody else can write the file, as in memory: what it holds is then taken as it is. */
  readonly guard?: FileGuard | undefined
  /** Called each time the file is rebuilt, at open too. */
  readonly onRenewed?: ((renewal: DerivedFileRenewal) => void) | undefined
}

export interface DerivedFileRenewal {
  readonly file: string
  readonly reason: string
}

const RETRY_AFTER_MS = 1_000

/** The file was found damaged at this call and has been rebuilt, empty: what was under way begins again from its progress. */
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

/** Does `work` again where a derived file was rebuilt under it. Damage that comes back at once is thrown. */
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
 * The same for a reading in several steps: it begins again, too, where somebody else met the damage between two of them. The later ones have read of a
 * file that was empty by then, and nothing in what they found says so.
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
