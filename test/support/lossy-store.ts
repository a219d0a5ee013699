/**
 * @module A store of any backend that keeps its events between ledgers, and what somebody with access to its medium does to it: events are taken away,
 * altered and put back. What it holds is read from the medium, not through the store.
 */
import { canonicalJson } from '../../src/signing/canonical-json.ts'
import type { LedgerKeys } from '../../src/signing/ledger-keys.ts'
import { GROUP_NOTES, ringSeal } from '../../src/signing/note-seal.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import { openEventStoreDbStore } from '../../src/store/eventstoredb/eventstoredb-store.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { GROUP_SIZE } from '../../src/store/postgres/schema.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { LoggedEvent } from './eventstoredb/log.ts'
import { type EventStoreNode, startNode } from './eventstoredb-node.ts'
import { beside } from './lossy-site.ts'
import { owner, schemaOf } from './postgres-owner.ts'
import { newPostgresUrl } from './postgres-store.ts'
import { rowsOf, tamper } from './tamper.ts'
import type { TempFolder } from './temp-folder.ts'
import type { TestStoreKind } from './test-store.ts'

/** An event as it is on the medium. */
export interface MediumRow {
  /** Of this event alone, in the order of the store. */
  readonly at: string
  readonly stream: string
  readonly revision: number
  readonly header: string
  /** Base64url. */
  readonly salt: string
  readonly data: string
}

/** All of it may be done while a ledger is open. */
export interface LossyStore extends AsyncDisposable {
  readonly url: string
  open(keys: LedgerKeys): Promise<EventStore>
  rows(): Promise<readonly MediumRow[]>
  /** Taken away; `putBack` restores it, byte for byte. */
  remove(row: MediumRow): Promise<void>
  putBack(row: MediumRow): Promise<void>
  /** An older copy in its place: the last events are gone, with everything that says that they were there. Nobody has it open. */
  rollBack(events: number): Promise<void>
  /** Another store with the same content; not of a store in a file, which is copied with its folder. */
  copy(): Promise<LossyStore>
  /** Another header or body in its place. */
  alter(row: MediumRow, changed: Partial<Pick<MediumRow, 'header' | 'data'>>): Promise<void>
}

/** `folder` holds the store of a backend in a file. */
export async function lossyStore(kind: Exclude<TestStoreKind, 'memory'>, folder: TempFolder): Promise<LossyStore> {
  if (kind === 'postgres') return onPostgres(await newPostgresUrl())
  return kind === 'sqlite' ? onSqlite(folder.file('store.db')) : onNode(await startNode())
}

function onSqlite(path: string): LossyStore {
  const gone = new Map<string, (typeof all)[number]>()
  let all = [] as ReturnType<typeof rowsOf>
  return {
    url: path,
    open: () => openSqliteStore({ path }),
    rows: async () => {
      all = rowsOf(path)
      return all.map(({ position, salt, ...row }) => ({
        ...{ ...row, at: String(position) },
        salt: salt.toString('base64url'),
      }))
    },
    remove: async ({ at }) => {
      const row = all.find(({ position }) => String(position) === at)
      if (row !== undefined) gone.set(at, row)
      beside(path, (db) => db.prepare('DELETE FROM events WHERE position = ?').run(at))
    },
    putBack: async ({ at }) => {
      const { stream: _, ...row } = gone.get(at) ?? { stream: '' }
      const names = 'position, stream_id, revision, header, salt, data, request'
      const values = names.replaceAll(/\w+/g, '@$&')
      beside(path, (db) => db.prepare(`INSERT INTO events (${names}) VALUES (${values})`).run(row))
    },
    alter: async ({ at, ...row }, changed) => {
      const { header, data } = { ...row, ...changed }
      beside(path, (db) =>
        db.prepare('UPDATE events SET header = ?, data = ? WHERE position = ?').run(header, data, at),
      )
    },
    rollBack: async (events) =>
      tamper(path, (db) => {
        const cut = 'SELECT position FROM events ORDER BY position DESC LIMIT ?'
        db.prepare(`DELETE FROM events WHERE position IN (${cut})`).run(events)
        db.exec('DELETE FROM streams WHERE id NOT IN (SELECT stream_id FROM events)')
        db.exec('UPDATE head SET position = (SELECT max(position) FROM events)')
      }),
    copy: () => Promise.reject(new Error('copy its folder')),
    [Symbol.asyncDispose]: async () => undefined,
  }
}

/** As base64url. */
const SALT = `translate(rtrim(encode(salt, 'base64'), '='), '+/', '-_') AS salt`

async function onPostgres(url: string): Promise<LossyStore> {
  const db = await owner(url)
  const schema = schemaOf(url)
  const events = `${schema}.events`
  // No trigger fires in this session.
  await db.query('SET session_replication_role = replica')
  const columns = 'position, stream, revision, header, salt, data, request'
  await db.query(`CREATE TEMPORARY TABLE gone AS SELECT ${columns} FROM ${events} LIMIT 0`)
  return {
    url,
    open: async (keys) => {
      const store = await openPostgresStore({ url })
      store.noteWith?.(ringSeal(() => keys.ring, GROUP_NOTES))
      return store
    },
    rows: async () => {
      const sql = `SELECT position::text AS at, stream, revision::integer, header, ${SALT}, data FROM ${events} ORDER BY position`
      return (await db.query<MediumRow>(sql)).rows
    },
    remove: async ({ at }) => {
      await db.query(`INSERT INTO gone SELECT ${columns} FROM ${events} WHERE position = $1`, [at])
      await db.query(`DELETE FROM ${events} WHERE position = $1`, [at])
    },
    putBack: async ({ at }) => {
      await db.query(`INSERT INTO ${events} (${columns}) SELECT * FROM gone WHERE position = $1`, [at])
    },
    alter: async ({ at, ...row }, changed) => {
      const { header, data } = { ...row, ...changed }
      await db.query(`UPDATE ${events} SET header = $2, data = $3 WHERE position = $1`, [at, header, data])
    },
    rollBack: async (count) => {
      const cut = `SELECT position FROM ${events} ORDER BY position DESC LIMIT $1`
      await db.query(`DELETE FROM ${events} WHERE position IN (${cut})`, [count])
      const last = `SELECT max(position) / ${GROUP_SIZE} FROM ${events}`
      await db.query(`DELETE FROM ${schema}.event_groups WHERE grp > (${last})`)
      await db.query(`SELECT setval('${schema}.append_groups', (${last}))`)
    },
    copy: async () => {
      const other = await newPostgresUrl()
      const to = schemaOf(other)
      await db.query(`INSERT INTO ${to}.events (${columns}) SELECT ${columns} FROM ${events}`)
      await db.query(`INSERT INTO ${to}.event_groups SELECT * FROM ${schema}.event_groups`)
      await db.query(`SELECT setval('${to}.append_groups', (SELECT last_value FROM ${schema}.append_groups))`)
      return onPostgres(other)
    },
    [Symbol.asyncDispose]: () => db[Symbol.asyncDispose](),
  }
}

function onNode(node: EventStoreNode): LossyStore {
  const { log } = node
  const eventAt = ({ at }: MediumRow): LoggedEvent => {
    const found = log.all.find(({ position }) => String(position) === at)
    if (found === undefined) throw new Error(`no event at ${at}`)
    return found
  }
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')
  const fieldsOf = (metadata: Uint8Array): Pick<MediumRow, 'header' | 'salt'> => {
    const { header, salt } = JSON.parse(text(metadata))
    return { header: canonicalJson(header), salt }
  }
  return {
    url: node.url,
    open: () => openEventStoreDbStore({ url: node.url, canonical: canonicalJson }),
    rows: async () =>
      log.all
        .filter((event) => !event.stream.startsWith('$') && !log.isLost(event))
        .map(({ position, stream, revision, metadata, data }) => ({
          ...{ at: String(position), stream, revision: Number(revision), data: text(data) },
          ...fieldsOf(metadata),
        })),
    remove: async (row) => log.lose(eventAt(row)),
    putBack: async (row) => log.putBack(eventAt(row)),
    alter: async (row, { header, data }) => {
      const event = eventAt(row)
      const before = JSON.parse(text(event.metadata))
      log.alter(event, {
        ...(data !== undefined && { data: Buffer.from(data) }),
        ...(header !== undefined && {
          metadata: Buffer.from(JSON.stringify({ ...before, header: JSON.parse(header) })),
        }),
      })
    },
    rollBack: async (events) => log.rollBack(events),
    copy: async () => onNode(await startNode({ log: log.copy() })),
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  }
}
