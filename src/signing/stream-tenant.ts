/** @module The tenant that a stream's name carries (REC-9), and the log that its events are leaves of. */
import { parseStream } from '../../schemas/names.ts'

/** Undefined where the name is none of the ledger's. */
export function streamTenant(stream: string): string | undefined {
  return parseStream(stream)?.tenant
}

/** Whether the stream holds a large value: no leaf of a log, since the event that names the value carries its digest. */
export function isValueStream(stream: string): boolean {
  return stream.startsWith('value-') && parseStream(stream)?.kind === 'value'
}

/** Tenant of the log in which events of the stream are leaves; undefined where they are in none. */
export function logTenant(stream: string): string | undefined {
  return isValueStream(stream) ? undefined : streamTenant(stream)
}
