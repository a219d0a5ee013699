/** @module The positions for which events that are acknowledged as lost account: each for one at most (LOG-97). */
import { isHeldPlace } from '../../signing/held-place.ts'
import type { EventStore, Position } from '../../store/event-store.ts'

type Reader = Pick<EventStore, 'comparePositions' | 'readStream'>

/** An event that is acknowledged as lost. */
export interface LostAt {
  readonly stream: string
  readonly revision: number
  /** Where the store has the acknowledgement; undefined if that is not known. */
  readonly acknowledgedAt?: Position
}

/**
 * Those of the missing positions for which no acknowledged event accounts. Each event accounts for one position at most, between its neighbours in its stream,
 * and before its acknowledgement. `missing`: in ascending order.
 */
export async function unexplained(
  reader: Reader,
  missing: readonly Position[],
  acknowledged: readonly LostAt[],
): Promise<readonly Position[]> {
  const spans = [...(await spansOf(reader, acknowledged))].sort((a, b) => byAfter(reader, a, b))
  const open: Span[] = []
  let next = 0
  return missing.filter((position) => {
    for (let span = spans[next]; span !== undefined && isAfter(reader, span, position); span = spans[++next])
      open.splice(placeIn(reader, open, span), 0, span)
    while (open[0]?.before !== undefined && reader.comparePositions(open[0].before, position) <= 0) open.shift()
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
    const end = open[middle]?.before
    if (end !== undefined && (before === undefined || positions.comparePositions(end, before) < 0)) low = middle + 1
    else high = middle
  }
  return low
}

/** The positions between which the event was. */
interface Span {
  readonly after: Position | undefined
  /** Undefined: up to the end of the store. */
  readonly before: Position | undefined
}

/** Of the events that left nothing in their place. */
async function spansOf(reader: Reader, acknowledged: readonly LostAt[]): Promise<readonly Span[]> {
  const byStream = Map.groupBy(acknowledged, ({ stream }) => stream)
  const spans: Span[] = []
  for (const [stream, events] of byStream) {
    let open = [...events].sort((a, b) => a.revision - b.revision)
    let after: Position | undefined
    const close = (isOver: (event: LostAt) => boolean, before?: Position): void => {
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
