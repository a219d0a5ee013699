/** @module The acknowledged losses that a store records itself, for a process that only reads and whose log file does not know them (LOG-97). */
import { isAcknowledgement } from '../../schemas/acknowledged-loss.ts'
import type { Loss } from '../../schemas/loss.ts'
import { ledgerStream } from '../../schemas/names.ts'
import { ACKNOWLEDGED } from '../ledger/ledger-stats.ts'
import { expectedAlone } from '../ledger/read/record-seal.ts'
import { checkRecord } from '../signing/check.ts'
import { isHeldPlace } from '../signing/held-place.ts'
import { createRunKeys } from '../signing/key-ring.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'
import type { Position, RecordPages, StoreReader } from '../store/event-store.ts'
import { type AcknowledgedEvent, FoundAcknowledgements } from '../verify/acknowledged-losses.ts'

type Reader = Pick<StoreReader, 'comparePositions' | 'readAll' | 'readStream'>

/** An acknowledged event, and where the store has the acknowledgement. */
export interface AcknowledgedAt extends AcknowledgedEvent {
  readonly acknowledgedAt: Position
}

/** The acknowledgements among these records whose own seals are valid. */
export async function acknowledgedAmong(pages: RecordPages, { ring }: LedgerKeys): Promise<readonly AcknowledgedAt[]> {
  const checking = { ring, runKeys: createRunKeys(ring), depth: 'full' } as const
  const found = new FoundAcknowledgements()
  const lost: AcknowledgedAt[] = []
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
  reader: Pick<Reader, 'readStream'>,
  tenants: readonly string[],
  keys: LedgerKeys,
): Promise<readonly AcknowledgedAt[]> {
  const found: AcknowledgedAt[] = []
  for (const tenant of tenants) found.push(...(await acknowledgedAmong(reader.readStream(ledgerStream(tenant)), keys)))
  return found
}

export const lossOfEvent = ({ stream, revision }: AcknowledgedEvent): Loss => ({
  ...{ scope: 'run', code: ACKNOWLEDGED, stream, revision },
})

/**
 * Those of the missing positions for which no acknowledged event accounts. Each event accounts for one position at most, between its neighbours in its stream,
 * and before its acknowledgement. `missing`: in ascending order.
 */
export async function unexplained(
  reader: Reader,
  missing: readonly Position[],
  acknowledged: readonly AcknowledgedAt[],
): Promise<readonly Position[]> {
  const spans = [...(await spansOf(reader, acknowledged))].sort((a, b) => byAfter(reader, a, b))
  const open: Span[] = []
  let next = 0
  return missing.filter((position) => {
    for (let span = spans[next]; span !== undefined && isAfter(reader, span, position); span = spans[++next])
      open.splice(placeIn(reader, open, span), 0, span)
    while (open[0] !== undefined && reader.comparePositions(open[0].before, position) <= 0) open.shift()
    // The one that ends first: those that end later may account for later positions.
    return open.shift() === undefined
  })
}

type Positions = Pick<Reader, 'comparePositions'>

function byAfter(positions: Positions, { after: a }: Span, { after: b }: Span): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined)
  return positions.comparePositions(a, b)
}

const isAfter = (positions: Positions, { after }: Span, position: Position): boolean =>
  after === undefined || positions.comparePositions(after, position) < 0

/** Where the span belongs among those in the order of their ends. */
function placeIn(positions: Positions, open: readonly Span[], { before }: Span): number {
  let [low, high] = [0, open.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (positions.comparePositions(open[middle]?.before ?? before, before) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** The positions between which the event was. */
interface Span {
  readonly after: Position | undefined
  readonly before: Position
}

/** Of the events that left nothing in their place. */
async function spansOf(reader: Reader, acknowledged: readonly AcknowledgedAt[]): Promise<readonly Span[]> {
  const byStream = Map.groupBy(acknowledged, ({ stream }) => stream)
  const spans: Span[] = []
  for (const [stream, events] of byStream) {
    let open = [...events].sort((a, b) => a.revision - b.revision)
    let after: Position | undefined
    const close = (isOver: (event: AcknowledgedAt) => boolean, before?: Position): void => {
      for (const { acknowledgedAt } of open.filter(isOver)) spans.push({ after, before: before ?? acknowledgedAt })
      open = open.filter((event) => !isOver(event))
    }
    const from = Math.max(0, (open[0]?.revision ?? 0) - 1)
    for await (const page of reader.readStream(stream, { from })) {
      for (const record of page) {
        if (isHeldPlace(record)) continue
        open = open.filter(({ revision }) => revision !== record.revision)
        close(({ revision }) => revision < record.revision, record.position)
        after = record.position
      }
      if (open.length === 0) break
    }
    close(() => true)
  }
  return spans
}
