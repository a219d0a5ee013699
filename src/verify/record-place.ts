/** @module The place of a record, as reported in a fault. */
import type { VerifyFault } from './fault.ts'
import type { PlacedRecord } from './source-item.ts'
import type { Judged } from './stream-check.ts'

export function placeOf(
  record: PlacedRecord,
  { header, revision = record.revision }: Partial<Judged>,
): Omit<VerifyFault, 'code' | 'message'> {
  const { stream, position } = record
  return {
    stream,
    revision,
    ...(position !== undefined && { position }),
    ...(header !== undefined && { eventId: header.id }),
  }
}

/** The event id in a header's text; undefined if there is none. */
export function idOf(header: string): string | undefined {
  return /"id":"([0-9a-f-]{36})"/.exec(header)?.[1]
}
