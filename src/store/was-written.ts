/** @module Whether an append whose answer was lost is in the store: decided by the header texts, which hold ids and macs. */
import type { Append, EventStore, ReadRecord } from './event-store.ts'

/** Reads on from the expected revision. Throws what reading the store throws: then nobody knows. */
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

/** Whether what stands there is what was appended, all of it and in its order. */
export function isAppend(found: readonly Pick<ReadRecord, 'header'>[], records: Append['records']): boolean {
  return found.length === records.length && found.every(({ header }, index) => header === records[index]?.header)
}
