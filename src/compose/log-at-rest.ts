/** @module What the ledger's own file of the logs knows of a store, for a process that only reads: which events were there. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Loss } from '../../schemas/loss.ts'
import { logFileGuard } from '../ledger/identity/file-guard.ts'
import { WENT_BACK } from '../ledger/integrity/known-losses.ts'
import { gapLoss, headKnownBy, holeLoss, lossesOfStore, notesLoss, stopLoss } from '../ledger/log/log-losses.ts'
import { endOf, isPutBack } from '../ledger/log/log-stops.ts'
import type { KnownHead, LossesOfTenant } from '../ledger/log/tenant-logs.ts'
import { expectedAlone } from '../ledger/read/record-seal.ts'
import { fixedKeys } from '../settings/key-source.ts'
import { LOG_FILE } from '../settings/places.ts'
import { checkRecord } from '../signing/check.ts'
import { createRunKeys } from '../signing/key-ring.ts'
import type { LedgerKeys } from '../signing/ledger-keys.ts'
import { streamTenant } from '../signing/stream-tenant.ts'
import type { Attested, Position, ReadRecord, StoreReader } from '../store/event-store.ts'
import type { LeafPlace, LogStore } from '../store/log-store.ts'
import { readSqliteLogs } from '../store/sqlite/sqlite-log.ts'

/** `isPutBack`: the store holds again what was not there, and files that follow it may lack that. */
export interface StopsAtRest {
  readonly losses: LossesOfTenant
  readonly isPutBack: boolean
}

/** One snapshot of the file, which its owner may go on writing. */
export interface LogAtRest extends Disposable {
  /** Where a log stopped, or positions of the store had no record, as far as the store does not hold now what was not there. */
  stopsIn(store: StopReader): Promise<StopsAtRest>
  /** Of a stream; undefined where the file knows no event of it. */
  knownHead(stream: string): KnownHead | undefined
  /** The last place in the store that it has come to. */
  seen(): Position | undefined
  /** Behind which position writers attest the events of the store; undefined where it has seen no such note. */
  attestedAfter(): Position | undefined
  /** Where the events of the leaves are, of every tenant. */
  places(): Generator<LeafPlace>
  /** The first event at the end of each log that the store does not hold any more; `store` was opened after this. */
  lostEnds(store: Pick<StoreReader, 'readStream'>): Promise<readonly Loss[]>
}

const PLACES_AT_ONCE = 4_096
const NOTHING_ATTESTED: Attested = { lost: [] }

/** Why the file says nothing. */
export type LogUnread = 'absent' | 'unreadable' | 'not-authentic'

/** Opened before the store is read: what the file knows is then in the store, or lost. Never throws. */
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
  'logs' | 'leaf' | 'leafPlaces' | 'stoppedLogs' | 'holedLogs' | 'stream' | 'progress' | 'tile'
>
type StopReader = Pick<StoreReader, 'readStream' | 'recordAt'>

function atRest(logs: Logs, { keys, close }: { readonly keys: LedgerKeys; readonly close: () => void }): LogAtRest {
  return {
    stopsIn: async (store) => {
      const checking = { ring: keys.ring, runKeys: createRunKeys(keys.ring), depth: 'full' } as const
      const isSound = (record: ReadRecord): boolean => checkRecord(record, expectedAlone(record), checking).ok
      const stops = new Map<string, Loss>()
      let isOneThere = false
      for (const { tenant, stopped } of logs.stoppedLogs()) {
        const isThere =
          stopped !== undefined && (await isPutBack({ store, logStore: logs }, { tenant, stopped, isSound }))
        isOneThere ||= isThere
        if (stopped !== undefined && !isThere) stops.set(tenant, stopLoss(tenant, stopped))
      }
      const holes = new Map(logs.holedLogs().map((row) => [row.tenant, (row.holes ?? []).map(holeLoss)]))
      const { gap, ...progress } = logs.progress() ?? {}
      const isOneBack = gap?.events === 1 && (await store.recordAt(gap.first)) !== undefined
      const ofStore = lossesOfStore({ ...progress, ...(gap !== undefined && !isOneBack && { gap }) })
      const losses: LossesOfTenant = (tenant) => {
        const stop = stops.get(tenant)
        return [...(stop === undefined ? [] : [stop]), ...ofStore, ...(holes.get(tenant) ?? [])]
      }
      return { losses, isPutBack: isOneThere || isOneBack }
    },
    knownHead: (stream) => headKnownBy(logs.stream(stream)),
    seen: () => logs.progress()?.position,
    attestedAfter: () => logs.progress()?.notes?.after,
    places: function* () {
      for (const { tenant, size } of logs.logs())
        for (let from = 0; from < size; from += PLACES_AT_ONCE)
          yield* logs.leafPlaces(tenant, from, Math.min(size, from + PLACES_AT_ONCE))
    },
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

/** To count them takes a look at each; whether some are gone from the end takes none. */
async function lacksPositions(store: StoreReader, isCounted: boolean): Promise<boolean> {
  if (isCounted) return ((await store.missingPositions?.(1)) ?? []).length > 0
  return (await store.missingEnd?.()) !== undefined
}

/** What came behind it, in any run, nobody can say. */
async function endsBefore(store: StoreReader, seen: Position | undefined): Promise<boolean> {
  if (seen === undefined) return false
  const end = await store.end()
  return end === undefined || store.comparePositions(end, seen) < 0
}

interface AtRest {
  readonly isCounted: boolean
  /** What stopped logs; absent: it is not asked for. */
  readonly stops?: LossesOfTenant | undefined
  /** What the ledger's own note says that the store had lost. */
  readonly noted: readonly Loss[]
}

/**
 * What a process that only reads knows to be lost before it reads anything: positions without a record, and what the ledger's file of the logs says. No
 * head is among it: the store may be read up to an earlier place than the file has seen. `isCounted`: positions, or the notes of a server's writers, are gone
 * through one by one, which takes longer in a longer history.
 */
export async function knownAtRest(
  store: StoreReader,
  log: LogAtRest | undefined,
  { isCounted, stops, noted }: AtRest,
): Promise<LossesOfTenant> {
  const hasGap = await lacksPositions(store, isCounted)
  const wentBack = await endsBefore(store, log?.seen())
  const attested = (isCounted && (await store.attested?.({}))) || NOTHING_ATTESTED
  const attestedTo = log?.attestedAfter()
  const isLater =
    attestedTo !== undefined &&
    attested.after !== undefined &&
    store.comparePositions(attested.after.now, attestedTo) > 0
  const areNotesBroken = attested.broken !== undefined || isLater
  const gone = attested.lost.map(({ stream, revision }): Loss => ({ scope: 'run', code: 'missing', stream, revision }))
  const lost = [...gone, ...((await log?.lostEnds(store)) ?? [])]
  return (tenant) => [
    ...(hasGap ? [gapLoss] : []),
    ...(wentBack ? [WENT_BACK] : []),
    ...(areNotesBroken ? [notesLoss] : []),
    ...(stops?.(tenant) ?? []),
    ...noted.filter(({ stream }) => stream === undefined || streamTenant(stream) === tenant),
    ...lost.filter(({ stream = '' }) => streamTenant(stream) === tenant),
  ]
}
