/**
 * @module Faults that a verification of the whole store finds by means of its writers' notes: lost events, lost rows of groups, and events that no note
 * attests.
 */
import { parsePosition } from '../decimal-position.ts'
import type { LostEvents, NoteSeal, Position } from '../event-store.ts'
import { type GroupRows, groupRows, type IsAcknowledged, NoteCheck } from './group-check.ts'
import { settledFor } from './reads.ts'
import { GROUP_SIZE } from './schema.ts'
import { read, type Sessions } from './sessions.ts'
import type { Timings } from './timings.ts'

export interface NoteScan {
  readonly seal: NoteSeal
  /** Called with a description of events that no note attests. */
  readonly onUnattested: (text: string) => void
  /** Position after which events were attested, as known from a source outside the store. */
  readonly attestedAfter?: Position | undefined
  /** Absent: no event is. */
  readonly isAcknowledged?: IsAcknowledged | undefined
}

export interface NoteFault {
  readonly code: 'missing' | 'group-notes' | 'key-missing'
  readonly message: string
  readonly stream?: string
  readonly revision?: number
}

/** Checks up to the end of the store at the start of the check. */
export async function* noteFaults(
  sessions: Sessions,
  { writersMs }: Timings,
  { seal, onUnattested, attestedAfter, isAcknowledged = () => false }: NoteScan,
): AsyncGenerator<readonly NoteFault[], void> {
  const upTo = Math.floor((await settledFor(sessions, writersMs)) / GROUP_SIZE)
  const check = new NoteCheck(sessions, seal, { isAcknowledged })
  let unknownKeys = 0
  const named = new Set<string>()
  for await (const page of check.pages({ after: 0, upTo })) {
    unknownKeys += page.unknownKeys
    yield [...page.broken, ...page.altered].map(noteFault)
    // Two writers may have attested the same event.
    const lost = new Map(page.lost.filter(({ position }) => !named.has(position)).map((each) => [each.position, each]))
    for (const position of lost.keys()) named.add(position)
    yield await lostFaults(sessions, splitAt([...lost.values()], isAcknowledged), isAcknowledged)
  }
  if (unknownKeys > 0) {
    const message = `${unknownKeys} notes of groups are sealed with keys that these keys lack: use the newest key file`
    yield [{ code: 'key-missing', message }]
  }
  const rows = await groupRows(sessions, upTo, check.acknowledged)
  // Each writer's first note says since when notes are written.
  const areGone = attestedAfter !== undefined && check.since.size === 0 && unknownKeys === 0
  if (areGone) yield [noteFault('every note of a writer is gone: log.db has seen some')]
  yield [...rowFaults(rows, check.since), ...laterFaults(rows, attestedAfter)]
  for (const text of unattested(rows)) onUnattested(text)
}

function noteFault(message: string): NoteFault {
  return { code: 'group-notes', message }
}

/** One by one where any of the events is acknowledged, so that each can be judged by itself. */
function splitAt(lost: readonly LostEvents[], isAcknowledged: IsAcknowledged): readonly LostEvents[] {
  return lost.flatMap((each) => {
    const single = Array.from({ length: each.events }, (_, place) => ({
      ...each,
      revision: each.revision + place,
      position: String(parsePosition(each.position) + place),
      events: 1,
    }))
    return single.some(isAcknowledged) ? single : [each]
  })
}

/** If a later event of the stream exists, the check of the stream itself reports the gap; it reports what is acknowledged as well. */
async function lostFaults(
  sessions: Sessions,
  lost: readonly LostEvents[],
  isAcknowledged: IsAcknowledged,
): Promise<readonly NoteFault[]> {
  if (lost.length === 0) return []
  const table = `${sessions.target.schema}.events`
  const rows = await read(
    sessions,
    `SELECT (SELECT position FROM ${table} e WHERE e.stream = l.stream COLLATE "C" AND e.revision = l.revision) AS elsewhere,
      EXISTS (SELECT FROM ${table} e WHERE e.stream = l.stream COLLATE "C" AND e.revision >= l.revision + l.events) AS is_within
      FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS l (stream, revision, events, ord) ORDER BY l.ord`,
    [lost.map(({ stream }) => stream), lost.map(({ revision }) => revision), lost.map(({ events }) => events)],
  )
  return lost.flatMap(({ stream, revision, position, events }, at): readonly NoteFault[] => {
    const { elsewhere, is_within: isWithin } = rows[at] ?? {}
    if (elsewhere != null)
      return [noteFault(`${stream} @ ${revision} lies at position ${elsewhere}, and its writer put it at ${position}`)]
    if (isWithin === true || isAcknowledged({ stream, revision })) return []
    const count = events === 1 ? 'this event is' : `${events} events from here on are`
    const message = `${count} gone: the writer attested what it put at position ${position}`
    return [{ code: 'missing', message, stream, revision }]
  })
}

function rowFaults({ noRow, noEvent, since }: GroupRows, seen: ReadonlySet<number>): readonly NoteFault[] {
  const faults: NoteFault[] = []
  if (noRow.groups > 0)
    faults.push(noteFault(`${countOf(noRow.groups)} without the row that each has, the first of them ${noRow.first}`))
  if (noEvent.groups > 0)
    faults.push(noteFault(`all events of ${countOf(noEvent.groups)} gone, the first of them ${noEvent.first}`))
  const other = [...seen].find((each) => each !== since)
  if (other !== undefined)
    faults.push(noteFault(`groups are attested from behind ${other} on, and the store says from behind ${since}`))
  return faults
}

/** Detects that the store claims a later start of the notes than the known one: notes from before are gone, and perhaps the events they attested. */
function laterFaults({ since }: GroupRows, attestedAfter: Position | undefined): readonly NoteFault[] {
  const known = attestedAfter === undefined ? since : Math.floor(parsePosition(attestedAfter) / GROUP_SIZE)
  if (since <= known) return []
  return [
    noteFault(
      `groups were attested from behind ${known} on, as log.db has seen, and the store says from behind ${since}`,
    ),
  ]
}

function countOf(groups: number): string {
  return groups === 1 ? '1 group of events is' : `${groups} groups of events are`
}

function unattested({ before, unnoted }: GroupRows): readonly string[] {
  const texts: string[] = []
  if (before > 0)
    texts.push(
      `whether events were cut off the ends of streams among the ${before} first ones: they were written before groups were attested, and only checkpoints show their ends`,
    )
  if (unnoted > 0)
    texts.push(
      `whether events were cut off the ends of streams among ${unnoted} that no writer attests: processes of an earlier build wrote them, or something beside the ledger did`,
    )
  return texts
}
