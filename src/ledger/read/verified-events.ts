/** @module Reads events for a decision or an answer; each record is verified before it is used. */
import type { RecordedEvent } from '../../../projections/projection.ts'
import type { Pace } from '../../resources/work-queue.ts'
import { checkRecord, type Expectation, firstExpectation, nextExpectation } from '../../signing/check.ts'
import { archiveMissing } from '../../store/archive-missing-error.ts'
import type { EventStore, ReadRecord } from '../../store/event-store.ts'
import { pacedPages } from '../../store/paced-pages.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Head } from '../write/run-aggregate.ts'
import { recordedEvent } from './parse-record.ts'
import { expectedAlone, reportFaults } from './record-seal.ts'

/** A record of the stream does not verify: no decision may be based on it, and no query is answered from it. */
export class DamagedStreamError extends Error {
  readonly stream: string
  readonly revision: number

  constructor(stream: string, revision: number, reason: string) {
    super(`${stream} @ ${revision}: ${reason}; run "countersign verify" and restore the store from a copy`)
    this.name = 'DamagedStreamError'
    this.stream = stream
    this.revision = revision
  }
}

export interface VerifyDeps {
  readonly store: EventStore
  readonly sealer: Sealer
}

export type DigestedEvent = RecordedEvent & { readonly digest: string }

/** Events with verified links. Throws `DamagedStreamError` at the first record that is not the one sealed for its place. */
export async function* verifiedEvents(
  { store, sealer }: VerifyDeps,
  stream: string,
  range: { readonly after?: Head | undefined; readonly to?: number; readonly pace?: Pace | undefined },
): AsyncGenerator<{ readonly event: DigestedEvent; readonly ringIndex: number; readonly chars: number }> {
  let expected = range.after === undefined ? firstExpectation(stream) : expectationAfter(stream, range.after)
  const to = range.to === undefined ? {} : { to: range.to }
  for await (const page of pacedPages(store.readStream(stream, { from: expected.revision, ...to }), range.pace)) {
    for (const record of page) {
      const checked = checkInStream(sealer, record, expected)
      expected = nextExpectation(checked)
      const event = Object.assign(recordedEvent(checked.header, record.data), { digest: checked.digest })
      yield { event, ringIndex: checked.ringIndex, chars: record.header.length + record.data.length }
    }
  }
}

/** One event on its own: its seal, body and place are verified, but not its link to the event before it. */
export function verifiedEvent(sealer: Sealer, record: ReadRecord): DigestedEvent {
  const checked = checkAlone(sealer, record)
  return Object.assign(recordedEvent(checked.header, record.data), { digest: checked.digest })
}

/** What the next event of the stream has to continue, derived from the last one, of any type. */
export function expectedNext(sealer: Sealer, record: ReadRecord): Expectation {
  return nextExpectation(checkAlone(sealer, record))
}

function checkAlone(sealer: Sealer, record: ReadRecord) {
  return checkInStream(sealer, record, expectedAlone(record))
}

/** Verifies one record against the expectation from the record before it. Throws `DamagedStreamError`, and `ArchiveMissingError` if its body is elsewhere. */
export function checkInStream(sealer: Sealer, record: ReadRecord, expected: Expectation) {
  const once = () => checkRecord(record, expected, { ring: sealer.ring, runKeys: sealer.runKeys, depth: 'fast' })
  let checked = once()
  if (!checked.ok && checked.faults.some((fault) => fault.code === 'unknown-key')) {
    sealer.reload()
    checked = once()
  }
  if (checked.ok) return checked
  reportFaults(sealer, record, checked.faults)
  // Anything else that is wrong is damage, wherever the body is.
  if (record.archive !== undefined && checked.faults.every(({ code }) => code === 'archive-missing'))
    throw archiveMissing(record.archive)
  const reason = checked.faults.map((fault) => `${fault.code}: ${fault.message}`).join('; ')
  throw new DamagedStreamError(record.stream, record.revision, reason)
}

function expectationAfter(stream: string, { revision, digest, time, ringIndex }: Head): Expectation {
  return { stream, revision: revision + 1, prevDigest: digest, prevTime: time, minRingIndex: ringIndex }
}
