/** @module A stored record, read for folding: the bytes were checked before, or are checked beside it. */
import { Buffer } from 'node:buffer'
import type { RecordedEvent } from '../../projections/projection.ts'
import { isRunEventType } from '../../schemas/events.ts'
import type { Header } from '../../schemas/header.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { recordDigest } from '../signing/digests.ts'
import type { ReadRecord } from '../store/event-store.ts'
import type { LedgerEvent } from './ledger.ts'

/** The event of a verified record. Throws `TypeError` for a type or a body version that this build does not know. */
export function recordedEvent(header: Header, dataText: string): RecordedEvent {
  const data = JSON.parse(dataText) as { v?: unknown }
  if (!isRunEventType(header.type))
    throw new TypeError(`unknown event type ${header.type}: this build is too old for the store`)
  // A snapshot is compared, never folded: one of another version is passed over (STR-10).
  if (data.v !== 1 && header.type !== 'SnapshotTaken')
    throw new TypeError(`unknown version of ${header.type}: this build is too old for the store`)
  return { type: header.type, data, header } as RecordedEvent
}

export function ledgerEvent(record: ReadRecord): LedgerEvent {
  return {
    position: record.position,
    header: JSON.parse(record.header) as Header,
    data: JSON.parse(record.data) as JsonObject,
    digest: recordDigest(record.header),
    texts: {
      header: record.header,
      salt: Buffer.from(record.salt.buffer, record.salt.byteOffset, record.salt.byteLength).toString('base64url'),
      data: record.data,
    },
  }
}
