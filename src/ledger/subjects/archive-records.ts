/** @module The archives of a tenant on record: what callers see of them, and a pure fold over the events of the tenant's ledger stream. */
import { EVENTS, type EventBody } from '../../../schemas/events.ts'
import { parseJsonOrUndefined } from '../../../schemas/json.ts'
import { archiveNumber } from '../../../schemas/retention.ts'
import type { Caller } from '../../access/caller.ts'
import { readHeader } from '../../signing/header-reader.ts'
import type { MovedRow } from '../../store/archived-body.ts'
import type { ReadRecord } from '../../store/event-store.ts'
import type { LedgerEvent } from '../ledger-event.ts'
import type { Answered } from './subjects.ts'

export type ArchiveBody = EventBody<'RunsArchived'>

/** An archive on record. */
export interface ArchiveOnRecord extends Omit<ArchiveBody, 'v'> {
  readonly at: string
  readonly by: string
}

/** What archives and holds of a tenant are on record. The last archive has its runs, whose bodies may not be moved yet. */
export interface RecordedArchives {
  readonly count: number
  /** The highest number of an archive's name, 0 if there is none. */
  readonly highest: number
  readonly runs: number
  readonly last: ArchiveOnRecord | undefined
}

export interface Archives {
  /** The archives on record, and the active holds: id of the hold on a run, undefined if none covers it. */
  of(
    caller: Caller,
  ): Promise<Answered<{ readonly archives: RecordedArchives; readonly holdOn: (run: string) => string | undefined }>>
  /** Records a file that was written and checked, then moves these bodies out of the store. Refused (`held`) if a hold covers one of the runs by now. */
  archive(caller: Caller, body: ArchiveBody, rows: readonly MovedRow[]): Promise<Answered<ArchiveBody>>
  /** The parts of a large value as they are stored, each with the result of its seal check. */
  valueParts(caller: Caller, digest: string): AsyncIterable<readonly LedgerEvent[]>
  /** Moves the bodies of the last archive on record, as after a crash between its record and the move. */
  finish(caller: Caller, last: ArchiveOnRecord, rows: readonly MovedRow[]): Promise<Answered<ArchiveOnRecord>>
}

export const NO_ARCHIVES: RecordedArchives = { count: 0, highest: 0, runs: 0, last: undefined }

/** The archives after one more event whose seal is valid. */
export function withArchive(
  known: RecordedArchives,
  { header: text, data }: Pick<ReadRecord, 'header' | 'data'>,
): RecordedArchives {
  const read = readHeader(text)
  if (!read.ok || read.header.type !== 'RunsArchived') return known
  const { v: _, ...body } = EVENTS.RunsArchived.schema.parse(parseJsonOrUndefined(data))
  const { time: at, actor, principal } = read.header
  return {
    count: known.count + 1,
    highest: Math.max(known.highest, archiveNumber(body.archive)),
    runs: known.runs + body.runs.length,
    last: { ...body, at, by: principal ?? actor },
  }
}
