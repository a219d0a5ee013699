/**
 * @module A server that answers and takes no event: its disk is full, it is read-only, the role may not append, or positions are taken already.
 * Whether that is over is found out by writing: rows are inserted, more than a page of them, and rolled back.
 */
import type { StoreStatus } from '../event-store.ts'
import { FULL_DISK, READ_ONLY, refusalDetail, sqlState } from './errors.ts'
import { GROUP_SIZE } from './schema.ts'
import { read, type Sessions } from './sessions.ts'

const NOT_ALLOWED = '42501'
const TAKEN = '23505'
/** Primary keys of the events and of their groups: where a position or a group is taken, no other writer was faster. */
const POSITION_KEYS: readonly unknown[] = ['events_pkey', 'event_groups_pkey']
/** More than what is left in the pages that the table has, so that a disk does not count as free that is full again at once. */
const PROBE_ROWS = 256
const PROBE_ROW_BYTES = 1_000
const PROBES = 2 ** 40

/** What an error of the server says of every append that comes after; undefined where the next one may succeed. */
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

/** Rejects with the server's own error where rows cannot be written. Nobody ever sees these. */
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
    // Its transaction ends with it.
    client.release(true)
    throw error
  }
}

/** What to say where the events go beyond the groups that were drawn: no append could find a position. Undefined where they do not. */
export async function lostSequence(sessions: Sessions): Promise<string | undefined> {
  const { schema } = sessions.target
  // The rows first: whoever wrote one had drawn its group before.
  const [row] = await read(
    sessions,
    `SELECT coalesce((SELECT max(position) FROM ${schema}.events), 0) / ${GROUP_SIZE} AS held,
      CASE WHEN is_called THEN last_value ELSE 0 END AS drawn FROM ${schema}.append_groups`,
  )
  const [held, drawn] = [Number(row?.held), Number(row?.drawn)]
  if (held <= drawn) return undefined
  return (
    `the events go up to group ${held}, but the sequence ${schema}.append_groups stands at ${drawn}: the events were restored without it, and no append ` +
    `would find a free position. Restore the whole schema; or, as its owner, run SELECT setval('${schema}.append_groups', ${held}), then "countersign verify"`
  )
}
