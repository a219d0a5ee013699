/** @module Determines whether an append whose answer was lost is in the store, by comparing header texts, which contain ids and MACs. */
import type { Append, EventStore, ReadRecord } from './event-store.ts'

/** Reads after the expected revision. Throws the errors of the read; the outcome is then unknown. */
export async function wasWritten(
  store: Pick<EventStore, 'readStream'>,
  { stream, expectedRevision, records }: Append,
): Promise<boolean> {
  const from = expectedRevision + 1
  const found: ReadRecord[] = []
  for await (const page of store.readStream(stream, { from, to: expectedRevision + records.length })) {
    found.push(...page)
  }
  return isAppend(found, records)
}

/** Whether the records found are exactly the appended ones, complete and in order. */
export function isAppend(found: readonly Pick<ReadRecord, 'header'>[], records: Append['records']): boolean {
  return found.length === records.length && found.every(({ header }, index) => header === records[index]?.header)
}
