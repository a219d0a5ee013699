/** @module Verification of a store or an export: it is read to the end whatever it contains. */

import { createReadStream, existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { EVENTS } from '../../schemas/events.ts'
import type { ExportTrailer } from '../../schemas/export-trailer.ts'
import { type JsonObject, parseJson } from '../../schemas/json.ts'
import { SYSTEM_STREAM } from '../../schemas/names.ts'
import { openServerScan, openStoreScan } from '../compose/compose-stores.ts'
import { defaultVerifyThreads, openVerifyThreads } from '../compose/compose-verify.ts'
import type { LogAtRest, LogUnread } from '../compose/log-at-rest.ts'
import { LOG_FILE, LOSS_SUFFIX, type ServerPlace, SUBJECTS_FILE } from '../settings/places.ts'
import type { CheckDepth } from '../signing/check.ts'
import { GROUP_NOTES, ringSeal } from '../signing/note-seal.ts'
import { type Position, StoreOpenError } from '../store/event-store.ts'
import type { KnownEvent } from '../store/known-events.ts'
import type { LeafPlace } from '../store/log-store.ts'
import { readSqliteSubjects } from '../store/sqlite/sqlite-subjects.ts'
import { AcknowledgedLosses } from '../verify/acknowledged-losses.ts'
import { isOfArchive } from '../verify/archive-filter.ts'
import { type HeldCheckpoint, withCheckpoints } from '../verify/checkpoint-check.ts'
import type { Completeness, FindLogKey } from '../verify/export-completeness.ts'
import { exportPages } from '../verify/export-records.ts'
import { type VerifyFault, verdictOf } from '../verify/fault.ts'
import { SoundChecks } from '../verify/sound-checks.ts'
import type { SourceItem, SourcePages } from '../verify/source-item.ts'
import { type Looking, soundPages } from '../verify/threads/sound-pages.ts'
import { type VerifyOptions, type VerifyResult, verifyRecords } from '../verify/verify-records.ts'
import { checkView } from '../verify/view-export.ts'
import { archivesBeside } from './archive-files.ts'
import { CliFailure, EXIT } from './failure.ts'
import { giveWayToOwner } from './give-way.ts'
import type { FindReaderKey } from './reader-keys.ts'
import { behindHeld, checkpointsBeside, type KeptBeside, notingTenants, uncheckedEnds } from './verify-checkpoint.ts'

export interface VerifyTarget {
  readonly kind: 'store' | 'server' | 'export' | 'view'
  /** A path, or a URL without its credentials. */
  readonly name: string
  /** For a view: its format. */
  readonly format?: string
  /** The server's whole URL, including credentials. */
  readonly server?: ServerPlace
  /** For a server: the path next to which a ledger process keeps its checkpoints (`store.db` in its data folder; the file itself need not exist). */
  readonly keptBeside?: string
}

export type TargetOptions = Omit<VerifyOptions, 'wholeStore' | 'again'> & {
  /** Called once the source is open, with the approximate number of events, if known. */
  readonly onOpen?: (expected: number | undefined) => void
  /** A checkpoint to check the history against, in addition to those next to a store. */
  readonly checkpoint?: HeldCheckpoint
  readonly findKey: FindReaderKey
  /** The loss recorded in the ledger's own note next to the store. */
  readonly noted?: KnownEvent | 'unreadable' | undefined
  /** For a store: opens the log file next to it, in the given folder. Absent if there are no keys to check it with. */
  readonly logIn?: ((folder: string) => Promise<LogAtRest | LogUnread>) | undefined
  /** Whether other parts of the log are verified with this one. */
  readonly inChain?: boolean
  /**
   * For a store in a file: threads that check individual events. This thread checks their order and, in addition, events. Default: one per other processor, at
   * most 7.
   */
  readonly threads?: ThreadOptions
}

interface ThreadOptions {
  /** 0: this thread does all the work. */
  readonly count?: number
  /** A store with fewer events is verified before threads would have started. */
  readonly fromEvents?: number
  readonly rangeRows?: number
}

/** Starting threads takes as long as checking this many events, which this thread does in the meantime. */
const THREADS_FROM_EVENTS: Readonly<Record<CheckDepth, number>> = { full: 20_000, fast: 40_000 }

export interface FoundVerdict {
  readonly result: VerifyResult
  readonly trailer?: ExportTrailer | undefined
  /** For an export: the evidence that it is complete. */
  readonly completeness?: Completeness | undefined
}

/** Never throws because of the content of a file: damage is a fault, and a file that cannot be opened is INCOMPLETE. */
export async function verifyTarget(target: VerifyTarget, options: TargetOptions): Promise<FoundVerdict> {
  try {
    const { server } = target
    if (server !== undefined)
      return { result: await withAcknowledged(options, (each) => verifyServer(server, target.keptBeside, each)) }
    if (target.kind === 'view') return await verifyView(target, options)
    return target.kind === 'store'
      ? { result: await withAcknowledged(options, (each) => verifyStore(target.name, each)) }
      : await verifyExport(target, options)
  } catch (error) {
    if (!(error instanceof Error) || error instanceof CliFailure) throw error
    const closed = error instanceof StoreOpenError || 'code' in error
    if (closed) return { result: unread({ code: 'unreadable', message: error.message }, options) }
    throw new CliFailure(`the verification could not be finished: ${error.message}`, EXIT.unproven, { cause: error })
  }
}

/** Maximum number of faults held back until it is known whether recorded acknowledgements cover them. */
const HELD_MAX = 10_000

/**
 * If losses were acknowledged, the store or the export is read a second time with these acknowledgements: each loss is then reported as acknowledged, and the logs are
 * followed past it.
 */
async function withAcknowledged(
  options: TargetOptions,
  once: (options: TargetOptions) => Promise<VerifyResult>,
): Promise<VerifyResult> {
  const held: VerifyFault[] = []
  const found = await once({ ...options, onFault: (fault) => void (held.length < HELD_MAX && held.push(fault)) })
  const { acknowledged = [], ...first } = found
  if (acknowledged.length === 0) {
    for (const fault of held) options.onFault(fault)
    return first
  }
  const { acknowledged: _, ...second } = await once({ ...options, acknowledged: new AcknowledgedLosses(acknowledged) })
  return second
}

async function verifyStore(path: string, options: TargetOptions): Promise<VerifyResult> {
  giveWayToOwner({ kind: 'sqlite', path })
  const beside = withNote(checkpointsBeside(path, options.findKey), path, options)
  using log = await logBeside(dirname(path), options)
  using scan = openStoreScan(path)
  options.onOpen?.(scan.expected)
  const thorough = options.depth !== 'fast'
  await using looking = lookingAt(path, scan.expected, options)
  const pages = async function* (): AsyncGenerator<readonly SourceItem[], void> {
    yield* looking === undefined ? scan.pages() : soundPages(scan, looking)
    yield scan.structure(thorough, await looking?.tableFaults)
    yield beside.faults.map((fault) => ({ fault }))
  }
  const held = [...beside.checkpoints, ...(options.checkpoint ? [options.checkpoint] : [])]
  const again = (): SourcePages => scan.pages()
  const seen = new Set<string>()
  const noted = withCheckpoints(notingTenants(pages(), seen), held, options.acknowledged)
  using keys = subjectKeysBeside(dirname(path))
  const { keyExists } = keys
  const whole = { findArchive: archivesBeside(path), keyExists, wholeStore: true, again }
  const result = await verifyRecords(noted, { ...options, ...log.options, ...whole })
  const ends = uncheckedEnds(beside, seen, options.checkpoint)
  return { ...result, unchecked: [...result.unchecked, ...ends, ...log.unchecked] }
}

/** A copy of the store alone has no subject keys next to it: its encrypted values are then not checked. */
function subjectKeysBeside(folder: string): { readonly keyExists?: (id: string) => boolean } & Disposable {
  const path = join(folder, SUBJECTS_FILE)
  if (!existsSync(path)) return { [Symbol.dispose]: () => undefined }
  const subjects = readSqliteSubjects(path)
  return { keyExists: subjects.exists, [Symbol.dispose]: () => subjects[Symbol.dispose]() }
}

interface LogBeside extends Disposable {
  /** The position from the log file; see `LogAtRest`. */
  readonly attestedAfter?: Position | undefined
  readonly options: Pick<VerifyOptions, 'seenBeside'>
  readonly unchecked: readonly string[]
}

function withNote(beside: KeptBeside, path: string, { noted }: TargetOptions): KeptBeside {
  if (noted !== 'unreadable') return beside
  const message = `${path}${LOSS_SUFFIX}, which says what the store had lost, is damaged or of other keys`
  return { ...beside, faults: [...beside.faults, { code: 'seen-beside', message }] }
}

/** Opened before the store is read, because the owner may keep writing both. */
async function logBeside(folder: string, { logIn, noted }: TargetOptions): Promise<LogBeside> {
  const log = (await logIn?.(folder)) ?? 'absent'
  const inNote: readonly LeafPlace[] = typeof noted === 'object' ? [[0, noted.stream, noted.revision]] : []
  if (typeof log !== 'string') {
    const seenBeside = function* (): Generator<LeafPlace> {
      yield* log.places()
      yield* inNote
    }
    return {
      options: { seenBeside },
      attestedAfter: log.attestedAfter(),
      unchecked: [],
      [Symbol.dispose]: log[Symbol.dispose],
    }
  }
  const why = log === 'unreadable' ? 'is damaged or of another version' : 'is not sealed with these keys'
  const unchecked = log === 'absent' ? [] : [`events that only ${join(folder, LOG_FILE)} has seen: it ${why}`]
  return { options: { seenBeside: () => inNote }, unchecked, [Symbol.dispose]: () => undefined }
}

interface StoreLooking extends Looking, AsyncDisposable {
  /** Faults that SQLite finds in tables and indexes. One thread checks this first, because it takes long and depends on no row. */
  readonly tableFaults: Promise<readonly string[]>
}

function lookingAt(path: string, events: number, options: TargetOptions): StoreLooking | undefined {
  const { threads: wanted = {}, keys, depth = 'full', acknowledged } = options
  const { count = defaultVerifyThreads(), fromEvents = THREADS_FROM_EVENTS[depth], rangeRows } = wanted
  // Without keys, no event can be checked on its own; past acknowledged losses, the logs must be followed event by event.
  if (keys === undefined || acknowledged !== undefined || events < fromEvents) return undefined
  const { ring, runKeys } = keys
  const threads = openVerifyThreads(count, { path, ring: { keys: ring.keys }, depth })
  if (threads === undefined) return undefined
  const checks = new SoundChecks({ ring, runKeys, depth })
  const tableFaults = threads.checkTables()
  return { threads, checks, rangeRows, tableFaults, [Symbol.asyncDispose]: () => threads[Symbol.asyncDispose]() }
}

type LostPlace = Parameters<AcknowledgedLosses['at']>[0]

async function verifyServer(
  server: ServerPlace,
  keptBeside: string | undefined,
  options: TargetOptions,
): Promise<VerifyResult> {
  const beside =
    keptBeside === undefined
      ? NONE_BESIDE
      : withNote(checkpointsBeside(keptBeside, options.findKey), keptBeside, options)
  using log = keptBeside === undefined ? undefined : await logBeside(dirname(keptBeside), options)
  options.onOpen?.(undefined)
  const again = (): SourcePages => openServerScan(server)
  const unattested: string[] = []
  const { acknowledged, keys: { ring } = {} } = options
  const attestedAfter = log?.attestedAfter
  const notes = ring && {
    ...(attestedAfter !== undefined && { attestedAfter }),
    seal: ringSeal(() => ring, GROUP_NOTES),
    onUnattested: (text: string) => void unattested.push(text),
    ...(acknowledged && { isAcknowledged: (place: LostPlace) => acknowledged.at(place) !== undefined }),
  }
  const ofServer = new KeptOfServer(beside)
  const held = options.checkpoint ? [options.checkpoint] : []
  const seen = new Set<string>()
  const source = ofServer.over(openServerScan(server, notes), options.acknowledged)
  const result = await verifyRecords(withCheckpoints(notingTenants(source, seen), held, options.acknowledged), {
    ...options,
    ...log?.options,
    wholeStore: true,
    again,
  })
  const ends = ofServer.unchecked(seen, options.checkpoint)
  return { ...result, unchecked: [...result.unchecked, ...unattested, ...ends, ...(log?.unchecked ?? [])] }
}

const NONE_BESIDE: KeptBeside = { checkpoints: [], faults: [], unchecked: [] }

/** A data folder may have served another ledger before: its checkpoints count only if they name the ledger found on the server. */
class KeptOfServer {
  readonly #beside: KeptBeside
  #origin: string | undefined

  constructor(beside: KeptBeside) {
    this.#beside = beside
  }

  unchecked(seen: ReadonlySet<string>, held: HeldCheckpoint | undefined): readonly string[] {
    if (this.#isOwn) return uncheckedEnds(this.#beside, seen, held)
    if (held !== undefined) return [behindHeld(held)]
    return [
      `whether events were cut off at the end: the checkpoints in the data folder are of the ledger ${this.#beside.origin}`,
    ]
  }

  async *over(
    source: SourcePages,
    acknowledged: AcknowledgedLosses | undefined,
  ): AsyncGenerator<readonly SourceItem[], void> {
    let isOver = false
    const pages = async function* (take: (page: readonly SourceItem[]) => void): SourcePages {
      for await (const page of source) {
        take(page)
        yield page
      }
      isOver = true
    }
    const founding = (page: readonly SourceItem[]): void => {
      this.#origin ??= page.reduce<string | undefined>((found, item) => found ?? originIn(item), undefined)
    }
    for await (const page of withCheckpoints(pages(founding), this.#beside.checkpoints, acknowledged)) {
      if (!isOver || this.#isOwn) yield page
    }
    if (this.#isOwn) yield this.#beside.faults.map((fault) => ({ fault }))
  }

  /** Also true if no founding event is found: its absence must not hide other faults. */
  get #isOwn(): boolean {
    const { origin } = this.#beside
    return origin === undefined || this.#origin === undefined || origin === this.#origin
  }
}

function originIn(item: SourceItem): string | undefined {
  if ('fault' in item || 'sound' in item || item.stream !== SYSTEM_STREAM || item.revision !== 0) return undefined
  try {
    return EVENTS.LedgerCreated.schema.safeParse(parseJson(item.data)).data?.origin
  } catch {
    return undefined
  }
}

async function verifyExport({ name: path }: VerifyTarget, options: TargetOptions): Promise<FoundVerdict> {
  let found: Pick<FoundVerdict, 'trailer' | 'completeness'> = {}
  const onTrailer = (trailer: ExportTrailer, completeness: Completeness): void => {
    found = { trailer, completeness }
  }
  options.onOpen?.(undefined)
  const mayBeEmpty = (): boolean => found.trailer?.from !== undefined && found.trailer.from === found.trailer.to
  const result = await withAcknowledged(options, (each) => {
    const { checkpoint, inChain, acknowledged } = each
    const judging = { onTrailer, checkpoint, inChain, acknowledged, findKey: verifierFinder(each) }
    const again = () => exportPages(createReadStream(path))
    return verifyRecords(exportPages(createReadStream(path), judging), { ...each, again, mayBeEmpty })
  })
  const left = leftUnchecked(found.trailer, options)
  return { result: left === undefined ? result : { ...result, unchecked: [...result.unchecked, left] }, ...found }
}

function verifierFinder({ findKey }: TargetOptions): FindLogKey {
  return (name, id) => findKey(name, id)?.verifier
}

async function verifyView(target: VerifyTarget, options: TargetOptions): Promise<FoundVerdict> {
  const { name, format = '' } = target
  options.onOpen?.(undefined)
  const { fault, trailer } = await checkView(createReadStream(name), format, verifierFinder(options))
  return { result: unread(fault, options), ...(trailer && { trailer }) }
}

function leftUnchecked(trailer: ExportTrailer | undefined, { inChain }: TargetOptions): string | undefined {
  if (trailer?.filter !== undefined && !isOfArchive(trailer.filter as JsonObject))
    return 'links between events: of a query, the events between are not here'
  const { from = 0 } = trailer ?? {}
  if (from === 0 || inChain === true) return undefined
  return `leaves 0 to ${from - 1}: they are in the parts before this one, which can be verified with it (countersign verify PART PART ...)`
}

/** The result for a source of which nothing more could be read. */
function unread(fault: VerifyFault, options: VerifyOptions): VerifyResult {
  options.onFault(fault)
  return { verdict: verdictOf(fault.code), events: 0, streams: 0, faults: 1, behindClock: 0, unchecked: [] }
}
