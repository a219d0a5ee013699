/** @module Reads from the ledger's own log file which events a store once had, for a process that only reads. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { LOST_EVENTS_MAX } from '../../schemas/acknowledged-loss.ts'
import { LOSSES_MAX, type Loss } from '../../schemas/loss.ts'
import { logFileGuard } from '../ledger/identity/file-guard.ts'
import { WENT_BACK } from '../ledger/integrity/known-losses.ts'
import { acknowledgedIn } from '../ledger/log/acknowledged-holes.ts'
import { unexplained } from '../ledger/log/acknowledged-positions.ts'
import { lateEvent } from '../ledger/log/late-events.ts'
import { gapLoss, headKnownBy, holeLosses, lossesOfStore, notesLoss, stopLoss } from '../ledger/log/log-losses.ts'
import { endOf, isPutBack, leafAt, MISSING } from '../ledger/log/log-stops.ts'
import type { KnownHead, LossesOfTenant } from '../ledger/log/tenant-logs.ts'
import { expectedAlone } from '../ledger/read/record-seal.ts'
import type { Settings } from '../settings/config.ts'
import { fixedKeys, readKeys } from '../settings/key-source.ts'
import { LOG_FILE } from '../settings/places.ts'
import { checkRecord } from '../signing/check.ts'
import { isHeldPlace } from '../signing/held-place.ts'
import { createRunKeys } from '../signing/key-ring.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'
import { logTenant, streamTenant } from '../signing/stream-tenant.ts'
import type { Attested, Position, ReadRecord, StoreReader } from '../store/event-store.ts'
import type { LeafPlace, LogStore } from '../store/log-store.ts'
import { readSqliteLogs } from '../store/sqlite/sqlite-log.ts'
import { acknowledgedAmong, acknowledgedOf, lossOfEvent } from './acknowledged-at-rest.ts'
import { lossesBehindCheckpoints } from './checkpoints-at-rest.ts'
import { isPositionOf, lossesNoted, notedLoss } from './store-held.ts'

/** `isPutBack`: the store again has events that were missing, and its derived files may lack them. */
export interface StopsAtRest {
  readonly losses: LossesOfTenant
  readonly isPutBack: boolean
}

type StreamPlace = Pick<ReadRecord, 'stream' | 'revision'>

/** A snapshot of the log file; its owner may keep writing it. */
export interface LogAtRest extends Disposable {
  /**
   * Losses where a log stopped or store positions had no record, except for events that the store has again; and events behind the place that the file has
   * reached that do not verify.
   */
  stopsIn(store: StopReader): Promise<StopsAtRest>
  /** Number of leaves of the tenant's log that the file knows. */
  sizeOf(tenant: string): number
  /** Head of a stream; undefined if the file knows no event of the stream. */
  knownHead(stream: string): KnownHead | undefined
  /** The last store position that the file has reached. */
  seen(): Position | undefined
  /** The position after which writers attest the events of the store; undefined if the file has seen no such note. */
  attestedAfter(): Position | undefined
  /** Places of the events of all leaves, of every tenant. */
  places(): Generator<LeafPlace>
  /** The event at a position that has no record, if a leaf names it. */
  leafAt(store: Pick<StoreReader, 'comparePositions'>, position: Position): StreamPlace | undefined
  /** Whether the event is acknowledged as lost. */
  isAcknowledged(place: StreamPlace): boolean
  /** Tenants with acknowledged losses. */
  holedTenants(): readonly string[]
  /** For each log, the first event at its end that the store no longer has; `store` must have been opened after this file. */
  lostEnds(store: Pick<StoreReader, 'readStream'>): Promise<readonly Loss[]>
}

const PLACES_AT_ONCE = 4_096
/** Number of last positions of a store that every reader looks at. */
const NEAR = 4_096
/** Maximum number of missing positions that are looked up: more are not acknowledged. */
const MISSING_MAX = LOST_EVENTS_MAX
/** Number of events behind the place that the log has reached that are checked before a command reads; a ledger that serves leaves few. */
const UNFOLLOWED_MAX = 20_000
const NOTHING_ATTESTED: Attested = { lost: [] }

/** Why the file could not be used. */
export type LogUnread = 'absent' | 'unreadable' | 'not-authentic'

/** Must be opened before the store is read: every event that the file knows is then in the store, or lost. Never throws. */
export async function openLogAtRest(folder: string, keys: LedgerKeys): Promise<LogAtRest | LogUnread> {
  const path = join(folder, LOG_FILE)
  if (!existsSync(path)) return 'absent'
  const file = readSqliteLogs({ path, guard: logFileGuard(fixedKeys(keys)) })
  if (file === undefined) return 'unreadable'
  try {
    if (await file.over.isAuthentic()) return atRest(file.over, { keys, close: () => file[Symbol.dispose]() })
    file[Symbol.dispose]()
    return 'not-authentic'
  } catch {
    file[Symbol.dispose]()
    return 'unreadable'
  }
}

type Logs = Pick<
  LogStore,
  'log' | 'logs' | 'leaf' | 'leafPlaces' | 'stoppedLogs' | 'holedLogs' | 'stream' | 'progress' | 'tile'
>
type StopReader = Pick<
  StoreReader,
  'attested' | 'comparePositions' | 'densePositions' | 'readAll' | 'readStream' | 'recordAt'
>

function atRest(logs: Logs, { keys, close }: { readonly keys: LedgerKeys; readonly close: () => void }): LogAtRest {
  return {
    stopsIn: async (store) => {
      const keysOf = { ring: keys.ring, runKeys: createRunKeys(keys.ring) }
      // A body in an archive that is elsewhere is not lost.
      const checking = { ...keysOf, depth: 'full', headersSuffice: true } as const
      const isSound = (record: ReadRecord): boolean => checkRecord(record, expectedAlone(record), checking).ok
      const stops = new Map<string, Loss>()
      let oneExists = false
      for (const { tenant, stopped } of logs.stoppedLogs()) {
        const exists =
          stopped !== undefined && (await isPutBack({ store, logStore: logs }, { tenant, stopped, isSound }))
        oneExists ||= exists
        if (stopped !== undefined && !exists) stops.set(tenant, stopLoss(tenant, stopped))
      }
      const holes = new Map(logs.holedLogs().map((row) => [row.tenant, holeLosses(row.holes ?? [])]))
      const { gap, ...progress } = logs.progress() ?? {}
      const isOneBack = gap?.events === 1 && (await store.recordAt(gap.first)) !== undefined
      const ofStore = lossesOfStore({ ...progress, ...(gap !== undefined && !isOneBack && { gap }) })
      const losses: LossesOfTenant = (tenant) => {
        const stop = stops.get(tenant)
        const own = unsound.filter(({ stream = '' }) => streamTenant(stream) === tenant)
        return [...(stop === undefined ? [] : [stop]), ...ofStore, ...own, ...(holes.get(tenant) ?? [])]
      }
      const unsound = await unsoundBehind(store, logs, isSound)
      const isOneLate = (await lateEvent({ store, logStore: logs }, isSound)) !== undefined
      return { losses, isPutBack: oneExists || isOneBack || isOneLate }
    },
    sizeOf: (tenant) => logs.logs().find((row) => row.tenant === tenant)?.size ?? 0,
    knownHead: (stream) => headKnownBy(logs.stream(stream)),
    seen: () => logs.progress()?.position,
    attestedAfter: () => logs.progress()?.notes?.after,
    places: function* () {
      for (const { tenant, size } of logs.logs())
        for (let from = 0; from < size; from += PLACES_AT_ONCE)
          yield* logs.leafPlaces(tenant, from, Math.min(size, from + PLACES_AT_ONCE))
    },
    leafAt: (store, position) => leafAt({ store, logStore: logs }, position),
    isAcknowledged: acknowledgedIn(logs),
    holedTenants: () => logs.holedLogs().map(({ tenant }) => tenant),
    lostEnds: async (store) => {
      const losses: Loss[] = []
      for (const row of logs.logs()) {
        const { gone } = await endOf({ store, logStore: logs }, row)
        if (gone === undefined) continue
        const { stream, revision } = gone.leaf
        losses.push({ scope: 'run', code: gone.code, stream, revision })
      }
      return losses
    },
    [Symbol.dispose]: close,
  }
}

/**
 * Events behind the place that the log has reached that do not verify: the log of a serving ledger would stop at the first of them. On a store that others
 * may write to, a stream without a sound event is a stranger's.
 */
async function unsoundBehind(
  store: StopReader,
  logs: Pick<Logs, 'progress' | 'stream'>,
  isSound: (record: ReadRecord) => boolean,
): Promise<readonly Loss[]> {
  const ours = new Set<string>()
  const losses: Loss[] = []
  let events = 0
  for await (const page of store.readAll({ after: logs.progress()?.position })) {
    events += page.length
    for (const record of page) {
      const { stream, revision } = record
      if (logTenant(stream) === undefined || isHeldPlace(record)) continue
      if (isSound(record)) ours.add(stream)
      else if (store.densePositions === true || ours.has(stream) || headKnownBy(logs.stream(stream)) !== undefined)
        losses.push({ scope: 'run', code: 'seal', stream, revision })
    }
    if (losses.length >= LOSSES_MAX || events >= UNFOLLOWED_MAX) break
  }
  return losses
}

/** The file, if it can be used and speaks of this kind of store: after a copy, files of another kind may be in the same folder. */
export function logOf(store: StoreReader, found: LogAtRest | LogUnread): LogAtRest | undefined {
  if (typeof found === 'string') return undefined
  const seen = found.seen()
  if (seen !== undefined && !isPositionOf(store, seen)) return undefined
  // Writers attest events on servers only.
  return found.attestedAfter() !== undefined && store.densePositions === true ? undefined : found
}

interface Sources {
  readonly log: LogAtRest | undefined
  /** Undefined if nothing can be checked. */
  readonly keys: LedgerKeys | undefined
}

/**
 * Losses at positions without a record: as leaves name the events, or of the store. Acknowledged losses account for as many positions as they name events, and
 * are named themselves.
 */
async function lossesAt(
  store: StoreReader,
  missing: readonly Position[],
  { log, keys }: Sources,
): Promise<readonly Loss[]> {
  const leaves = new Map(missing.map((position) => [position, log?.leafAt(store, position)]))
  const isPassed = (position: Position): boolean => {
    const leaf = leaves.get(position)
    return leaf !== undefined && log?.isAcknowledged(leaf) === true
  }
  if (missing.every(isPassed)) return []
  const acknowledged =
    keys === undefined
      ? []
      : await (log === undefined
          ? acknowledgedAmong(store.readAll(), keys)
          : acknowledgedOf(store, log.holedTenants(), keys))
  const lost = (await unexplained(store, missing, acknowledged)).map((position): Loss => {
    const { stream, revision } = leaves.get(position) ?? {}
    return stream === undefined ? gapLoss : { scope: 'run', code: MISSING, stream, revision }
  })
  return [...lost, ...acknowledged.map(lossOfEvent)]
}

/** `isCounted`: at every position; otherwise among the last ones, which costs the same for a store of any size, and at the end. */
async function missingIn(store: StoreReader, isCounted: boolean, sources: Sources): Promise<readonly Loss[]> {
  if (isCounted) {
    const missing = (await store.missingPositions?.(MISSING_MAX + 1)) ?? []
    return missing.length > MISSING_MAX ? [gapLoss] : lossesAt(store, missing, sources)
  }
  const end = await store.end()
  const missing = ((await store.missingPositions?.(NEAR, NEAR)) ?? []).filter(
    (position) => end !== undefined && store.comparePositions(position, end) < 0,
  )
  const atEnd = (await store.missingEnd?.()) === undefined ? [] : [gapLoss]
  return [...atEnd, ...(await lossesAt(store, missing, sources))]
}

/** Whether the store ends before a position that the log file has seen. Events behind that position, of any run, may be lost as well. */
async function endsBefore(store: StoreReader, seen: Position | undefined): Promise<boolean> {
  if (seen === undefined) return false
  const end = await store.end()
  return end === undefined || store.comparePositions(end, seen) < 0
}

interface AtRest {
  readonly isCounted: boolean
  readonly keys: LedgerKeys | undefined
  /** Losses at which logs stopped; absent if that was not checked. */
  readonly stops?: LossesOfTenant | undefined
  /** Losses that the ledger's own note and its checkpoints show; see `lossesBeside`. */
  readonly noted: readonly Loss[]
}

/** What the files beside a store know to be lost in it, for a command that prints a part of it. */
export async function lossesAtRest(settings: Settings, reader: StoreReader): Promise<LossesOfTenant> {
  const keys = readKeys(settings.keys)
  if (keys === undefined) {
    const noted = await lossesBehindCheckpoints(settings, reader, () => 0)
    return knownAtRest(reader, undefined, { isCounted: false, keys, noted })
  }
  const found = await openLogAtRest(settings.data, keys)
  using file = typeof found === 'string' ? undefined : found
  const log = logOf(reader, file ?? 'absent')
  const stops = (await log?.stopsIn(reader))?.losses
  const noted = await lossesBeside(settings, keys, reader, log)
  return await knownAtRest(reader, log, { isCounted: false, keys, stops, noted })
}

/** What the ledger's own note and its checkpoints beside the store know of, and the store lacks. */
export async function lossesBeside(
  settings: Settings,
  keys: LedgerKeys,
  reader: StoreReader,
  log: LogAtRest | undefined,
): Promise<readonly Loss[]> {
  const noted = await lossesNoted(reader, notedLoss(settings, fixedKeys(keys)))
  return [...noted, ...(await lossesBehindCheckpoints(settings, reader, (tenant) => log?.sizeOf(tenant) ?? 0, keys))]
}

/**
 * Losses that a read-only process knows before it reads any event: positions without a record, and the losses that the ledger's log file shows. Stream heads
 * are not included, because the store may be read up to an earlier position than the file has seen. `isCounted`: checks every position, or every note of a
 * server's writers, which takes time proportional to the history.
 */
export async function knownAtRest(
  store: StoreReader,
  log: LogAtRest | undefined,
  { isCounted, keys, stops, noted }: AtRest,
): Promise<LossesOfTenant> {
  const wentBack = await endsBefore(store, log?.seen())
  const attested = (isCounted && (await store.attested?.({}))) || NOTHING_ATTESTED
  const attestedTo = log?.attestedAfter()
  const isLater =
    attestedTo !== undefined &&
    attested.after !== undefined &&
    store.comparePositions(attested.after.now, attestedTo) > 0
  const areNotesBroken = attested.broken !== undefined || isLater
  const missing = await missingIn(store, isCounted, { log, keys })
  const isUnnamed = missing.some(({ stream }) => stream === undefined)
  const gone = attested.lost.map(({ stream, revision }): Loss => ({ scope: 'run', code: 'missing', stream, revision }))
  const lost = [...gone, ...missing, ...((await log?.lostEnds(store)) ?? [])]
  return (tenant) => [
    ...(isUnnamed ? [gapLoss] : []),
    ...(wentBack ? [WENT_BACK] : []),
    ...(areNotesBroken ? [notesLoss] : []),
    ...(stops?.(tenant) ?? []),
    ...noted.filter(({ stream }) => stream === undefined || streamTenant(stream) === tenant),
    ...lost.filter(({ stream = '' }) => streamTenant(stream) === tenant),
  ]
}
