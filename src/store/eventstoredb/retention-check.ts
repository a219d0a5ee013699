/**
 * @module What would let the server forget events of a ledger: `$maxCount`, `$maxAge`, truncation and deletion of its streams. A scavenge
 * removes them for good; a ledger with holes proves nothing, so it is refused before it is served.
 */
import {
  type AllStreamResolvedEvent,
  BACKWARDS,
  END,
  eventTypeFilter,
  type Position,
  START,
} from '@eventstore/db-client'
import { StoreOpenError } from '../event-store.ts'
import { compareAllPositions } from './all-positions.ts'
import { NoAnswerError } from './client-errors.ts'
import type { Connection } from './connection.ts'
import { AT_WORK, drain } from './drain.ts'
import { isLedgerStream } from './ledger-streams.ts'

const METADATA_TYPE = '$metadata'
const DELETED_TYPE = '$streamDeleted'
const NAMED_MAX = 5

/** Throws `StoreOpenError` (`store-unsupported`) that names the streams and what is set on them. */
export async function refuseRetention(connection: Connection): Promise<void> {
  const faults = new Map<string, string>()
  const end = await lastOfAll(connection)
  if (end !== undefined) await connection.read(() => collectFaults(connection, end, faults))
  if (faults.size === 0) return
  const named = [...faults].slice(0, NAMED_MAX).map(([stream, what]) => `${stream} (${what})`)
  const more = faults.size > NAMED_MAX ? ` and ${faults.size - NAMED_MAX} more` : ''
  throw new StoreOpenError(
    'store-unsupported',
    `the server may forget events of this ledger: ${named.join(', ')}${more}; clear the metadata of these streams, and run no scavenge until then`,
  )
}

async function lastOfAll(connection: Connection): Promise<Position | undefined> {
  let last: Position | undefined
  await connection.read(async (client) => {
    const onItem = ({ event }: AllStreamResolvedEvent): boolean => {
      last = event?.position ?? last
      return true
    }
    const stream = client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1, requiresLeader: true })
    await drain(stream, { onItem, idleMs: connection.timings.callMs })
  })
  return last
}

interface Pass {
  /** Events that the server looks at before it says how far it is. */
  readonly searchWindow: number
  /** So long a silence is the end, where the server tells of none. */
  readonly quietMs: number
}

/** Not every server says that it has come to the end. The second pass goes on where the first fell silent, and hears of each event. */
const PASSES: readonly Pass[] = [
  { searchWindow: 500, quietMs: 1_000 },
  { searchWindow: 1, quietMs: 2_000 },
]

/** Every stream's last metadata counts. */
async function collectFaults(connection: Connection, end: Position, faults: Map<string, string>): Promise<void> {
  faults.clear()
  let from: Position | undefined
  for (const pass of PASSES) {
    const looked = await lookThrough(connection, { pass, from, end, faults })
    if (looked.isAll) return
    from = looked.upTo
  }
}

interface LookThrough {
  readonly pass: Pass
  /** Exclusive. */
  readonly from: Position | undefined
  readonly end: Position
  readonly faults: Map<string, string>
}

/** The subscription says by events and checkpoints how far it has looked. */
async function lookThrough(
  connection: Connection,
  { pass, from, end, faults }: LookThrough,
): Promise<{ readonly isAll: boolean; readonly upTo: Position | undefined }> {
  let upTo = from
  const stream = connection.shared.current.subscribeToAll({
    fromPosition: from ?? START,
    requiresLeader: true,
    filter: eventTypeFilter({
      prefixes: [METADATA_TYPE, DELETED_TYPE],
      maxSearchWindow: pass.searchWindow,
      checkpointInterval: 1,
      checkpointReached: (subscription, position) => {
        upTo = position
        // What it steps over is no silence, however much of it there is.
        subscription.emit(compareAllPositions(position, end) >= 0 ? LOOKED_THROUGH : AT_WORK)
      },
    }),
  })
  const onItem = ({ event }: AllStreamResolvedEvent): boolean => {
    if (event === undefined) return true
    judge(faults, event)
    upTo = event.position
    return compareAllPositions(event.position, end) < 0
  }
  try {
    await drain(stream, { onItem, idleMs: pass.quietMs, endsOn: ['caughtUp', LOOKED_THROUGH] })
    return { isAll: true, upTo }
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error
    return { isAll: false, upTo }
  }
}

const LOOKED_THROUGH = 'countersign-looked-through'

function judge(faults: Map<string, string>, event: NonNullable<AllStreamResolvedEvent['event']>): void {
  if (event.type === DELETED_TYPE && isLedgerStream(event.streamId)) faults.set(event.streamId, 'deleted for good')
  const stream = event.streamId.startsWith('$$') ? event.streamId.slice(2) : ''
  if (event.type !== METADATA_TYPE || !isLedgerStream(stream)) return
  const what = retentionOf(event.data)
  if (what === undefined) faults.delete(stream)
  else faults.set(stream, what)
}

const LIMITS = ['$maxCount', '$maxAge', '$tb']

function retentionOf(data: unknown): string | undefined {
  if (typeof data !== 'object' || data === null) return undefined
  const set = Object.entries(data).filter(([key, value]) => LIMITS.includes(key) && value !== 0)
  return set.length === 0 ? undefined : set.map(([key, value]) => `${key} ${String(value)}`).join(', ')
}
