/** @module The last record that a derived file has seen, and whether the store still holds it; if not, it is a different store or a restored copy. */
import { recordDigest } from '../../signing/digests.ts'
import type { EventStore, Position, ReadRecord } from '../../store/event-store.ts'

/** The reason for rebuilding a derived file whose last record is gone. */
export const OTHER_STORE = 'the store is not the one that it followed, or an older copy'

export interface SeenRecord {
  readonly position: Position
  /** Digest of the header text as it was read, whether valid or not. */
  readonly digest: string
}

export function seenRecord({ position, header }: ReadRecord): SeenRecord {
  return { position, digest: recordDigest(header) }
}

export async function isStillStored(
  store: Pick<EventStore, 'recordAt'>,
  { position, digest }: SeenRecord,
): Promise<boolean> {
  try {
    const record = await store.recordAt(position)
    return record !== undefined && recordDigest(record.header) === digest
  } catch (error) {
    // A text that is not a position of this store comes from another store.
    if (error instanceof TypeError) return false
    throw error
  }
}
