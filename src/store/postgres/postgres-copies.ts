/** @module Shared copies in the database of the store, in two tables next to the events. */
import type pg from 'pg'
import { parsePosition } from '../decimal-position.ts'
import { type Position, StoreUnavailableError } from '../event-store.ts'
import type { PartReader, PartWriter, SharedCopies, SharedCopy, WrittenCopy } from '../shared-copies.ts'
import { readConnectionUrl } from './connection-url.ts'
import { isPassing, reasonOf, sqlState } from './errors.ts'
import { closeSessions, newClient, openSessions, type Row, read, type Sessions } from './sessions.ts'
import { DEFAULT_TIMINGS, type Timings } from './timings.ts'

/** Age at which copies left by builds with other tables are deleted if they were not renewed. */
const STALE = '7 days'
const RETRY_MS = 1_000

/** Connects on first use. Throws `StoreOpenError` for a URL that cannot be used. */
export function openPostgresCopies(url: string, timings: Timings = DEFAULT_TIMINGS): SharedCopies {
  return new PostgresCopies(openSessions(readConnectionUrl(url), timings), timings)
}

class PostgresCopies implements SharedCopies {
  readonly #sessions: Sessions
  readonly #timings: Timings
  readonly #schema: string

  constructor(sessions: Sessions, timings: Timings) {
    this.#sessions = sessions
    this.#timings = timings
    this.#schema = sessions.target.schema
  }

  async latest(name: string): Promise<SharedCopy | undefined> {
    const [row] = await read(this.#sessions, this.#copyQuery(), [name])
    return copyOf(row)
  }

  async read<T>(name: string, use: (copy: SharedCopy, part: PartReader) => Promise<T>): Promise<T | undefined> {
    return await this.#transaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', async (client) => {
      const copy = copyOf((await client.query<Row>(this.#copyQuery(), [name])).rows[0])
      if (copy === undefined) return undefined
      const text = `SELECT bytes FROM ${this.#schema}.copy_parts WHERE name = $1 AND digest = $2`
      return await use(copy, async (digest) => {
        const { rows } = await client.query<Row>(text, [name, digest])
        return rows[0] === undefined ? undefined : (rows[0].bytes as Uint8Array)
      })
    })
  }

  async write(
    name: string,
    make: (kept: SharedCopy | undefined, put: PartWriter) => Promise<WrittenCopy | undefined>,
  ): Promise<boolean> {
    return await this.#transaction('BEGIN', async (client) => {
      const lock = 'SELECT pg_try_advisory_xact_lock(hashtextextended($1, 0)) AS is_owner'
      const { rows } = await client.query<Row>(lock, [`countersign/copies/${this.#schema}/${name}`])
      if (rows[0]?.is_owner !== true) return false
      // A copy lost in a crash is simply written again.
      await client.query('SET LOCAL synchronous_commit = off')
      const previous = copyOf((await client.query<Row>(this.#copyQuery(), [name])).rows[0])
      const made = await make(previous, await this.#partWriter(client, name))
      if (made === undefined) return false
      await this.#replace(client, name, made)
      return true
    })
  }

  async eventsBetween(after: Position | undefined, upTo: Position, most = Number.MAX_SAFE_INTEGER): Promise<number> {
    const [row] = await read(
      this.#sessions,
      `SELECT count(*) AS events FROM (
        SELECT FROM ${this.#schema}.events WHERE position > $1 AND position <= $2 LIMIT $3) looked`,
      [after === undefined ? 0 : parsePosition(after), parsePosition(upTo), most],
    )
    return Number(row?.events)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await closeSessions(this.#sessions)
  }

  #copyQuery(): string {
    return `SELECT text, seal FROM ${this.#schema}.copies WHERE name = $1`
  }

  async #partWriter(client: pg.Client, name: string): Promise<PartWriter> {
    const { rows } = await client.query<Row>(`SELECT digest FROM ${this.#schema}.copy_parts WHERE name = $1`, [name])
    const known = new Set(rows.map(({ digest }) => String(digest)))
    return async (digest, bytes) => {
      if (known.has(digest)) return
      known.add(digest)
      const text = `INSERT INTO ${this.#schema}.copy_parts (name, digest, bytes) VALUES ($1, $2, $3)`
      await client.query(text, [name, digest, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)])
    }
  }

  async #replace(client: pg.Client, name: string, { text, seal, parts }: WrittenCopy): Promise<void> {
    await client.query(
      `INSERT INTO ${this.#schema}.copies (name, text, seal, written_at) VALUES ($1, $2, $3, now())
        ON CONFLICT (name) DO UPDATE SET text = EXCLUDED.text, seal = EXCLUDED.seal, written_at = EXCLUDED.written_at`,
      [name, text, seal],
    )
    await client.query(`DELETE FROM ${this.#schema}.copy_parts WHERE name = $1 AND digest <> ALL ($2::text[])`, [
      name,
      parts,
    ])
    await client.query(
      `DELETE FROM ${this.#schema}.copies WHERE written_at < now() - interval '${STALE}'
        AND split_part(name, '@', 1) = split_part($1, '@', 1)`,
      [name],
    )
  }

  /** Uses a separate connection, which is closed afterwards, so that appends and reads are not delayed. */
  async #transaction<T>(begin: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
    const client = newClient(this.#sessions, this.#timings.readMs)
    try {
      await client.connect()
      await client.query(begin)
      const done = await work(client)
      await client.query(done === false ? 'ROLLBACK' : 'COMMIT')
      return done
    } catch (error) {
      if (sqlState(error) === undefined || !isPassing(error)) throw error
      throw new StoreUnavailableError(`the server does not answer: ${reasonOf(error)}`, RETRY_MS)
    } finally {
      // Without a commit the server rolls back, whatever the state of the connection.
      await client.end().catch(() => undefined)
    }
  }
}

function copyOf(row: Row | undefined): SharedCopy | undefined {
  return row === undefined ? undefined : { text: String(row.text), seal: String(row.seal) }
}
