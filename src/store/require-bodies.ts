/** @module For files that are made from the bodies of all events: an archive that is elsewhere must not leave runs out of them (LIFE-56). */
import type { StoredRecord } from '../../schemas/header.ts'
import { StoreUnavailableError } from './event-store.ts'

const RETRY_MS = 60_000

/** For a file that is made from the bodies of all events. Throws `StoreUnavailableError` if one is in an archive that is not there. */
export function requireBodies(page: readonly StoredRecord[]): void {
  const away = page.find(({ archive }) => archive?.isThere === false)?.archive
  if (away === undefined) return
  const message = `the archive ${away.name}.jsonl is not in its folder, or cannot be read, and this is being made anew from all events: put the file back there`
  throw new StoreUnavailableError(message, RETRY_MS)
}
