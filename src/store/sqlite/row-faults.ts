/** @module What a scan of rows says where one cannot be read, or is none. */
import { sqliteCode } from './open.ts'
import type { ScanFault, ScanFaultCode } from './scanned-rows.ts'

export function unreadable(last: bigint, next: bigint | undefined, error: unknown): ScanFault {
  const where = next === undefined ? `after position ${last}` : `between positions ${last} and ${next + 1n}`
  return faultAt('unreadable', `the store file cannot be read ${where}: ${reasonOf(error)}`, {})
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
