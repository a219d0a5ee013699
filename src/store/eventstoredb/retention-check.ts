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
import { isLedgerStream } from './all-reads.ts'
import { NoAnswerError } from './client-errors.ts'
import type { Connection } from './connection.ts'
import { drain } from './drain.ts'

const METADATA_TYPE = '$metadata'
const DELETED_TYPE = '$streamDeleted'
const SEARCH_WINDOW = 500
const QUIET_MS = 1_000
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

/** Every stream's last metadata counts. The subscription says by events and checkpoints how far it has looked. */
async function collectFaults(connection: Connection, end: Position, faults: Map<string, string>): Promise<void> {
  faults.clear()
  const stream = connection.shared.current.subscribeToAll({
    fromPosition: START,
    requiresLeader: true,
    filter: eventTypeFilter({
      prefixes: [METADATA_TYPE, DELETED_TYPE],
      maxSearchWindow: SEARCH_WINDOW,
      checkpointInterval: 1,
      checkpointReached: (subscription, position) => {
        if (compareAllPositions(position, end) >= 0) subscription.emit(LOOKED_THROUGH)
      },
    }),
  })
  const onItem = ({ event }: AllStreamResolvedEvent): boolean => {
    if (event === undefined) return true
    judge(faults, event)
    return compareAllPositions(event.position, end) < 0
  }
  try {
    await drain(stream, { onItem, idleMs: QUIET_MS, endsOn: ['caughtUp', LOOKED_THROUGH] })
  } catch (error) {
    // A server that tells of no end goes quiet there.
    if (!(error instanceof NoAnswerError)) throw error
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
