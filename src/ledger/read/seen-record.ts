/** @module The last record that a derived file has seen, and whether the store still holds it there: else it is another store, or a restored copy. */
import { recordDigest } from '../../signing/digests.ts'
import type { EventStore, Position, ReadRecord } from '../../store/event-store.ts'

/** Why a derived file is rebuilt where its last record is gone. */
export const OTHER_STORE = 'the store is not the one that it followed, or an older copy'

export interface SeenRecord {
  readonly position: Position
  /** Of its header text as it was read, whatever that text is. */
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
    // Text that is no position of this store is another store's.
    if (error instanceof TypeError) return false
    throw error
  }
}
