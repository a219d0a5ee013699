/** @module The error of a reader that needs a body which is in an archive that is elsewhere: such a body is never read as absent or as damaged (LIFE-56). */
import type { ArchivePlace, StoredRecord } from '../../schemas/header.ts'
import { StoreUnavailableError } from './event-store.ts'

const RETRY_MS = 60_000

/** Nothing is damaged: once the file is back in its folder, the body can be read again. */
export class ArchiveMissingError extends StoreUnavailableError {
  override readonly name = 'ArchiveMissingError'
}

export function archiveMissing({ name }: Pick<ArchivePlace, 'name'>): ArchiveMissingError {
  const message = `the archive ${name}.jsonl is not in the folder of the archives, or cannot be read: put the file back there, beside the store`
  return new ArchiveMissingError(message, RETRY_MS)
}

/** For a file that is made from the bodies of all events, in which no run may be left out. Throws `ArchiveMissingError`. */
export function requireBodies(page: readonly StoredRecord[]): void {
  const away = page.find(({ archive }) => archive?.exists === false)?.archive
  if (away !== undefined) throw archiveMissing(away)
}
