/** @module The recorded archives of a tenant: what callers see of them, and a pure fold over the events of the tenant's ledger stream. */
import type { ArchiveAnswer, ArchivesAnswer } from '../../../schemas/answers/archives.ts'
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

/** A recorded archive. */
export interface ArchiveOnRecord extends Omit<ArchiveBody, 'v'> {
  readonly at: string
  readonly by: string
}

/** The recorded archives of a tenant, oldest first. The last one has its runs, whose bodies may not be moved yet. */
export interface RecordedArchives {
  readonly list: readonly ArchiveAnswer[]
  /** The highest number of an archive's name, 0 if there is none. */
  readonly highest: number
  readonly last: ArchiveOnRecord | undefined
}

export interface Archives {
  /** The recorded archives, and the active holds: id of the hold on a run, undefined if none covers it. */
  of(
    caller: Caller,
  ): Promise<Answered<{ readonly archives: RecordedArchives; readonly holdOn: (run: string) => string | undefined }>>
  /** For callers: the recorded archives. */
  list(caller: Caller): Promise<Answered<ArchivesAnswer>>
  /** Whether the bodies of a run were moved out of the store; false also for a run that is not there. */
  isArchived(caller: Caller, run: string): Promise<boolean>
  /**
   * Records a file that was written and checked, then moves these bodies out of the store. Refused if a hold covers one of the runs by now (`held`), or one of
   * them has other events (`revision-conflict`).
   */
  archive(caller: Caller, body: ArchiveBody, rows: readonly MovedRow[]): Promise<Answered<ArchiveBody>>
  /** The parts of a large value as they are stored, each with the result of its seal check. */
  valueParts(caller: Caller, digest: string): AsyncIterable<readonly LedgerEvent[]>
  /** Moves the bodies of the last recorded archive, as after a crash between its record and the move. Refused like `archive`. */
  finish(caller: Caller, last: ArchiveOnRecord, rows: readonly MovedRow[]): Promise<Answered<ArchiveOnRecord>>
}

export const NO_ARCHIVES: RecordedArchives = { list: [], highest: 0, last: undefined }

/** The archives after one more event whose seal is valid. */
export function withArchive(
  known: RecordedArchives,
  { header: text, data }: Pick<ReadRecord, 'header' | 'data'>,
): RecordedArchives {
  const read = readHeader(text)
  if (!read.ok || read.header.type !== 'RunsArchived') return known
  const { v: _, ...body } = EVENTS.RunsArchived.schema.parse(parseJsonOrUndefined(data))
  const { time: at, actor, principal } = read.header
  const last = { ...body, at, by: principal ?? actor }
  return {
    list: [...known.list, summaryOf(last)],
    highest: Math.max(known.highest, archiveNumber(body.archive)),
    last,
  }
}

function summaryOf({
  archive,
  at,
  by,
  digest,
  bytes,
  events,
  runs,
  values = [],
  classes,
}: ArchiveOnRecord): ArchiveAnswer {
  return { archive, at, by, digest, bytes, events, runs: runs.length, values: values.length, classes }
}
