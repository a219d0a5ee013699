/** @module Whether a stored record is the one that was sealed for its place, by itself: who stands before it is not looked at. */
import { type CheckResult, checkRecord, type Expectation, type Fault } from '../../signing/check.ts'
import { readHeader } from '../../signing/header-reader.ts'
import type { ReadRecord } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { LedgerEvent } from '../ledger-event.ts'
import { checkedEvent } from './parse-record.ts'

/** What an event that is looked at by itself has to be: whatever stands before it. */
export function expectedAlone({ stream, revision, header }: ReadRecord, read = readHeader(header)): Expectation {
  const prevDigest = read.ok ? read.header.prev : undefined
  return { stream, revision, prevDigest, prevTime: undefined, minRingIndex: 0 }
}

/** What does not hold; empty where the seal fits. */
export function sealFaults(sealer: Sealer, record: ReadRecord): readonly Fault[] {
  return faultsOf(checkedAlone(sealer, record))
}

/** A key that this process has not heard of is looked for in the ring once more. */
function checkedAlone(sealer: Sealer, record: ReadRecord): CheckResult {
  const read = readHeader(record.header)
  const expected = expectedAlone(record, read)
  const once = () => checkRecord(record, expected, { ring: sealer.ring, runKeys: sealer.runKeys, depth: 'fast' }, read)
  const checked = once()
  if (checked.ok || !checked.faults.some(({ code }) => code === 'unknown-key')) return checked
  sealer.reload()
  return once()
}

function faultsOf(checked: CheckResult): readonly Fault[] {
  return checked.ok ? [] : checked.faults
}

/** Whether the seal fits; one that does not is reported. */
export function sealOf(sealer: Sealer, record: ReadRecord): 'valid' | 'invalid' {
  return sealIn(sealer, record, checkedAlone(sealer, record))
}

/** The event as it is shown, with its seal; one that does not fit is reported. */
export function shownEvent(sealer: Sealer, record: ReadRecord): LedgerEvent {
  const checked = checkedAlone(sealer, record)
  const { header, digest } = checked
  return checkedEvent(record, { header, digest, seal: sealIn(sealer, record, checked) })
}

function sealIn(sealer: Sealer, record: ReadRecord, checked: CheckResult): 'valid' | 'invalid' {
  const faults = faultsOf(checked)
  reportFaults(sealer, record, faults)
  return faults.length === 0 ? 'valid' : 'invalid'
}

/** To whoever keeps the record of what does not verify. */
export function reportFaults(sealer: Sealer, { stream, revision }: ReadRecord, faults: readonly Fault[]): void {
  const [first] = faults
  if (first !== undefined) sealer.faultFound({ stream, revision, code: first.code, message: first.message })
}
