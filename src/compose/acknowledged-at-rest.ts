/** @module The acknowledged losses that a store records itself, for a process that only reads and whose log file does not know them (LOG-97). */
import { isAcknowledgement } from '../../schemas/acknowledged-loss.ts'
import type { Loss } from '../../schemas/loss.ts'
import { ledgerStream } from '../../schemas/names.ts'
import { ACKNOWLEDGED } from '../ledger/ledger-stats.ts'
import type { LostAt } from '../ledger/log/acknowledged-positions.ts'
import { expectedAlone } from '../ledger/read/record-seal.ts'
import { checkRecord } from '../signing/check.ts'
import { createRunKeys } from '../signing/key-ring.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'
import type { RecordPages, StoreReader } from '../store/event-store.ts'
import { type AcknowledgedEvent, FoundAcknowledgements } from '../verify/acknowledged-losses.ts'

/** The acknowledgements among these records whose own seals are valid. */
export async function acknowledgedAmong(
  pages: RecordPages,
  { ring }: LedgerKeys,
): Promise<readonly (AcknowledgedEvent & LostAt)[]> {
  const checking = { ring, runKeys: createRunKeys(ring), depth: 'full' } as const
  const found = new FoundAcknowledgements()
  const lost: (AcknowledgedEvent & LostAt)[] = []
  for await (const page of pages)
    for (const record of page) {
      if (!isAcknowledgement(record.header)) continue
      const checked = checkRecord(record, expectedAlone(record), checking)
      if (!checked.ok) continue
      const before = found.lost.length
      found.take(checked.header, record.data)
      lost.push(...found.lost.slice(before).map((each) => ({ ...each, acknowledgedAt: record.position })))
    }
  return lost
}

/** From the streams of acknowledgements of these tenants alone. */
export async function acknowledgedOf(
  reader: Pick<StoreReader, 'readStream'>,
  tenants: readonly string[],
  keys: LedgerKeys,
): Promise<readonly (AcknowledgedEvent & LostAt)[]> {
  const found: (AcknowledgedEvent & LostAt)[] = []
  for (const tenant of tenants) found.push(...(await acknowledgedAmong(reader.readStream(ledgerStream(tenant)), keys)))
  return found
}

export const lossOfEvent = ({ stream, revision }: AcknowledgedEvent): Loss => ({
  ...{ scope: 'run', code: ACKNOWLEDGED, stream, revision },
})
