/**
 * @module What a ledger acknowledged, as the truth oracle knows it: every event as it lay in the store when the history ended, read without any reader of
 * the product, and the Merkle log and the answers that follow from them, made with nothing but SHA-256 and sums.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import Sqlite from 'better-sqlite3'
import type { LossyStore } from '../support/lossy-store.ts'

/** A row of the store. */
export interface Row {
  readonly position: number
  readonly stream: string
  readonly revision: number
  readonly header: string
  /** Base64url, as exports have it. */
  readonly salt: string
  readonly data: string
}

export interface Acknowledged extends Row {
  readonly id: string
  readonly type: string
  readonly tenant: string
  /** The run, where it is an event of one. */
  readonly run: string | undefined
  readonly isLeaf: boolean
}

const ROWS = `SELECT e.position, s.name AS stream, e.revision, e.header, e.salt, e.data
  FROM events e NOT INDEXED LEFT JOIN streams s ON s.id = e.stream_id ORDER BY e.position`

/** Every row of a store in a file, damaged or not; none where there is no file. */
export function rowsIn(path: string): readonly Row[] {
  if (!existsSync(path)) return []
  const db = new Sqlite(path)
  try {
    const rows = db.prepare<[], Omit<Row, 'salt'> & { readonly salt: Buffer }>(ROWS).all()
    return rows.map((row) => ({ ...row, salt: row.salt.toString('base64url'), ...archivedBody(path, row) }))
  } finally {
    db.close()
  }
}

/** Salt and body out of the archive in which the row says that they are; both empty where they are not there. */
function archivedBody(store: string, { header, data }: Pick<Row, 'header' | 'data'>): Partial<Row> {
  const [, name, offset, bytes] = /^archived:([a-z0-9-]+):(\d+):(\d+)$/.exec(data) ?? []
  if (name === undefined) return {}
  const path = `${store}.archives/${name}.jsonl`
  const from = Number(offset)
  const line = existsSync(path)
    ? readFileSync(path)
        .subarray(from, from + Number(bytes))
        .toString('utf8')
    : ''
  const [, salt = '', body = ''] = line.startsWith(`{"header":${header},`)
    ? (/^,"salt":"([\w-]*)","data":(.*)\}$/s.exec(line.slice(`{"header":${header}`.length)) ?? [])
    : []
  return { salt, data: body }
}

/** How many leaves of each tenant the log.db of a folder has. */
export function followedIn(folder: string): ReadonlyMap<string, number> {
  const db = new Sqlite(`${folder}/log.db`)
  try {
    const logs = db
      .prepare<[], { readonly tenant: string; readonly size: number }>('SELECT tenant, size FROM logs')
      .all()
    return new Map(logs.map(({ tenant, size }) => [tenant, size]))
  } finally {
    db.close()
  }
}

/** Every row of a store on a server. */
export async function rowsOn(store: Pick<LossyStore, 'rows'>): Promise<readonly Row[]> {
  return (await store.rows()).map(({ at, ...row }) => ({ ...row, position: Number(at) }))
}

export const sameRow = (one: Row | undefined, other: Row | undefined): boolean =>
  one !== undefined &&
  other !== undefined &&
  one.stream === other.stream &&
  one.revision === other.revision &&
  one.header === other.header &&
  one.salt === other.salt &&
  one.data === other.data

export class Model {
  readonly events: readonly Acknowledged[]
  readonly #byPlace: ReadonlyMap<string, Acknowledged>
  readonly #byId: ReadonlyMap<string, Acknowledged>

  constructor(rows: readonly Row[]) {
    this.events = rows.map(acknowledged)
    this.#byPlace = new Map(this.events.map((event) => [placeOf(event), event]))
    this.#byId = new Map(this.events.map((event) => [event.id, event]))
  }

  at(place: { readonly stream: string; readonly revision: number }): Acknowledged | undefined {
    return this.#byPlace.get(placeOf(place))
  }

  byId(id: string): Acknowledged | undefined {
    return this.#byId.get(id)
  }

  /** In the order of the tenant's log. */
  leaves(tenant: string): readonly Acknowledged[] {
    return this.events.filter((event) => event.tenant === tenant && event.isLeaf)
  }

  ofRun(tenant: string, run: string): readonly Acknowledged[] {
    return this.events.filter((event) => event.tenant === tenant && event.run === run)
  }

  runs(tenant: string): readonly string[] {
    return [...new Set(this.events.filter((each) => each.tenant === tenant).flatMap(({ run }) => run ?? []))]
  }

  /** Events that are not in these rows as they were acknowledged. */
  lostIn(rows: readonly Row[]): readonly Acknowledged[] {
    const there = new Map(rows.map((row) => [placeOf(row), row]))
    return this.events.filter((event) => !sameRow(event, there.get(placeOf(event))))
  }

  /** Without the events that are gone from these rows and of which nothing is left that knew them: log.db had followed so many leaves of each tenant. */
  knownBy(followed: ReadonlyMap<string, number>, rows: readonly Row[]): Model {
    const gone = new Set(this.lostIn(rows))
    const behind = [...followed].flatMap(([tenant, size]) => this.leaves(tenant).slice(size))
    const forgotten = new Set(behind.filter((event) => gone.has(event)))
    return new Model(this.events.filter((event) => !forgotten.has(event)))
  }

  /** True where the rows are the acknowledged ones, and none of a run beside them: what a ledger writes by itself it writes to other streams. */
  isWholeIn(rows: readonly Row[]): boolean {
    const strangers = rows.some((row) => row.stream?.startsWith('run-') && this.at(row) === undefined)
    return this.lostIn(rows).length === 0 && !strangers
  }
}

export const placeOf = ({ stream, revision }: { readonly stream: string; readonly revision: number }): string =>
  `${stream} @ ${revision}`

function acknowledged(row: Row): Acknowledged {
  const { id, type, tenant } = JSON.parse(row.header) as { id: string; type: string; tenant: string }
  const run = /^run-[^.]+\.(.+)$/.exec(row.stream)?.[1]
  return { ...row, id, type, tenant, run, isLeaf: /^(?:run|ledger|access)-/.test(row.stream) }
}

/** RFC 6962, of headers: SHA-256(0 ‖ leaf), and SHA-256(1 ‖ left ‖ right) split at the largest power of two below the size. */
export function rootOf(headers: readonly string[]): Buffer {
  const hash = (...parts: readonly (string | Buffer)[]): Buffer => {
    const digest = createHash('sha256')
    for (const part of parts) digest.update(part)
    return digest.digest()
  }
  const [first] = headers
  if (first === undefined) return hash()
  if (headers.length === 1) return hash(Buffer.of(0), first)
  let half = 1
  while (half * 2 < headers.length) half *= 2
  return hash(Buffer.of(1), rootOf(headers.slice(0, half)), rootOf(headers.slice(half)))
}
