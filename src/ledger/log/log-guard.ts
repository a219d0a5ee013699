/** @module Checks before the first append whether the store still holds everything that this ledger signed (F10, F11). */
import type { LostEvent } from '../../../schemas/acknowledged-loss.ts'
import { EVENTS } from '../../../schemas/events.ts'
import { parseJsonOrUndefined } from '../../../schemas/json.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import { type Checkpoint, formatCheckpoint } from '../../merkle/checkpoint.ts'
import { sameHash } from '../../merkle/hashes.ts'
import { parseNote } from '../../merkle/signed-note.ts'
import { recordDigest } from '../../signing/digests.ts'
import { NOT_AUTHENTIC } from '../../store/derived-file.ts'
import { type EventStore, type Position, type ReadRecord, readOne } from '../../store/event-store.ts'
import { sealFaults } from '../read/record-seal.ts'
import { unexplained } from './acknowledged-positions.ts'
import { LOST_EVENT_ID } from './acknowledgements.ts'
import type { CheckpointFile, FiledCheckpoints } from './checkpoint-file.ts'
import { knownNotes } from './known-notes.ts'
import { hidesGaps, lateEvent } from './late-events.ts'
import { type LogDeps, LogStartError } from './log-deps.ts'
import type { LogProjection } from './log-projection.ts'
import { CHECKPOINT_MISMATCH, leafAt, lostTail, missingFault, openTail } from './log-stops.ts'
import { type KnownEnds, noteLost } from './lost-streams.ts'
import { readCheckpoint } from './read-checkpoint.ts'

/** Interval between two progress reports of a long start, in milliseconds. */
const PROGRESS_MS = 1_000
/** Maximum number of missing events that are looked up. */
const MISSING_MAX = 100
/** Every n-th progress report is written to the log. */
const LOGGED_REPORTS = 5

export interface Guard {
  readonly deps: LogDeps
  readonly projection: LogProjection
  readonly kept: CheckpointFile | undefined
  /** See `LogSettings`. */
  readonly acknowledges: boolean
}

/**
 * Throws `LogStartError` if the store holds less than a kept checkpoint covers, or something else. The stored projection is trusted only if it agrees
 * with the store; otherwise it is rebuilt by reading the whole history.
 */
export async function guardStart(guard: Guard, found: FiledCheckpoints | undefined): Promise<void> {
  const { deps, projection } = guard
  let fresh = false
  let isLacking = false
  const restart = (reason: string, known?: KnownEnds): void => {
    projection.renew(reason, known)
    fresh = true
    isLacking ||= known !== undefined && known.size > 0
  }
  const isSound = (record: ReadRecord): boolean => sealFaults(deps.sealer, record).length === 0
  const over = (await projection.whatIsOver()) ?? (await notesAreBack(deps)) ?? (await lateEvent(deps, isSound))
  if (!(await deps.logStore.isAuthentic())) restart(NOT_AUTHENTIC, new Map())
  else if (over !== undefined) {
    restart(over)
    deps.onPutBack?.(over)
    await brought(guard)
  }
  const checkpoints = [...(found?.checkpoints ?? [])].map(([tenant, note]) => checkpointOf(guard, tenant, note))
  if (!fresh && !(await projectionFits(deps)) && !(await stoppedAtLost(guard, checkpoints))) {
    restart('the store is not the one that the log followed', await noteLost(deps))
  }
  const missing = (await deps.store.missingPositions?.(MISSING_MAX)) ?? []
  const unnamed = fresh ? undefined : await unnamedNow(guard, missing)
  if (unnamed !== undefined) restart(unnamed, await noteLost(deps))
  // Losses have to be known before anything is answered.
  await projection.judgeNotes()
  if (isLacking || isBehind(deps, missing.at(-1)) || (await lacksAttested(deps))) await brought(guard)
  const lacks = (each: TenantCheckpoint): boolean => projection.tree(each.tenant).stopped?.lostLeaf !== undefined
  if (checkpoints.some((each) => !reaches(projection, each) || lacks(each))) await brought(guard)
  if (!fresh && checkpoints.some((each) => !holds(projection, each) && !lacks(each))) {
    restart('the log does not agree with the checkpoints')
    await brought(guard)
  }
  for (const each of await openFirst(guard, checkpoints)) {
    refuseLess(guard, each)
    await refuseFork(guard, each)
  }
}

/** Checks all notes, which is done only at a start. */
async function notesAreBack({ store, logStore }: LogDeps): Promise<string | undefined> {
  const { after, broken } = logStore.progress()?.notes ?? {}
  if (broken === undefined) return undefined
  const attested = await store.attested?.({})
  const known = attested && knownNotes(after === undefined ? undefined : { after }, attested, store.comparePositions)
  return known?.broken === undefined ? 'the notes of the writers of the store are whole again' : undefined
}

/**
 * Brings the logs up to the end of the store. A whole store takes a while, during which nothing is served; the reason and the progress are reported
 * to the operator.
 */
async function brought({ deps: { logStore, log, starting }, projection }: Guard): Promise<void> {
  if (logStore.progress() === undefined)
    log.info(
      {},
      'the logs are rebuilt from the whole store, and held against the last checkpoints, before anything is served',
    )
  starting?.onCatchUp()
  let reports = 0
  const timer = setInterval(() => {
    const { building } = projection
    if (building === undefined) return
    starting?.onCatchUp(building)
    reports += 1
    if (reports % LOGGED_REPORTS === 0)
      log.info({ ...building }, 'the logs are still being made: nothing is served yet')
  }, PROGRESS_MS).unref()
  try {
    await projection.catchUp(starting?.signal)
    // Stopped short of the end: comparing the partial result with the checkpoints would report the rest as lost.
    starting?.signal.throwIfAborted()
  } finally {
    clearInterval(timer)
  }
}

interface TenantCheckpoint extends Checkpoint {
  readonly tenant: string
}

function checkpointOf({ projection, kept }: Guard, tenant: string, note: string): TenantCheckpoint {
  const checkpoint = readCheckpoint(note, projection.verifiers(tenant))
  if (checkpoint !== undefined) return { ...checkpoint, tenant }
  const advice =
    'use the key file and the checkpoints that belong to this store, or move the file away after "countersign verify"'
  throw new LogStartError(
    'kept-checkpoints-damaged',
    `the checkpoint of ${tenant} in ${kept?.path} does not verify: ${advice}`,
  )
}

/** Whether the record that the projection saw last is still in its place. If it is not, this is logged, since it may not be covered by any checkpoint yet. */
async function projectionFits({ store, logStore, log }: LogDeps): Promise<boolean> {
  const seen = logStore.progress()
  if (seen === undefined) return true
  const { stream, revision, position, digest } = seen
  const record = await readOne(store, seen)
  if (record?.position === position && recordDigest(record.header) === digest) return true
  log.error(
    { stream, revision, position },
    'the store no longer holds the last event that this process saw in it: an older copy, a standby that lagged when it was promoted, or another store. What came after it is lost unless it is put back; run "countersign verify" with the last checkpoint you hold',
  )
  return false
}

/**
 * Looks for missing events within the range that the file has followed, and reports those that leaves identify. Answers why the file has to be rebuilt: some
 * have no leaf and are not acknowledged, and the file has not recorded a gap yet; or it has, and nothing is missing any more.
 */
async function unnamedNow({ deps, projection }: Guard, missing: readonly Position[]): Promise<string | undefined> {
  const { store, logStore, sealer, log } = deps
  const { position: seen, gap } = logStore.progress() ?? {}
  const passed = missing.filter((position) => seen !== undefined && store.comparePositions(position, seen) <= 0)
  const unnamed = passed.filter((position) => {
    const leaf = leafAt({ store, logStore }, position)
    if (leaf === undefined) return true
    const { tenant, stream, revision } = leaf
    log.error({ tenant, stream, revision }, 'the store has lost this event, which the log has: put it back from a copy')
    sealer.faultFound(missingFault(leaf))
    return false
  })
  const left = unnamed.length === 0 ? [] : await unexplained(store, unnamed, await passedEvents(deps, projection))
  if (left.length > 0) return gap === undefined ? 'the store has lost events that it does not name' : undefined
  const isOver = gap !== undefined && missing.length < MISSING_MAX
  return isOver ? 'the events that no log named are back, or acknowledged' : undefined
}

/** The events whose leaves come from their acknowledgements. */
async function passedEvents({ logStore }: LogDeps, projection: LogProjection): Promise<readonly LostEvent[]> {
  const events: LostEvent[] = []
  for (const { tenant } of logStore.holedLogs()) {
    const { places } = await projection.acknowledged(tenant)
    for (const event of places.values())
      if (logStore.leaf(tenant, event.index)?.eventId === LOST_EVENT_ID) events.push(event)
  }
  return events
}

/** Whether events are gone that writers attested behind the end of the file. */
async function lacksAttested({ store, logStore }: LogDeps): Promise<boolean> {
  const { lost = [], broken } = (await store.attested?.({ after: logStore.progress()?.position })) ?? {}
  return lost.length > 0 || broken !== undefined
}

/** Whether the file has not reached a position yet. */
function isBehind({ store, logStore }: LogDeps, position: Position | undefined): boolean {
  const seen = logStore.progress()?.position
  return position !== undefined && (seen === undefined || store.comparePositions(position, seen) > 0)
}

/** Keeps what the file knows of events that the store no longer holds; their logs stop there. */
async function stoppedAtLost(
  { deps, projection, kept, acknowledges }: Guard,
  checkpoints: readonly TenantCheckpoint[],
): Promise<boolean> {
  const { store, logStore, sealer, log } = deps
  const from = logStore.progress()?.position
  const tail = await lostTail({ store, logStore })
  if (tail === undefined) return false
  for (const each of await openFirst({ deps, projection }, checkpoints)) {
    const lost = tail.lost.find(({ tenant }) => tenant === each.tenant)
    // A start that is refused must not change anything.
    if (lost !== undefined && lost.index < each.size && !acknowledges)
      refuse(deps, lossOf(each, lost.index, { kept, isNamed: true }), each.tenant)
  }
  if (!logStore.save(tail.batch, from)) return false
  projection.forget()
  for (const leaf of tail.lost) {
    const { tenant, stream, revision } = leaf
    log.error(
      { tenant, stream, revision },
      'the log of this tenant stops here: the store has lost this event, and perhaps others behind it; put the newer store back',
    )
    sealer.faultFound(missingFault(leaf))
  }
  return true
}

/** A log whose losses are acknowledged waits for the others: a refusal names one that still has to be seen to (LOG-76). */
async function openFirst(
  { deps: { store, logStore }, projection }: Pick<Guard, 'deps' | 'projection'>,
  checkpoints: readonly TenantCheckpoint[],
): Promise<readonly TenantCheckpoint[]> {
  const open = await openTail({ store, logStore }, (tenant) => projection.acknowledged(tenant))
  const isOpen = ({ tenant }: TenantCheckpoint): boolean => tenant === open?.log.tenant
  return [...checkpoints.filter(isOpen), ...checkpoints.filter((each) => !isOpen(each))]
}

function reaches(projection: LogProjection, { tenant, size }: TenantCheckpoint): boolean {
  const tree = projection.tree(tenant)
  return tree.size >= size || tree.stopped !== undefined
}

function holds(projection: LogProjection, { tenant, size, root }: TenantCheckpoint): boolean {
  const tree = projection.tree(tenant)
  if ((tree.stopped?.lostLeaf ?? size) < size) return false
  try {
    return tree.size >= size && sameHash(tree.rootAt(size), root)
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

function refuseLess({ projection, kept, deps, acknowledges }: Guard, checkpoint: TenantCheckpoint): void {
  const { tenant, size } = checkpoint
  if (holds(projection, checkpoint)) return
  const tree = projection.tree(tenant)
  // An event that was gone while the checkpoint was signed may be back: that is a loss of its tenant, and others do not wait for it (STR-54).
  const mayBeBack = tree.stopped?.code === CHECKPOINT_MISMATCH && hidesGaps(deps.store)
  if (mayBeBack || (tree.size < size && tree.stopped !== undefined)) {
    deps.log.error(
      { tenant, ...tree.stopped },
      'an event before the last checkpoint does not verify: run "countersign verify"',
    )
    return
  }
  // The log knows which events are gone, and signs nothing while it is stopped at the first of them.
  const lostLeaf = tree.stopped?.lostLeaf
  if (acknowledges && lostLeaf !== undefined) return
  refuse(deps, lossOf(checkpoint, lostLeaf ?? tree.size, { kept, isNamed: lostLeaf !== undefined }), tenant)
}

function refuse(deps: LogDeps, error: LogStartError, tenant: string): void {
  // A run that the server deleted for good must not stop all others: the loss is logged, and the log is not continued.
  if (deps.store.status().forgetting?.some(({ loss }) => loss === 'gone') !== true) throw error
  deps.log.error({ tenant, code: error.code }, error.message)
}

/** A log signs only one text per size. If the store has a different one than the kept file, one of the two was given to somebody else. */
async function refuseFork({ projection, kept, deps }: Guard, checkpoint: TenantCheckpoint): Promise<void> {
  const { tenant, size } = checkpoint
  const { note, signedSize } = projection.tree(tenant)
  const recorded = signedSize === size ? note : await noteOnRecord(deps.store, tenant, size)
  if (recorded === undefined || parseNote(recorded)?.text === formatCheckpoint(checkpoint)) return
  throw new LogStartError(
    'history-rewritten',
    `the store and ${kept?.path} have two checkpoints of ${size} events of the log ${tenant} that differ: the log signed two histories. Keep both, run "countersign verify", and put back the store that the file belongs to; only if that is lost for good, move the file away and tell those who audit this ledger`,
  )
}

/** Note of the recorded checkpoint of this size; undefined if there is none. The file is rarely far behind the store, so the search goes backwards. */
async function noteOnRecord(store: EventStore, tenant: string, size: number): Promise<string | undefined> {
  for await (const page of store.readStream(ledgerStream(tenant), { direction: 'backwards' })) {
    for (const { data } of page) {
      const { data: body } = EVENTS.CheckpointSigned.schema.safeParse(parseJsonOrUndefined(data))
      if (body !== undefined && body.size <= size) return body.size === size ? body.note : undefined
    }
  }
  return undefined
}

/** `isNamed`: the file of the logs knows which events are gone. */
function lossOf(
  { tenant, size }: TenantCheckpoint,
  found: number,
  { kept, isNamed }: { readonly kept: CheckpointFile | undefined; readonly isNamed: boolean },
): LogStartError {
  const put = 'put the newer store back; only if it is lost for good,'
  const tell = 'and tell those who audit this ledger'
  const away = `${put} move ${kept?.path} away, keep it, ${tell}`
  if (found >= size) {
    const message = `the first ${size} events of the log ${tenant} are not those that were signed; ${away}`
    return new LogStartError('history-rewritten', message)
  }
  const cause = 'an old copy, a standby that lagged when it was promoted, or a -wal file that is gone'
  const way = isNamed
    ? `${put} run "countersign losses acknowledge --all --tenant ${tenant}", ${tell}`
    : `log.db does not know which ones are gone: ${away}`
  const message = `the store holds ${found} events of the log ${tenant}, its last checkpoint covers ${size}: ${cause}; ${way}`
  return new LogStartError('store-behind-checkpoint', message)
}
