/**
 * @module Handles a server that answers but accepts no event: its disk is full, it is read-only, the role may not append, or positions are already taken.
 * A test write shows whether the condition is over: rows are inserted, more than a page of them, and rolled back.
 */
import type { StoreStatus } from '../event-store.ts'
import { FULL_DISK, READ_ONLY, refusalDetail, sqlState } from './errors.ts'
import { GROUP_SIZE } from './schema.ts'
import { read, type Sessions } from './sessions.ts'

const NOT_ALLOWED = '42501'
const TAKEN = '23505'
/** Primary keys of the events and of their groups: a violation means that the position or group is taken, not that another writer was faster. */
const POSITION_KEYS: readonly unknown[] = ['events_pkey', 'event_groups_pkey']
/** More than fits into the free space of the table's existing pages, so that a disk that would be full again at once does not count as free. */
const PROBE_ROWS = 256
const PROBE_ROW_BYTES = 1_000
const PROBES = 2 ** 40

/** The status of a store whose server gave this error, if the error applies to every later append; undefined if the next append may succeed. */
export function refusesAll(error: unknown): StoreStatus | undefined {
  const code = sqlState(error)
  if (code === FULL_DISK) return { state: 'full', detail: 'the disk of the server is full' }
  if (code === READ_ONLY || code === NOT_ALLOWED) return { state: 'unavailable', detail: refusalDetail(error) }
  return code === TAKEN && POSITION_KEYS.includes(constraintOf(error))
    ? { state: 'failed', detail: POSITION_TAKEN }
    : undefined
}

const POSITION_TAKEN =
  'the next position is taken: the sequence append_groups was put back, or events were restored without it. Nothing is appended; start again, which says what to do'

function constraintOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'constraint' in error ? error.constraint : undefined
}

/** Rejects with the server's own error if rows cannot be written. The rows are never visible to other transactions. */
export async function probeWrite({ writer, target }: Sessions): Promise<void> {
  const client = await writer.connect()
  try {
    await client.query('BEGIN')
    await client.query(
      `INSERT INTO ${target.schema}.events (position, stream, revision, header, salt, data)
        SELECT -$1::bigint - n, 'probe', n, '', '', repeat('x', ${PROBE_ROW_BYTES}) FROM generate_series(1, ${PROBE_ROWS}) AS n`,
      [PROBE_ROWS * Math.floor(Math.random() * PROBES)],
    )
    await client.query('ROLLBACK')
    client.release()
  } catch (error) {
    // Closing the connection ends its transaction.
    client.release(true)
    throw error
  }
}

/** Error text if events exist beyond the groups drawn from the sequence, so that no append could find a free position; undefined otherwise. */
export async function lostSequence(sessions: Sessions): Promise<string | undefined> {
  const { schema } = sessions.target
  // The rows are read first: a writer draws its group before it writes a row.
  const [row] = await read(
    sessions,
    `SELECT coalesce((SELECT max(position) FROM ${schema}.events), 0) / ${GROUP_SIZE} AS held,
      CASE WHEN is_called THEN last_value ELSE 0 END AS drawn FROM ${schema}.append_groups`,
  )
  const [held, drawn] = [Number(row?.held), Number(row?.drawn)]
  if (held <= drawn) return undefined
  return (
    `the events go up to group ${held}, but the sequence ${schema}.append_groups is at ${drawn}: the events were restored without it, and no append ` +
    `would find a free position. Restore the whole schema; or, as its owner, run SELECT setval('${schema}.append_groups', ${held}), then "countersign verify"`
  )
}
