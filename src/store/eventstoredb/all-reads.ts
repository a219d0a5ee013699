/**
 * @module Reads of `$all`. Only subscriptions honour a filter, so a page is a subscription with a filter of the server's that is left
 * when it has seen enough: the end is known beforehand, by a look backwards, and the filter lets that last event through as well.
 */
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
  /** Sees each event as the server gave it, before its page is handed on; again where a page is read again. */
  readonly onEvent?: (event: RecordedEvent) => void
  /** Where it is given, those who follow the store are told what others were told a moment ago. */
  readonly recent?: RecentPages
}

/** Events that the server looks at in one step. */
const SEARCH_WINDOW = 200

/** Between events of others that it steps over, the server says every so often that it is at work. */
export function ledgerFilter(): ReturnType<typeof streamNameFilter> {
  return streamNameFilter({
    prefixes: [...LEDGER_PREFIXES],
    maxSearchWindow: SEARCH_WINDOW,
    checkpointReached: (subscription) => void subscription.emit(AT_WORK),
  })
}

export interface ScanOptions extends ReadAllOptions {
  /** Whoever is woken by what comes later need not look for it: the end is where it was when the scan began. */
  readonly isWoken?: boolean
}

/** Throws `TypeError` for text that is no position, `StoreUnavailableError`. */
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
  /** Inclusive; an event of the filter lies there or beyond. */
  readonly end: AllPosition
  readonly streams: TenantStreams | undefined
}

interface Page {
  readonly records: readonly ReadRecord[]
  readonly upTo: AllPosition
}

/** Who asks for what is older than what was read last, and for one tenant of it, reads for itself. */
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
      // The server's own mark of a deletion is no record of the ledger's.
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
      // An end that does not come may be one that the server has taken away.
      last.forget()
      throw error
    })
    return { records, upTo }
  })
}

/**
 * The event at exactly this position, where a ledger's event is there. A read lets its first position in. A place that lies between two
 * records, as one of another server may, is an error without a name to the server: where others are answered, nothing is there.
 */
export async function recordAt(deps: ReadDeps, at: AllPosition): Promise<ReadRecord | undefined> {
  try {
    return await readAt(deps, at)
  } catch (error) {
    if (!isUnknown(error)) throw error
    await readHead(deps.connection, SYSTEM_STREAM)
    return undefined
  }
}

async function readAt({ connection, canonical }: ReadDeps, at: AllPosition): Promise<ReadRecord | undefined> {
  return await connection.read(async (client) => {
    let found: ReadRecord | undefined
    const onItem = ({ event }: AllStreamResolvedEvent): boolean => {
      const exists = event !== undefined && compareAllPositions(event.position, at) === 0
      if (exists && isLedgerStream(event.streamId) && event.type !== TOMBSTONE_TYPE) found = toRecord(event, canonical)
      return true
    }
    const stream = client.readAll({ fromPosition: at, maxCount: 1, requiresLeader: true })
    await drain(stream, { onItem, idleMs: connection.timings.callMs })
    return found
  }, isUnknown)
}

/** Throws `TypeError` for text that is no position. */
export function comparePositionTexts(a: Position, b: Position): number {
  return compareAllPositions(parseAllPosition(a), parseAllPosition(b))
}
