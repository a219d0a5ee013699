/** @module Checks that every backend makes on an append before it reads any stream. A violation is an error of the caller, not a refusal. */
import type { AppendRecord } from '../../schemas/header.ts'
import { type Append, NO_STREAM } from './event-store.ts'

/** Size of a record as `maxAppendBytes` counts it: header, salt and data, texts in UTF-8. */
function recordBytes(record: AppendRecord): number {
  return Buffer.byteLength(record.header) + record.salt.byteLength + Buffer.byteLength(record.data)
}

/**
 * Returns the size of the append in bytes. Throws `RangeError` for an append that is empty or over `maxAppendBytes`, an invalid expected revision, an
 * empty stream name, or a request id that occurs on two of its records.
 */
export function checkAppend({ stream, expectedRevision, records }: Append, maxAppendBytes: number): number {
  if (stream === '') throw new RangeError('an append needs the name of its stream')
  if (!Number.isSafeInteger(expectedRevision) || expectedRevision < NO_STREAM) {
    throw new RangeError(`${expectedRevision} is no expected revision`)
  }
  if (records.length === 0) throw new RangeError('an append needs at least one record')
  if (records.length > 1) refuseRepeatedRequest(records)

  const bytes = records.reduce((sum, record) => sum + recordBytes(record), 0)
  if (bytes > maxAppendBytes) throw new RangeError(`the append has ${bytes} bytes, the store takes ${maxAppendBytes}`)
  return bytes
}

function refuseRepeatedRequest(records: readonly AppendRecord[]): void {
  const seen = new Set<string>()
  for (const { requestId } of records) {
    if (requestId === undefined) continue
    if (seen.has(requestId)) throw new RangeError(`two records of one append carry the request id ${requestId}`)
    seen.add(requestId)
  }
}
