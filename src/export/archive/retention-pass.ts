/**
 * @module A pass of retention over a tenant (LIFE-51 to LIFE-54): which runs are due, and why others stay; then archive after archive, each written, checked,
 * recorded, and only then moved out of the store. A pass that ended anywhere is finished by the next one.
 */
import { existsSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
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
import { makeFolder } from '../../signing/durable-file.ts'
import type { EventStore } from '../../store/event-store.ts'
import {
  type ArchivedRun,
  ArchiveFileError,
  archivePath,
  checkArchive,
  UnsoundRunError,
  writeArchive,
} from './archive-file.ts'

const PAGE = 500
/** Events of one archive; a run is never divided. */
const EVENTS_MAX = 20_000

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

type Planned = { readonly ok: true; readonly value: RetentionPlan } | { readonly ok: false; readonly refusal: Refusal }

/** What a pass would do now. Changes nothing. */
export async function planRetention(deps: RetentionDeps): Promise<Planned> {
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
}

export interface PassOptions extends RetentionDeps {
  /** Ends the pass before the next archive. */
  readonly signal?: AbortSignal
  readonly store: Pick<EventStore, 'moveBodies'>
  /** Folder of the archives, beside the store. */
  readonly folder: string
}

type Passed = { readonly ok: true; readonly value: RetentionPass } | { readonly ok: false; readonly refusal: Refusal }

/** Archives all runs that are due. Throws `ArchiveFileError`, the errors of the file system and of the store; everything recorded so far stays good. */
export async function runRetention(options: PassOptions): Promise<Passed> {
  const { store, folder } = options
  if (store.moveBodies === undefined) return { ok: false, refusal: unavailable }
  makeFolder(folder)
  await removeParts(folder, options.caller.tenant)
  const archives: MadeArchive[] = []
  const finished = await finishLast(options)
  if (!finished.ok) return finished
  if (finished.value !== undefined) archives.push(finished.value)
  const planned = await planRetention(options)
  if (!planned.ok) return planned
  const unsound: { run: string; why: string }[] = []
  let rest = planned.value.due
  while (rest.length > 0 && options.signal?.aborted !== true) {
    const group = firstGroup(rest)
    try {
      const made = await archiveGroup(options, group)
      if (!made.ok) return made
      archives.push(made.value)
      rest = rest.slice(group.length)
    } catch (error) {
      if (!(error instanceof UnsoundRunError)) throw error
      unsound.push({ run: error.run, why: error.message })
      rest = rest.filter(({ run }) => run !== error.run)
    }
  }
  return { ok: true, value: { archives, unsound } }
}

const unavailable = refusal(
  'archive-unavailable',
  'this kind of store keeps the bodies of its events: export runs from it instead (countersign export); archives need a store in a file (SQLite)',
)

function firstGroup(due: readonly DueRun[]): readonly DueRun[] {
  let events = 0
  const end = due.findIndex((each, at) => {
    events += each.events
    return at > 0 && (events > EVENTS_MAX || at >= ARCHIVED_RUNS_MAX)
  })
  return end < 0 ? due : due.slice(0, end)
}

type Made<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly refusal: Refusal }

async function archiveGroup(options: PassOptions, group: readonly DueRun[]): Promise<Made<MadeArchive>> {
  const { ledger, caller, folder } = options
  const found = await ledger.archives.of(caller)
  if (!found.ok) return found
  // Of a file that is on no record, as a pass leaves it that ended before the record, nothing is known: it is left alone.
  const highest = Math.max(found.value.archives.highest, ...(await numbersIn(folder, caller.tenant)))
  const archive = archiveName(caller.tenant, highest + 1)
  const places = { ...options, archive }
  const contents = await writeArchive(
    places,
    group.map(({ run }) => run),
  )
  const { rows, ...file } = await checkArchive(places, contents)
  const { tree } = await ledger.exports.pin(caller, {})
  const { runs, values } = contents
  const classes = [...new Set(group.map((each) => each.class))]
  const body = {
    ...{ v: 1 as const, archive, ...file, runs: [...runs], values: [...values], classes },
    ...{ treeSize: tree?.size ?? null, root: tree?.root ?? null },
  }
  const recorded = await ledger.archives.archive(caller, body, rows)
  if (recorded.ok) return { ok: true, value: madeOf(archive, runs, file) }
  // After another refusal it may be on record all the same.
  if (recorded.refusal.code === 'held') await rm(archivePath(places), { force: true })
  return recorded
}

/** Numbers of the files of a tenant's archives, on record or not. */
async function numbersIn(folder: string, tenant: string): Promise<readonly number[]> {
  return (await readdir(folder))
    .filter((file) => isArchiveOf(tenant, file, '.jsonl'))
    .map((file) => archiveNumber(file.slice(0, -'.jsonl'.length)))
}

/** Only this pass writes such files, and only while it owns the store. */
async function removeParts(folder: string, tenant: string): Promise<void> {
  for (const file of await readdir(folder))
    if (isArchiveOf(tenant, file, '.jsonl.part')) await rm(join(folder, file), { force: true })
}

function isArchiveOf(tenant: string, file: string, ending: string): boolean {
  const name = file.endsWith(ending) ? file.slice(0, -ending.length) : ''
  return ARCHIVE_PATTERN.test(name) && name === archiveName(tenant, archiveNumber(name))
}

/**
 * After a crash the last archive may be on record, and its bodies still in the store: they are moved if the file is still the one that was recorded, and no
 * hold was placed meanwhile. If not, they are in the store, where they stay until a pass archives them anew.
 */
async function finishLast(options: PassOptions): Promise<Made<MadeArchive | undefined>> {
  const { ledger, caller, folder } = options
  const found = await ledger.archives.of(caller)
  if (!found.ok) return found
  const { last } = found.value.archives
  const [first] = last?.runs ?? []
  const nothing = { ok: true, value: undefined } as const
  if (last === undefined || first === undefined || (await ledger.archives.isArchived(caller, first.run))) return nothing
  const places = { ...options, archive: last.archive }
  if (!existsSync(archivePath({ folder, archive: last.archive }))) return nothing
  const checked = await checkArchive(places, { runs: last.runs, values: last.values ?? [] }).catch(asUnfit)
  if (checked?.digest !== last.digest) return nothing
  const { rows, ...file } = checked
  const moved = await ledger.archives.finish(caller, last, rows)
  if (!moved.ok) return moved.refusal.code === 'held' ? nothing : moved
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
