/** @module The faults that a scan of rows reports for rows that are unreadable or invalid. */
import { StoreOpenError } from '../event-store.ts'
import { type Database, sqliteCode } from './open.ts'
import type { ScanFault, ScanFaultCode } from './scanned-rows.ts'
import { checkSchema } from './schema.ts'

export function unreadable(last: bigint, next: bigint | undefined, error: unknown): ScanFault {
  const where = next === undefined ? `after position ${last}` : `between positions ${last} and ${next + 1n}`
  return faultAt('unreadable', `the store file cannot be read ${where}: ${reasonOf(error)}`, {})
}

/** Altered triggers are reported as a fault; the events can still be read. Throws `StoreOpenError` for a file that is not a store. */
export function schemaFault(db: Database, path: string): ScanFault | undefined {
  try {
    if (checkSchema(db, path)) throw new StoreOpenError('store-unreadable', `${path} is empty: it is no store yet`)
    return undefined
  } catch (error) {
    if (!(error instanceof StoreOpenError) || error.code !== 'store-corrupt') throw error
    return faultAt('schema-altered', 'the tables or triggers that keep the store append-only were altered', {})
  }
}

const BEFORE_FIRST = 'SELECT count(*), CAST(min(position) AS TEXT) FROM events NOT INDEXED WHERE position < 1'

/** Positions begin at 1, and reads of all events start there: an earlier row would only be seen by a read of its stream. */
export function rowsBeforeFirst(db: Database): readonly ScanFault[] {
  try {
    const [count = 0, first] = db.prepare<[], [number, string]>(BEFORE_FIRST).raw().get() ?? []
    const message = `positions begin at 1, and ${count} more are before it, the first at ${first}`
    return count === 0 ? [] : [faultAt('position-order', message, {})]
  } catch (error) {
    return [faultAt('unreadable', `the store file cannot be read before position 1: ${reasonOf(error)}`, {})]
  }
}

export function faultAt(
  code: ScanFaultCode,
  message: string,
  place: Omit<ScanFault['fault'], 'code' | 'message'>,
): ScanFault {
  return { fault: { code, message, ...place } }
}

export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return `${message}${sqliteCode(error) === undefined ? '' : ` (${sqliteCode(error)})`}`
}
