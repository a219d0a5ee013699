/** @module Reads of one stream, page by page: each page is a separate call, so a slow reader keeps nothing open. */
import { BACKWARDS, END, FORWARDS, type ResolvedEvent } from '@eventstore/db-client'
import {
  NO_STREAM,
  type ReadRecord,
  type ReadStreamOptions,
  type RecordPages,
  StreamDeletedError,
} from '../event-store.ts'
import { isDeletedStream, isMissingStream } from './client-errors.ts'
import type { Connection } from './connection.ts'
import { drain } from './drain.ts'
import { type Canonical, toRecord } from './event-form.ts'

export interface ReadDeps {
  readonly connection: Connection
  readonly canonical: Canonical
}

export const PAGE_RECORDS = 256
/** A page ends early with the record that exceeds this size. */
export const PAGE_CHARS = 4 * 1024 * 1024

/** Limit of concurrent reads: many small reads share the node with those of other processes. */
const READS_AT_ONCE = 16

/** Last revision, always read from the leader. Throws `StoreUnavailableError`, `StreamDeletedError`. */
export async function readHead(connection: Connection, stream: string): Promise<number> {
  let head = NO_STREAM
  await connection.read(async (client) => {
    const options = { direction: BACKWARDS, fromRevision: END, maxCount: 1, requiresLeader: true } as const
    const onItem = ({ event }: ResolvedEvent): boolean => {
      if (event !== undefined) head = Number(event.revision)
      return true
    }
    await drain(client.readStream(stream, options), { onItem, idleMs: connection.timings.callMs }).catch(
      unlessMissing(stream),
    )
  })
  return head
}

export async function readRange(
  deps: ReadDeps,
  stream: string,
  range: { readonly from: number; readonly to: number },
): Promise<readonly ReadRecord[]> {
  const found: ReadRecord[] = []
  for await (const page of readStreamPages(deps, stream, range)) found.push(...page)
  return found
}

/**
 * Those of the given streams that have no first event; a limited number is read concurrently. A deleted stream is not included. Throws
 * `StoreUnavailableError`.
 */
export async function findLostBeginnings(deps: ReadDeps, streams: readonly string[]): Promise<readonly string[]> {
  const lost: string[] = []
  let next = 0
  const readOn = async (): Promise<void> => {
    for (let stream = streams[next++]; stream !== undefined; stream = streams[next++]) {
      if (!(await hasBeginning(deps, stream))) lost.push(stream)
    }
  }
  try {
    await Promise.all(Array.from({ length: READS_AT_ONCE }, readOn))
    return lost
  } finally {
    // After a failure the remaining streams are not read.
    next = streams.length
  }
}

async function hasBeginning(deps: ReadDeps, stream: string): Promise<boolean> {
  try {
    return (await readRange(deps, stream, { from: 0, to: 0 })).length > 0
  } catch (error) {
    if (error instanceof StreamDeletedError) return true
    throw error
  }
}

export async function* readStreamPages(deps: ReadDeps, stream: string, options: ReadStreamOptions = {}): RecordPages {
  const { from = 0, to = Number.POSITIVE_INFINITY, direction = 'forwards' } = options
  const backwards = direction === 'backwards'
  // A backward read that starts after the end returns nothing.
  const last = backwards ? Math.min(to, await readHead(deps.connection, stream)) : to
  let next = backwards ? last : Math.max(from, 0)
  for (;;) {
    const remaining = backwards ? next - Math.max(from, 0) + 1 : last - next + 1
    if (remaining < 1) return
    const count = Math.min(PAGE_RECORDS, remaining)
    const { records: found, cut } = await readPage(deps, { stream, next, count, backwards })
    // If the server has dropped the requested events, it starts with the first one that it still has.
    const records = found.filter(({ revision }) => revision >= from && revision <= last)
    const end = records.at(-1)
    if (end === undefined) return
    yield records
    if (found.length < count && !cut) return
    next = end.revision + (backwards ? -1 : 1)
  }
}

interface PageRequest {
  readonly stream: string
  readonly next: number
  readonly count: number
  readonly backwards: boolean
}

interface Page {
  readonly records: readonly ReadRecord[]
  /** The page was ended by its size: more records may follow. */
  readonly cut: boolean
}

async function readPage({ connection, canonical }: ReadDeps, request: PageRequest): Promise<Page> {
  return await connection.read(async (client) => {
    const records: ReadRecord[] = []
    let chars = 0
    const onItem = ({ event }: ResolvedEvent): boolean => {
      if (event === undefined) return true
      const record = toRecord(event, canonical)
      records.push(record)
      chars += record.header.length + record.data.length
      return chars < PAGE_CHARS
    }
    const stream = client.readStream(request.stream, {
      direction: request.backwards ? BACKWARDS : FORWARDS,
      fromRevision: BigInt(request.next),
      maxCount: request.count,
      requiresLeader: true,
    })
    await drain(stream, { onItem, idleMs: connection.timings.callMs }).catch(unlessMissing(request.stream))
    return { records, cut: chars >= PAGE_CHARS }
  })
}

function unlessMissing(stream: string): (error: unknown) => void {
  return (error) => {
    if (isDeletedStream(error)) throw new StreamDeletedError(stream)
    if (!isMissingStream(error)) throw error
  }
}
