/** @module Creates the schema, and checks that it exists, has a version known to this build, and is unaltered. */
import { randomInt } from 'node:crypto'
import type pg from 'pg'
import { StoreOpenError } from '../event-store.ts'
import { type ConnectionTarget, readConnectionUrl } from './connection-url.ts'
import { type AlteredObject, alteredObjects } from './definitions.ts'
import { reasonOf, refusalWithAdvice, sqlState } from './errors.ts'
import { grants, migrations, SCHEMA_VERSION } from './schema.ts'
import { checkServer, closeSessions, newClient, openSessions, type Row, read, type Sessions } from './sessions.ts'
import { DEFAULT_TIMINGS } from './timings.ts'

const UNDEFINED_TABLE = '42P01'
const UNDEFINED_SCHEMA = '3F000'
/** Allows one migration at a time per database, across all processes. */
const MIGRATION_LOCK = 'countersign/migrations'
const LOCK_MS = 10_000
const LOCK_NOT_AVAILABLE = '55P03'
const IN_USE =
  'the schema is being changed by another command, or its tables are held by somebody: nothing was changed, run it again'
const NAMESPACE_MAX = 2 ** 31 - 1
const ROLE_PATTERN = /^[a-z_][a-z0-9_]{0,62}$/

export interface SchemaStatus {
  readonly schema: string
  readonly connection: ConnectionTarget['secrecy']
  /** 0 if there is no schema yet. */
  readonly version: number
  readonly newest: number
  /** Undefined while the schema is being created or upgraded, since the table may be locked. */
  readonly events: number | undefined
  readonly faults: readonly string[]
}

/** Throws `StoreOpenError`; its message says which command to run. */
export async function checkSchema(sessions: Sessions): Promise<void> {
  await checkVersion(sessions)
  const [fault] = await schemaFaults(sessions)
  if (fault !== undefined) throw new StoreOpenError('store-corrupt', `${sessions.target.shown}: ${fault.message}`)
}

/** Checks that the schema exists with a version that this build knows: in another version, events may be stored differently. Throws `StoreOpenError`. */
export async function checkVersion(sessions: Sessions): Promise<void> {
  const { schema, shown } = sessions.target
  const version = await versionOf(sessions)
  if (version === 0) {
    throw new StoreOpenError(
      'store-unreadable',
      `${shown} has no schema ${schema} yet: run "countersign store init --store URL" as its owner`,
    )
  }
  if (version > SCHEMA_VERSION) {
    const message = `the schema ${schema} has version ${version}, this build knows up to ${SCHEMA_VERSION}: update it`
    throw new StoreOpenError('store-newer', message)
  }
  if (version < SCHEMA_VERSION) {
    const message = `the schema ${schema} has version ${version}, this build needs ${SCHEMA_VERSION}: run "countersign store init --store URL" as its owner`
    throw new StoreOpenError('store-unsupported', message)
  }
}

export interface SchemaFault {
  /** `schema-altered`: a trigger that refuses changes is missing or disabled. */
  readonly code: 'schema-altered' | 'protection-altered'
  readonly message: string
}

/** Objects of the schema that are not as this build creates them: missing, disabled, or with another definition (STR-31). */
export async function schemaFaults(sessions: Sessions): Promise<readonly SchemaFault[]> {
  const { schema } = sessions.target
  return (await alteredObjects(sessions)).map((altered) => schemaFault(schema, altered))
}

function schemaFault(schema: string, { kind, name, how }: AlteredObject): SchemaFault {
  const named =
    kind === 'function'
      ? `the function ${schema}.${name}`
      : `the ${kind} ${name} of ${schema}.${name.startsWith('event_groups_') ? 'event_groups' : 'events'}`
  const code = kind === 'trigger' && how !== 'different' ? 'schema-altered' : 'protection-altered'
  return { code, message: `${named} ${STATES[how]}: history could be altered. ${RESTORE}` }
}

const STATES = { gone: 'is gone', disabled: 'is disabled', different: 'is not as this build makes it' } as const
const RESTORE =
  'Restore it as "countersign store init" makes it in a new schema ("pg_dump --schema-only" shows that), find out who changed it, then run "countersign verify"'

async function schemaStatus(sessions: Sessions): Promise<SchemaStatus> {
  const { schema, secrecy } = sessions.target
  const version = await versionOf(sessions)
  const known = { schema, connection: secrecy, version, newest: SCHEMA_VERSION }
  if (await isMigrating(sessions)) return { ...known, events: undefined, faults: [] }
  if (version === 0) return { ...known, events: 0, faults: [] }
  const [row] = await read(sessions, `SELECT count(*) AS events FROM ${schema}.events`)
  const faults = (await schemaFaults(sessions)).map(({ message }) => message)
  return { ...known, events: Number(row?.events), faults }
}

async function isMigrating(sessions: Sessions): Promise<boolean> {
  const [row] = await read(
    sessions,
    `SELECT count(*) AS held FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
      AND (classid::bigint << 32 | objid::bigint) = hashtextextended($1, 0)
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [MIGRATION_LOCK],
  )
  return Number(row?.held) > 0
}

/**
 * Creates or upgrades the schema, in one transaction, and grants `writer` append and read access. It waits a limited time for a concurrent migration and
 * for transactions that hold the tables, so appends queued behind its lock are not delayed longer than that. Throws `StoreOpenError` for a newer schema
 * and on timeout, and the server's own error if the role lacks permission.
 */
async function initSchema(
  sessions: Sessions,
  writer: string | undefined,
  lockMs: number,
): Promise<{ readonly from: number; readonly to: number }> {
  if (writer !== undefined && !ROLE_PATTERN.test(writer)) {
    throw new StoreOpenError('store-unsupported', 'the name of the writer is a lower-case identifier')
  }
  const client = newClient(sessions)
  await client.connect()
  try {
    await client.query('BEGIN')
    await client.query(`SET LOCAL lock_timeout = ${lockMs}`)
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [MIGRATION_LOCK])
    const from = await migrate(client, sessions.target)
    if (writer !== undefined) await client.query(grants(sessions.target.schema, writer))
    await client.query('COMMIT')
    return { from, to: SCHEMA_VERSION }
  } catch (error) {
    if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error
    throw new StoreOpenError('store-locked', IN_USE, { cause: error })
  } finally {
    await client.end()
  }
}

export async function initSchemaAt(url: string, writer?: string, lockMs = LOCK_MS): ReturnType<typeof initSchema> {
  return await withSessions(url, async (sessions) => await initSchema(sessions, writer, lockMs))
}

export async function schemaStatusAt(url: string): Promise<SchemaStatus> {
  return await withSessions(url, schemaStatus)
}

async function withSessions<T>(url: string, work: (sessions: Sessions) => Promise<T>): Promise<T> {
  const sessions = openSessions(readConnectionUrl(url), DEFAULT_TIMINGS)
  try {
    await checkServer(sessions)
    return await work(sessions)
  } catch (error) {
    const advised = refusalWithAdvice(error)
    if (sqlState(error) === undefined || advised === reasonOf(error)) throw error
    throw new StoreOpenError('store-unreadable', advised, { cause: error })
  } finally {
    await closeSessions(sessions)
  }
}

async function migrate(client: pg.Client, { schema }: ConnectionTarget): Promise<number> {
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
  await client.query(`CREATE TABLE IF NOT EXISTS ${schema}.meta (name text PRIMARY KEY, value bigint NOT NULL)`)
  const { rows } = await client.query<Row>(`SELECT value FROM ${schema}.meta WHERE name = 'version'`)
  const from = Number(rows[0]?.value ?? 0)
  if (from > SCHEMA_VERSION)
    throw new StoreOpenError('store-newer', `the schema has version ${from}, this build knows up to ${SCHEMA_VERSION}`)
  const namespace = await namespaceOf(client, schema)
  for (const { version, sql } of migrations(schema, namespace)) if (version > from) await client.query(sql)
  await client.query(
    `INSERT INTO ${schema}.meta (name, value) VALUES ('version', $1) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value`,
    [SCHEMA_VERSION],
  )
  return from
}

/** Chosen once per schema: two ledgers in one database do not see each other's writers. */
async function namespaceOf(client: pg.Client, schema: string): Promise<number> {
  await client.query(
    `INSERT INTO ${schema}.meta (name, value) VALUES ('lock-namespace', $1) ON CONFLICT (name) DO NOTHING`,
    [randomInt(1, NAMESPACE_MAX)],
  )
  const { rows } = await client.query<Row>(`SELECT value FROM ${schema}.meta WHERE name = 'lock-namespace'`)
  return Number(rows[0]?.value)
}

async function versionOf(sessions: Sessions): Promise<number> {
  try {
    const [row] = await read(sessions, `SELECT value FROM ${sessions.target.schema}.meta WHERE name = 'version'`)
    return Number(row?.value ?? 0)
  } catch (error) {
    if ([UNDEFINED_TABLE, UNDEFINED_SCHEMA].includes(sqlState(error) ?? '')) return 0
    throw error
  }
}
