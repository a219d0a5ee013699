/** @module Leaves of the logs as rows, and a way to read them beside the one who writes the file. */
import type { LeafReader, LeafRow } from '../log-store.ts'
import { type Database, openReadOnly } from './open.ts'

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
/** Of a tenant, from an index up to, not including, another. */
export const LEAVES_BETWEEN = `${LEAVES} WHERE logs.tenant = ? AND leaves.idx >= ? AND leaves.idx < ? ORDER BY leaves.idx`

/** Each read sees what is there then: no snapshot keeps the file's log from its owner. Undefined where the file cannot be read. */
export function readSqliteLeaves(path: string): LeafReader | undefined {
  let db: Database | undefined
  try {
    const opened = openReadOnly({ path, busyTimeoutMs: BUSY_TIMEOUT_MS })
    db = opened
    const between = opened.prepare<unknown[], LeafColumns>(LEAVES_BETWEEN)
    const leaves = (tenant: string, from: number, to: number) => between.all(tenant, from, to).map(toLeaf)
    return {
      leaf: (tenant, index) => leaves(tenant, index, index + 1)[0],
      leaves,
      [Symbol.dispose]: () => void opened.close(),
    }
  } catch {
    db?.close()
    return undefined
  }
}

export function toLeaf({ tenant, idx: index, stream, revision, position, event }: LeafColumns): LeafRow {
  return { tenant, index, stream, revision, position, eventId: idText(event) }
}

/** 16 bytes instead of 36: a third of the index. */
export function idBytes(eventId: string): Buffer {
  return Buffer.from(eventId.replaceAll('-', ''), 'hex')
}

function idText(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}
