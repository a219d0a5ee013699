/** @module Leaves and tiles of the logs as rows, and a reader for them that runs concurrently with the writer of the file. */
import type { LeafPlace, LeafReader, LeafRow } from '../log-store.ts'
import { type Database, openReadOnly } from './open.ts'
import { fileIdentity } from './rest-file.ts'

const BUSY_TIMEOUT_MS = 2_000

export interface LeafColumns {
  readonly tenant: string
  readonly idx: number
  readonly stream: string
  readonly revision: number
  readonly position: string
  readonly event: Buffer
}

export const LEAVES = `SELECT logs.tenant, leaves.idx, log_streams.stream, leaves.revision, leaves.position, leaves.event
  FROM leaves JOIN logs ON logs.id = leaves.log JOIN log_streams ON log_streams.id = leaves.stream`
const BETWEEN = 'WHERE logs.tenant = ? AND leaves.idx >= ? AND leaves.idx < ? ORDER BY leaves.idx'
/** Leaves of a tenant, from an index up to, but not including, another. */
export const LEAVES_BETWEEN = `${LEAVES} ${BETWEEN}`
/** Columns of a `LeafPlace`. */
export const LEAF_PLACES = `SELECT leaves.idx, log_streams.stream, leaves.revision
  FROM leaves JOIN logs ON logs.id = leaves.log JOIN log_streams ON log_streams.id = leaves.stream ${BETWEEN}`
export const LEAF_OF = `${LEAVES} WHERE logs.tenant = ? AND leaves.event = ? ORDER BY leaves.idx LIMIT 1`
export const TILE =
  'SELECT hashes FROM tiles WHERE log = (SELECT id FROM logs WHERE tenant = ?) AND level = ? AND idx = ?'

/** Each read sees the current content: no snapshot is held that would keep the owner from checkpointing the WAL. Undefined if the file cannot be read. */
export function readSqliteLeaves(path: string): LeafReader | undefined {
  let db: Database | undefined
  try {
    const opened = openReadOnly({ path, busyTimeoutMs: BUSY_TIMEOUT_MS })
    db = opened
    const between = opened.prepare<unknown[], LeafColumns>(LEAVES_BETWEEN)
    const places = opened.prepare<unknown[], LeafPlace>(LEAF_PLACES).raw()
    const leafOf = opened.prepare<unknown[], LeafColumns>(LEAF_OF)
    const tile = opened.prepare<unknown[], Buffer>(TILE).pluck()
    const leaves = (tenant: string, from: number, to: number) => between.all(tenant, from, to).map(toLeaf)
    return {
      leaf: (tenant, index) => leaves(tenant, index, index + 1)[0],
      leaves,
      leafPlaces: (tenant, from, to) => places.all(tenant, from, to),
      leafOf: (tenant, eventId) => {
        const found = leafOf.get(tenant, idBytes(eventId))
        return found && toLeaf(found)
      },
      tile: (...place) => tile.get(...place),
      [Symbol.dispose]: () => void opened.close(),
    }
  } catch {
    db?.close()
    return undefined
  }
}

/**
 * One connection for all readers of the file at `path`, as long as it is the same file: opening a connection changes the file's state, which its owner
 * then has to check.
 */
export function sharedLeaves(path: string): { readonly open: () => LeafReader | undefined } & Disposable {
  let shared: { readonly reader: LeafReader; readonly identity: string; users: number } | undefined
  const closeUnused = (of: typeof shared): void => {
    if (of !== undefined && of !== shared && of.users === 0) of.reader[Symbol.dispose]()
  }
  const forget = (): void => {
    const before = shared
    shared = undefined
    closeUnused(before)
  }
  return {
    open: () => {
      const identity = fileIdentity(path)
      if (shared?.identity !== identity) forget()
      const reader = shared?.reader ?? readSqliteLeaves(path)
      if (reader === undefined) return undefined
      shared ??= { reader, identity, users: 0 }
      const own = shared
      own.users += 1
      let isOpen = true
      const close = (): void => {
        own.users -= isOpen ? 1 : 0
        isOpen = false
        closeUnused(own)
      }
      return { ...reader, [Symbol.dispose]: close }
    },
    [Symbol.dispose]: forget,
  }
}

export function toLeaf({ tenant, idx: index, stream, revision, position, event }: LeafColumns): LeafRow {
  return { tenant, index, stream, revision, position, eventId: idText(event) }
}

/** 16 bytes instead of 36: reduces the size of the index to a third. */
export function idBytes(eventId: string): Buffer {
  return Buffer.from(eventId.replaceAll('-', ''), 'hex')
}

function idText(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
