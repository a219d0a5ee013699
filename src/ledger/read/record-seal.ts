/** @module Checks whether a stored record is the one that was sealed for its place, without looking at the record before it. */
import { type Expectation, type Fault, faultsIn } from '../../signing/check.ts'
import { readHeader } from '../../signing/header-reader.ts'
import type { ReadRecord } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { LedgerEvent } from '../ledger-event.ts'
import { checkedEvent } from './parse-record.ts'

const SEAL = { depth: 'fast', headersSuffice: true } as const

/** The expectation for an event that is checked on its own, with any predecessor. */
export function expectedAlone({ stream, revision, header }: ReadRecord, read = readHeader(header)): Expectation {
  const prevDigest = read.ok ? read.header.prev : undefined
  return { stream, revision, prevDigest, prevTime: undefined, minRingIndex: 0 }
}

/** The faults of the seal; empty if it is valid. Of a body in an archive that is elsewhere, the header alone is judged. */
export function sealFaults(sealer: Sealer, record: ReadRecord): readonly Fault[] {
  return faultsAlone(sealer, record, readHeader(record.header))
}

/** If the key is unknown to this process, the key ring is reloaded and the check repeated once. */
function faultsAlone(sealer: Sealer, record: ReadRecord, read: ReturnType<typeof readHeader>): readonly Fault[] {
  if (!read.ok) return [read]
  const expected = expectedAlone(record, read)
  const once = () => faultsIn(record, read, expected, { ring: sealer.ring, runKeys: sealer.runKeys, ...SEAL })
  const faults = once()
  if (!faults.some(({ code }) => code === 'unknown-key')) return faults
  sealer.reload()
  return once()
}

/** Whether the seal is valid; an invalid one is reported. */
export function sealOf(sealer: Sealer, record: ReadRecord): 'valid' | 'invalid' {
  return sealIn(sealer, record, sealFaults(sealer, record))
}

/** The event as it is shown, with its seal; an invalid seal is reported. */
export function shownEvent(sealer: Sealer, record: ReadRecord): LedgerEvent {
  const read = readHeader(record.header)
  const seal = sealIn(sealer, record, faultsAlone(sealer, record, read))
  return checkedEvent(record, { header: read.ok ? read.header : undefined, seal })
}

function sealIn(sealer: Sealer, record: ReadRecord, faults: readonly Fault[]): 'valid' | 'invalid' {
  reportFaults(sealer, record, faults)
  return faults.length === 0 ? 'valid' : 'invalid'
}

/** Reports the first fault to the listeners that record events that do not verify. */
export function reportFaults(sealer: Sealer, { stream, revision }: ReadRecord, faults: readonly Fault[]): void {
  // An archive that is elsewhere is not a fault of the event.
  const [first] = faults.filter(({ code }) => code !== 'archive-missing')
  if (first !== undefined) sealer.faultFound({ stream, revision, code: first.code, message: first.message })
}
