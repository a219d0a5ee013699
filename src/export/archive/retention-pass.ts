/**
 * @module A pass of retention over a tenant (LIFE-51 to LIFE-54): which runs are due, and why others stay; then archive after archive, each written, checked,
 * recorded, and only then moved out of the store. A pass that ended anywhere is finished by the next one.
 */
import { readdir } from 'node:fs/promises'
import type { RefusalCode } from '../../../schemas/error-code.ts'
import {
  ARCHIVE_PATTERN,
  ARCHIVED_RUNS_MAX,
  archiveName,
  archiveNumber,
  type RetentionClass,
} from '../../../schemas/retention.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import { judgeRetention, type KeptBecause, type RetainedRun } from '../../domain/retention.ts'
import type { Caller, Ledger } from '../../ledger/ledger.ts'
import type { ArchiveOnRecord, RecordedArchives } from '../../ledger/subjects/archive-records.ts'
import { makeFolder } from '../../signing/durable-file.ts'
import { type EventStore, StoreUnavailableError } from '../../store/event-store.ts'
import {
  type ArchiveContents,
  type ArchivedRun,
  ArchiveFileError,
  checkArchive,
  keepArchive,
  PART_ENDING,
  removeArchive,
  UnsoundRunError,
  writeArchive,
} from './archive-file.ts'

const PAGE = 500
const EVENTS_MAX = 20_000
/** Refusals of one archive, because of a run in it; others do not concern the next archive. */
const OF_ONE_ARCHIVE: ReadonlySet<RefusalCode> = new Set<RefusalCode>(['held', 'revision-conflict'])

export interface DueRun {
  readonly run: string
  readonly class: string
  /** Since when it is due; RFC 3339. */
  readonly since: string
  /** Number of its events, as the list of runs has it. */
  readonly events: number
}

export interface KeptRun {
  readonly run: string
  readonly why: KeptBecause
  readonly class?: string
  /** When it will be due, if nothing is recorded for it before. */
  readonly dueAt?: string
  readonly hold?: string
}

export interface RetentionPlan {
  readonly due: readonly DueRun[]
  /** Runs that stay for a reason that somebody may want to know: all but those that are open, young or without a class. */
  readonly kept: readonly KeptRun[]
  readonly counts: Readonly<Record<KeptBecause | 'due' | 'archived', number>>
  /** When the next run becomes due that is only young now. */
  readonly nextDueAt?: string
}

export interface RetentionDeps {
  readonly ledger: Ledger
  readonly caller: Caller
  readonly classes: readonly RetentionClass[]
  readonly nowMs: () => number
}

type Made<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal }

/** What a pass would do now. Changes nothing. */
export async function planRetention(deps: RetentionDeps): Promise<Made<RetentionPlan>> {
  const { ledger, caller, classes, nowMs } = deps
  const found = await ledger.archives.of(caller)
  if (!found.ok) return found
  const at = { tenant: caller.tenant, classes, nowMs: nowMs(), holdOn: found.value.holdOn }
  const [due, kept]: [DueRun[], KeptRun[]] = [[], []]
  const counts = { due: 0, archived: 0, open: 0, unclassed: 0, young: 0, held: 0, 'in-doubt': 0, damaged: 0 }
  let nextDueAt: string | undefined
  for await (const run of allRuns(ledger, caller)) {
    await caller.pace?.turn()
    const judged = judgeRetention(run, at)
    if (judged.kind === 'due') {
      if (await ledger.archives.isArchived(caller, run.runId)) counts.archived += 1
      else {
        counts.due += 1
        due.push({ run: run.runId, class: judged.class, since: judged.since, events: run.revision + 1 })
      }
      continue
    }
    const { kind: _, ...reason } = judged
    counts[reason.why] += 1
    if (!ROUTINE.has(reason.why)) kept.push({ run: run.runId, ...reason })
    if (reason.dueAt !== undefined && (nextDueAt === undefined || reason.dueAt < nextDueAt)) nextDueAt = reason.dueAt
  }
  due.sort((one, other) => (one.since < other.since ? -1 : 1))
  return { ok: true, value: { due, kept, counts, ...(nextDueAt !== undefined && { nextDueAt }) } }
}

const ROUTINE: ReadonlySet<KeptBecause> = new Set<KeptBecause>(['open', 'young', 'unclassed'])

type ListedRun = RetainedRun & { readonly startedAt: string; readonly revision: number }

async function* allRuns(ledger: Ledger, caller: Caller): AsyncGenerator<ListedRun> {
  let after: { readonly startedAt: string; readonly runId: string } | undefined
  for (;;) {
    const { items } = await ledger.listRuns(caller, { limit: PAGE, ...(after && { after }) })
    // The ledger made these rows itself, from its own type.
    const runs = items as unknown as readonly ListedRun[]
    yield* runs
    const last = runs.at(-1)
    if (last === undefined || runs.length < PAGE) return
    after = { startedAt: last.startedAt, runId: last.runId }
  }
}

export interface MadeArchive {
  readonly archive: string
  readonly runs: number
  readonly events: number
  readonly bytes: number
  /** Set if an earlier pass had recorded it, and only the move was left. */
  readonly isFinished?: true
}

export interface RetentionPass {
  readonly archives: readonly MadeArchive[]
  /** Runs that were due and cannot be archived, each with the reason. */
  readonly unsound: readonly { readonly run: string; readonly why: string }[]
  /** Archives that were not made, since a hold was placed or a run has further events: the next pass plans their runs anew. */
  readonly postponed: readonly { readonly runs: number; readonly why: string }[]
  /** Ended the pass before everything was archived. */
  readonly refusal?: Refusal
}

export interface PassOptions extends RetentionDeps {
  /** Ends the pass before the next archive. */
  readonly signal?: AbortSignal
  readonly store: Pick<EventStore, 'moveBodies'>
  /** Folder of the archives, beside the store. */
  readonly folder: string
  /** Events of one archive; a run is never divided. Default: 20,000. */
  readonly eventsMax?: number
}

/** Archives all runs that are due. Throws `ArchiveFileError`, the errors of the file system and of the store; everything recorded so far stays good. */
export async function runRetention(options: PassOptions): Promise<Made<RetentionPass>> {
  const { ledger, caller, store, folder } = options
  if (store.moveBodies === undefined) return { ok: false, refusal: unavailable }
  makeFolder(folder)
  const found = await ledger.archives.of(caller)
  if (!found.ok) return found
  await removeUnrecorded(options, found.value.archives)
  const finished = await finishLast(options, found.value.archives.last)
  if (!finished.ok) return finished
  const planned = await planRetention(options)
  if (!planned.ok) return planned
  const passed = await archiveDue(options, planned.value.due)
  const archives = finished.value === undefined ? passed.archives : [finished.value, ...passed.archives]
  return { ok: true, value: { ...passed, archives } }
}

async function archiveDue(options: PassOptions, due: readonly DueRun[]): Promise<RetentionPass> {
  const archives: MadeArchive[] = []
  const unsound: { run: string; why: string }[] = []
  const postponed: { runs: number; why: string }[] = []
  let rest = due
  while (rest.length > 0 && options.signal?.aborted !== true) {
    const group = firstGroup(rest, options.eventsMax)
    try {
      const made = await archiveGroup(options, group)
      if (made.ok) archives.push(made.value)
      else if (OF_ONE_ARCHIVE.has(made.refusal.code)) postponed.push({ runs: group.length, why: made.refusal.detail })
      else return { archives, unsound, postponed, refusal: made.refusal }
      rest = rest.slice(group.length)
    } catch (error) {
      if (error instanceof StoreUnavailableError) return { archives, unsound, postponed, refusal: away(error) }
      if (!(error instanceof UnsoundRunError)) throw error
      unsound.push({ run: error.run, why: error.message })
      rest = rest.filter(({ run }) => run !== error.run)
    }
  }
  return { archives, unsound, postponed }
}

function away({ message, retryAfterMs }: StoreUnavailableError): Refusal {
  return refusal('store-unavailable', message, { retryAfterMs })
}

const unavailable = refusal(
  'archive-unavailable',
  'this kind of store keeps the bodies of its events: export runs from it instead (countersign export); archives need a store in a file (SQLite)',
)

function firstGroup(due: readonly DueRun[], eventsMax = EVENTS_MAX): readonly DueRun[] {
  let events = 0
  const end = due.findIndex((each, at) => {
    events += each.events
    return at > 0 && (events > eventsMax || at >= ARCHIVED_RUNS_MAX)
  })
  return end < 0 ? due : due.slice(0, end)
}

type Places = PassOptions & { readonly archive: string }

async function archiveGroup(options: PassOptions, group: readonly DueRun[]): Promise<Made<MadeArchive>> {
  const { ledger, caller } = options
  const found = await ledger.archives.of(caller)
  if (!found.ok) return found
  // Of a file on no record that no pass of this store left nothing is known, as beside a store that was restored: it is left alone.
  const numbers = (await archivesIn(options, '.jsonl')).map(archiveNumber)
  const highest = Math.max(found.value.archives.highest, ...numbers)
  const places = { ...options, archive: archiveName(caller.tenant, highest + 1) }
  const contents = await writeArchive(places, group)
  let isMade = false
  try {
    const made = await recordArchive(places, group, contents)
    isMade = made.ok
    return made
  } finally {
    if (!isMade) await removeUnlessRecorded(places)
  }
}

async function recordArchive(
  places: Places,
  group: readonly DueRun[],
  contents: ArchiveContents,
): Promise<Made<MadeArchive>> {
  const { ledger, caller, archive } = places
  const { rows, ...file } = await checkArchive(places, contents)
  const { tree } = await ledger.exports.pin(caller, {})
  const { runs, values } = contents
  const classes = [...new Set(group.map((each) => each.class))]
  const body = {
    ...{ v: 1 as const, archive, ...file, runs: [...runs], values: [...values], classes },
    ...{ treeSize: tree?.size ?? null, root: tree?.root ?? null },
  }
  // Before the record, so that no file is ever removed to which bodies were moved, beside an older copy of the store neither.
  await keepArchive(places)
  const recorded = await ledger.archives.archive(caller, body, rows)
  return recorded.ok ? { ok: true, value: madeOf(archive, runs, file) } : recorded
}

/** Removes an archive file after a refusal or an error, unless the archive was recorded nevertheless. If that cannot be determined, the file stays. */
async function removeUnlessRecorded(places: Places): Promise<void> {
  const found = await places.ledger.archives.of(places.caller)
  if (found.ok && !isRecorded(found.value.archives, places.archive)) await removeArchive(places)
}

/** What a pass leaves that ended before its record. Only passes write such files, and only while they own the store. */
async function removeUnrecorded(options: PassOptions, known: RecordedArchives): Promise<void> {
  for (const archive of await archivesIn(options, PART_ENDING)) {
    const places = { ...options, archive }
    await (isRecorded(known, archive) ? keepArchive(places) : removeArchive(places))
  }
}

function isRecorded({ list }: RecordedArchives, archive: string): boolean {
  return list.some((each) => each.archive === archive)
}

/** Names of the tenant's archives of which a file with this ending is in the folder. */
async function archivesIn(
  { folder, caller: { tenant } }: PassOptions,
  ending: '.jsonl' | typeof PART_ENDING,
): Promise<readonly string[]> {
  return (await readdir(folder))
    .filter((file) => file.endsWith(ending))
    .map((file) => file.slice(0, -ending.length))
    .filter((name) => ARCHIVE_PATTERN.test(name) && name === archiveName(tenant, archiveNumber(name)))
}

/**
 * After a crash the last archive may be recorded while its bodies are still in the store. They are moved if the file is still the one that was recorded, no hold
 * was placed and nothing was recorded for its runs meanwhile. If not, they are in the store, where they stay until a pass archives them anew.
 */
async function finishLast(
  options: PassOptions,
  last: ArchiveOnRecord | undefined,
): Promise<Made<MadeArchive | undefined>> {
  const { ledger, caller } = options
  const [first] = last?.runs ?? []
  const nothing = { ok: true, value: undefined } as const
  if (last === undefined || first === undefined || (await ledger.archives.isArchived(caller, first.run))) return nothing
  const places = { ...options, archive: last.archive }
  const checked = await checkArchive(places, { runs: last.runs, values: last.values ?? [] }).catch(asUnfit)
  if (checked?.digest !== last.digest) return nothing
  const { rows, ...file } = checked
  const moved = await ledger.archives.finish(caller, last, rows)
  if (!moved.ok) return OF_ONE_ARCHIVE.has(moved.refusal.code) ? nothing : moved
  return { ok: true, value: { ...madeOf(last.archive, last.runs, file), isFinished: true } }
}

function asUnfit(error: unknown): undefined {
  if (error instanceof ArchiveFileError || error instanceof UnsoundRunError) return undefined
  throw error
}

function madeOf(
  archive: string,
  runs: readonly ArchivedRun[],
  { events, bytes }: { readonly events: number; readonly bytes: number },
): MadeArchive {
  return { archive, runs: runs.length, events, bytes }
}
