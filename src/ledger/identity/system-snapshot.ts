/**
 * @module What the start knows of the ledger's own stream, kept in the views under a mac of the ring, so that it reads only what came since.
 * Losing it costs one reading of the whole stream.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { EventBody } from '../../../schemas/events.ts'
import { SYSTEM_STREAM, SYSTEM_TENANT } from '../../../schemas/names.ts'
import type { Expectation } from '../../signing/check.ts'
import { recordDigest } from '../../signing/digests.ts'
import { type EventStore, readOne } from '../../store/event-store.ts'
import type { ViewStore } from '../../store/view-store.ts'
import type { Sealer } from './sealer.ts'

export interface SystemStream {
  readonly founding: EventBody<'LedgerCreated'>
  /** The last key that the ledger announced for its seals. */
  readonly kid: string
  /** Verifier key, under the origin, of the key that the ledger announced last for its logs. */
  readonly logKey: string
  readonly next: Expectation
}

export interface SnapshotDeps {
  readonly store: EventStore
  readonly sealer: Sealer
  /** Absent where nothing is kept. */
  readonly views?: Pick<ViewStore, 'loadFold' | 'saveFold'> | undefined
}

const PROJECTION = 'system/1'
const PREFIX = 'countersign/system-snapshot/v1\n'

/** Undefined where there is none that is whole, is this ledger's, and is about the store as it is. */
export async function loadSnapshot({ store, sealer, views }: SnapshotDeps): Promise<SystemStream | undefined> {
  const known = orNothing(() => {
    const row = views?.loadFold(SYSTEM_STREAM, PROJECTION)
    const dot = row?.mac.lastIndexOf('.') ?? -1
    if (row === undefined || dot < 0) return undefined
    const mac = macOf(sealer, row.mac.slice(0, dot), row.text)
    return mac !== undefined && isSame(row.mac.slice(dot + 1), mac) ? (JSON.parse(row.text) as SystemStream) : undefined
  })
  if (known === undefined) return undefined
  // A store restored from a copy, or another one, has something else there, or nothing.
  const head = await readOne(store, { stream: SYSTEM_STREAM, revision: known.next.revision - 1 })
  return head !== undefined && recordDigest(head.header) === known.next.prevDigest ? known : undefined
}

/** Views that cannot take it cost time at the next start, and nothing else. */
export function saveSnapshot({ sealer, views }: SnapshotDeps, known: SystemStream): void {
  const text = JSON.stringify(known)
  const kid = sealer.ring.keys.at(-1)?.kid ?? ''
  const mac = macOf(sealer, kid, text)
  if (mac === undefined) return
  const row = { stream: SYSTEM_STREAM, revision: known.next.revision - 1, projection: PROJECTION, text }
  orNothing(() => views?.saveFold({ ...row, mac: `${kid}.${mac}` }))
}

function macOf(sealer: Sealer, kid: string, text: string): string | undefined {
  const key = sealer.keyOf(kid, SYSTEM_TENANT, SYSTEM_STREAM)
  return key && createHmac('sha256', key).update(PREFIX).update(text).digest('base64url')
}

function isSame(value: string, wanted: string): boolean {
  const [a, b] = [Buffer.from(value), Buffer.from(wanted)]
  return a.length === b.length && timingSafeEqual(a, b)
}

function orNothing<T>(use: () => T): T | undefined {
  try {
    return use()
  } catch {
    return undefined
  }
}
