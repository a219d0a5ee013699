/** @module Plausible records for store tests: the store keeps their bytes and reads none of them. */

import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import type { AppendRecord } from '../../schemas/header.ts'
import type { Append, EventStore, ReadRecord, RecordPages } from '../../src/store/event-store.ts'

export interface RecordShape {
  readonly type?: string
  readonly requestId?: string
  /** JSON text of the body. */
  readonly data?: string
  /** Length of the body where `data` is not given. */
  readonly bytes?: number
}

export function record({ type = 'EnvelopeAccepted', requestId, data, bytes = 64 }: RecordShape = {}): AppendRecord {
  const id = v7()
  const header = JSON.stringify({ id, type, v: 1 })
  const body = data ?? `{"text":"${'x'.repeat(Math.max(bytes - 11, 0))}"}`
  const plain = { id, type, header, salt: Uint8Array.from(randomBytes(16)), data: body }
  return requestId === undefined ? plain : { ...plain, requestId }
}

export function records(count: number, shape: RecordShape = {}): readonly AppendRecord[] {
  return Array.from({ length: count }, () => record(shape))
}

/** An append of `count` records. */
export function appendOf(stream: string, expectedRevision: number, count = 1): Append {
  return { stream, expectedRevision, records: records(count) }
}

export async function collect(pages: RecordPages): Promise<readonly ReadRecord[]> {
  const all: ReadRecord[] = []
  for await (const page of pages) all.push(...page)
  return all
}

/** Every id in the store's order: the shortest proof of what is there. */
export async function idsOf(store: Pick<EventStore, 'readAll'>): Promise<readonly string[]> {
  return (await collect(store.readAll())).map(headerId)
}

export function headerId({ header }: { readonly header: string }): string {
  const parsed: unknown = JSON.parse(header)
  if (typeof parsed === 'object' && parsed !== null && 'id' in parsed) return String(parsed.id)
  throw new Error('a header of these tests has an id')
}
