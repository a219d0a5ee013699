/** @module The events of the ledger's own stream, each verified in its place, past those that were acknowledged as lost (LOG-75). */
import { type LostEvent, placeText } from '../../../schemas/acknowledged-loss.ts'
import { SYSTEM_STREAM, SYSTEM_TENANT } from '../../../schemas/names.ts'
import { type CheckResult, checkRecord, type Expectation, type Fault, nextExpectation } from '../../signing/check.ts'
import type { EventStore, ReadRecord } from '../../store/event-store.ts'
import { Acknowledgements } from '../log/acknowledgements.ts'
import { expectedAlone } from '../read/record-seal.ts'
import type { Sealer } from './sealer.ts'

export interface SystemEventsDeps {
  readonly store: EventStore
  readonly sealer: Sealer
  /** `acknowledges`: events after a loss that is not acknowledged yet are verified alone, so that it can be acknowledged. */
  readonly logs?: { readonly acknowledges?: boolean | undefined } | undefined
}

export interface SystemEvent {
  readonly record: ReadRecord
  readonly checked: Extract<CheckResult, { ok: true }>
  /** What the next event has to continue. */
  readonly next: Expectation
}

type Lost = ReadonlyMap<string, LostEvent>

/** From the event that is expected first. Throws what `damaged` makes of the first event that does not verify. */
export async function* systemEvents(
  { store, sealer, logs }: SystemEventsDeps,
  first: Expectation,
  damaged: (revision: number, faults: readonly Fault[]) => Error,
): AsyncGenerator<SystemEvent, void> {
  const check = (record: ReadRecord, at: Expectation): CheckResult =>
    checkRecord(record, at, { ring: sealer.ring, runKeys: sealer.runKeys })
  const isTolerant = logs?.acknowledges === true
  let expected = first
  let lost: Lost | undefined
  for await (const page of store.readStream(SYSTEM_STREAM, { from: expected.revision })) {
    for (const record of page) {
      let checked = check(record, expected)
      if (!checked.ok) {
        lost ??= (await new Acknowledgements({ store, sealer }).of(SYSTEM_TENANT)).places
        checked = check(record, behind(expected, record.revision, lost))
      }
      if (!checked.ok && isTolerant && record.revision > 0) checked = check(record, expectedAlone(record))
      if (checked.ok) {
        expected = nextExpectation(checked)
        yield { record, checked, next: expected }
        continue
      }
      const isLost = record.revision > 0 && lost?.has(placeText(record)) === true
      if (!isLost && !(isTolerant && record.revision > 0)) throw damaged(record.revision, checked.faults)
      expected = behind(expected, record.revision + 1, lost)
    }
  }
}

/** The expectation at a revision, past lost events before it. The founding event is never passed. */
function behind(expected: Expectation, revision: number, lost: Lost | undefined): Expectation {
  let at = expected
  while (at.revision > 0 && at.revision < revision) {
    const digest = lost?.get(placeText(at))?.digest
    if (digest === undefined) return at
    at = { ...at, revision: at.revision + 1, prevDigest: digest }
  }
  return at
}
