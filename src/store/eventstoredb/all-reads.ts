/**
 * @module Reads of `$all`. Only subscriptions support a filter, so a page is a filtered subscription that is cancelled once the page is full. The end is
 * determined beforehand by a backward read, and the filter matches that last event as well.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Position as AllPosition,
  type AllStreamResolvedEvent,
  type RecordedEvent,
  START,
  streamNameFilter,
} from '@eventstore/db-client'
import { SYSTEM_STREAM } from '../../../schemas/names.ts'
import type { Position, ReadAllOptions, ReadRecord } from '../event-store.ts'
import type { ScanPage } from '../follow.ts'
import { isOfTenant, type TenantStreams, tenantStreams } from '../tenant-streams.ts'
import { compareAllPositions, parseAllPosition, positionText } from './all-positions.ts'
import { isUnknown } from './client-errors.ts'
import { AT_WORK, drain } from './drain.ts'
import { toRecord } from './event-form.ts'
import type { LastPosition } from './last-position.ts'
import { isLedgerStream, LEDGER_PREFIXES } from './ledger-streams.ts'
import type { RecentPages } from './recent-pages.ts'
import { TOMBSTONE_TYPE } from './retention.ts'
import { PAGE_CHARS, PAGE_RECORDS, type ReadDeps, readHead } from './stream-reads.ts'

export interface ScanDeps extends ReadDeps {
  readonly last: LastPosition
  /** Called with each event as the server returned it, before its page is yielded; called again if a page is read again. */
  readonly onEvent?: (event: RecordedEvent) => void
  /** If set, followers of the store get pages that were read for others shortly before. */
  readonly recent?: RecentPages
}

/** Number of events that the server searches in one step. */
const SEARCH_WINDOW = 200

/** Filter for the ledger's streams. While it skips other events, the server's checkpoints show that it is still working. */
export function ledgerFilter(): ReturnType<typeof streamNameFilter> {
  return streamNameFilter({
    prefixes: [...LEDGER_PREFIXES],
    maxSearchWindow: SEARCH_WINDOW,
    checkpointReached: (subscription) => void subscription.emit(AT_WORK),
  })
}

export interface ScanOptions extends ReadAllOptions {
  /** The reader is woken for later events and need not look for them: the end stays where it was when the scan began. */
  readonly isWoken?: boolean
}

/** Throws `TypeError` for text that is not a position, and `StoreUnavailableError`. */
export async function* scanAll(deps: ScanDeps, options: ScanOptions): AsyncGenerator<ScanPage> {
  const { after, until, tenant, isWoken = false } = options
  const limit = until === undefined ? undefined : parseAllPosition(until)
  const streams = tenant === undefined ? undefined : tenantStreams(tenant)
  let at = after === undefined ? undefined : parseAllPosition(after)
  for (;;) {
    const end = lower(await deps.last.find(), limit)
    if (end === undefined || (at !== undefined && compareAllPositions(at, end) >= 0)) return
    while (at === undefined || compareAllPositions(at, end) < 0) {
      const { records, upTo } = await nextPage(deps, { at, end, streams }, options)
      at = upTo
      yield { records, upTo: positionText(upTo) }
    }
    if (isWoken || end === limit) return
  }
}

function lower(a: AllPosition | undefined, b: AllPosition | undefined): AllPosition | undefined {
  if (a === undefined || b === undefined) return a
  return compareAllPositions(a, b) < 0 ? a : b
}

interface PageRequest {
  /** Exclusive. */
  readonly at: AllPosition | undefined
  /** Inclusive; an event that matches the filter is at this position or after it. */
  readonly end: AllPosition
  readonly streams: TenantStreams | undefined
}

interface Page {
  readonly records: readonly ReadRecord[]
  readonly upTo: AllPosition
}

/** A reader that filters by tenant and starts before the shared range reads its own pages. */
async function nextPage(deps: ScanDeps, request: PageRequest, { isShared = false }: ScanOptions): Promise<Page> {
  const { at, end, streams } = request
  const { recent } = deps
  if (!isShared || recent === undefined || (streams !== undefined && !recent.reaches(at)))
    return readPage(deps, request)
  const { records, upTo } = await recent.page(request, () => readPage(deps, { at, end, streams: undefined }))
  if (streams === undefined) return { records, upTo }
  return { records: records.filter(({ stream }) => isOfTenant(stream, streams)), upTo }
}

async function readPage(
  { connection, canonical, onEvent, last }: ScanDeps,
  { at, end, streams }: PageRequest,
): Promise<Page> {
  return await connection.read(async (client) => {
    const records: ReadRecord[] = []
    let upTo = end
    let chars = 0
    const onItem = ({ event }: AllStreamResolvedEvent): boolean => {
      if (event === undefined) return true
      if (compareAllPositions(event.position, end) > 0) return false
      upTo = event.position
      // The server's tombstone is not a record of the ledger.
      if (event.type === TOMBSTONE_TYPE) return compareAllPositions(upTo, end) < 0
      if (streams === undefined || isOfTenant(event.streamId, streams)) {
        const record = toRecord(event, canonical)
        onEvent?.(event)
        records.push(record)
        chars += record.header.length + record.data.length
      }
      return compareAllPositions(upTo, end) < 0 && records.length < PAGE_RECORDS && chars < PAGE_CHARS
    }
    const stream = client.subscribeToAll({ fromPosition: at ?? START, filter: ledgerFilter(), requiresLeader: true })
    await drain(stream, { onItem, idleMs: connection.timings.callMs }).catch((error: unknown) => {
      // An end that is not reached may have been removed by the server.
      last.forget()
      throw error
    })
    return { records, upTo }
  })
}

/**
 * The event at exactly this position, if it is an event of a ledger. The first position of a read is inclusive. For a position between two records, as one
 * of another server may be, the server answers with an unknown error, as it does for a failure of its own: only if it does so again and again, and answers
 * another read, is there no event at the position. The same holds for a read that ends without any event.
 */
export async function recordAt(deps: ReadDeps, at: AllPosition): Promise<ReadRecord | undefined> {
  for (let tries = 1; ; tries += 1) {
    const found = await readAt(deps, at).catch((error: unknown): FoundAt => {
      if (isUnknown(error)) return UNANSWERED
      throw error
    })
    if (found !== UNANSWERED) return found
    if (tries === ABSENT_TRIES) break
    await sleep(ABSENT_PAUSE_MS * tries)
  }
  await readHead(deps.connection, SYSTEM_STREAM)
  return undefined
}

/** The read neither found the event nor one that follows. */
const UNANSWERED = 'unanswered'
const ABSENT_TRIES = 3
const ABSENT_PAUSE_MS = 50

type FoundAt = ReadRecord | typeof UNANSWERED | undefined

async function readAt({ connection, canonical }: ReadDeps, at: AllPosition): Promise<FoundAt> {
  return await connection.read(async (client) => {
    let found = UNANSWERED as FoundAt
    const onItem = ({ event }: AllStreamResolvedEvent): boolean => {
      if (found === UNANSWERED) found = undefined
      const exists = event !== undefined && compareAllPositions(event.position, at) === 0
      if (exists && isLedgerStream(event.streamId) && event.type !== TOMBSTONE_TYPE) found = toRecord(event, canonical)
      return true
    }
    const stream = client.readAll({ fromPosition: at, maxCount: 1, requiresLeader: true })
    await drain(stream, { onItem, idleMs: connection.timings.callMs })
    return found
  }, isUnknown)
}

/** Throws `TypeError` for text that is not a position. */
export function comparePositionTexts(a: Position, b: Position): number {
  return compareAllPositions(parseAllPosition(a), parseAllPosition(b))
}
