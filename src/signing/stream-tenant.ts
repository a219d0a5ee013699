/** @module The tenant that a stream's name contains (REC-9), and the tenant of the log that holds its events as leaves. */
import { parseStream } from '../../schemas/names.ts'

/** Undefined if the name is not that of a ledger's stream. */
export function streamTenant(stream: string): string | undefined {
  return parseStream(stream)?.tenant
}

/** Whether the stream holds a large value. Its events are not leaves of a log, since the event that names the value carries its digest. */
export function isValueStream(stream: string): boolean {
  return stream.startsWith('value-') && parseStream(stream)?.kind === 'value'
}

/** Whether bodies of the stream may be in an archive: those of runs, and their large values. */
export function isArchivable(stream: string): boolean {
  const kind = parseStream(stream)?.kind
  return kind === 'run' || kind === 'value'
}

/** Tenant of the log that holds the stream's events as leaves; undefined if no log does. */
export function logTenant(stream: string): string | undefined {
  return isValueStream(stream) ? undefined : streamTenant(stream)
}
