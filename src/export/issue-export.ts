/**
 * @module An export from asking to trailer. It is on record before its first byte leaves and again before its last; one that is cut says
 * so on record, with what was made until then. The same pin makes the same bytes, so that a cut export is resumed by its length.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { EventQuery } from '../../schemas/event-query.ts'
import type { ExportTrailer } from '../../schemas/export-trailer.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { ofAllAgents, withinRun } from '../access/check-access.ts'
import type { Caller, ExportPin, Ledger } from '../ledger/ledger.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import type { Position } from '../store/event-store.ts'
import { type BodyMaker, bodyOf, type ExportBody, type MadeSoFar } from './export-body.ts'
import { type Refused, refusedBy } from './export-refusal.ts'
import type { ExportFormat, ExportScope } from './format.ts'
import { FORMATS, type FormatName } from './formats.ts'
import { orUnbegun } from './or-unbegun.ts'
import { signedTrailer } from './signed-trailer.ts'
import { upTo } from './up-to.ts'

const PORTION_CHARS = 64 * 1024

export interface ExportRequest {
  readonly format: FormatName
  /** Only the events that answer it; without a member, and without one all the tenant's. */
  readonly query?: EventQuery
  /** Where an earlier export was pinned, and how many of its bytes are there already. */
  readonly resume?: { readonly until: Position | undefined; readonly offset: number }
}

export interface PreparedExport {
  readonly format: ExportFormat
  readonly pin: ExportPin
  /** To be awaited before the first byte leaves. Throws `StoreUnavailableError`. */
  readonly start: () => Promise<void>
  /** The file from `offset` on. Throws what reading the store throws, and the signal's reason at the next page: then the file has no trailer. */
  readonly chunks: (signal?: AbortSignal) => AsyncGenerator<Uint8Array, void>
}

export type Prepared = { readonly ok: true; readonly value: PreparedExport } | Refused

/** `elsewhere`: a thread of its own for what is read and formatted. */
export async function prepareExport(
  ledger: Ledger,
  caller: Caller,
  request: ExportRequest,
  elsewhere?: BodyMaker,
): Promise<Prepared> {
  const { query = {}, resume } = request
  const outside = withinRun(caller, query.run) ?? ofAllAgents(caller)
  if (outside !== undefined) return refusedBy(outside)
  const pin = await ledger.exports.pin(caller, resume?.until)
  const pages = await pagesOf(ledger, caller, { query, pin })
  if (!pages.ok) return pages
  const inHand: ExportInHand = { ledger, caller, request, pin, pages: pages.value, exportId: randomUUID(), elsewhere }
  return {
    ok: true,
    value: {
      format: FORMATS[request.format],
      pin,
      start: () => recordStart(inHand),
      chunks: (signal) => chunksOf(inHand, signal),
    },
  }
}

/** Records the start, then gives the file as text. Throws the refusal's detail where there is no such run. */
export async function* exportText(
  ledger: Ledger,
  caller: Caller,
  request: ExportRequest,
): AsyncGenerator<string, void> {
  const prepared = await prepareExport(ledger, caller, request)
  if (!prepared.ok) throw new TypeError(prepared.detail)
  await prepared.value.start()
  for await (const chunk of prepared.value.chunks()) yield Buffer.from(chunk).toString()
}

type EventPages = AsyncIterable<readonly LedgerEvent[]>

interface ExportInHand {
  readonly ledger: Ledger
  readonly caller: Caller
  readonly request: ExportRequest
  readonly pin: ExportPin
  readonly pages: EventPages
  readonly exportId: string
  readonly elsewhere: BodyMaker | undefined
}

interface PinnedQuery {
  readonly query: EventQuery
  readonly pin: ExportPin
}

type FoundPages = { readonly ok: true; readonly value: EventPages } | Refused

async function pagesOf(ledger: Ledger, caller: Caller, { query, pin }: PinnedQuery): Promise<FoundPages> {
  const { run, ...filter } = query
  const { until } = pin
  if (Object.keys(filter).length > 0) return matchingPages(ledger, caller, { query, pin })
  if (run !== undefined) {
    const found = await ledger.runEvents(caller, run, { from: 0 })
    if (!found.ok) return refusedBy(found.refusal)
    return { ok: true, value: until === undefined ? none() : upTo(ledger, found.value, until) }
  }
  return { ok: true, value: until === undefined ? none() : ledger.tenantEvents(caller, { until }) }
}

/** What the index of the audit finds, in the order of the log. */
async function matchingPages({ audit }: Ledger, caller: Caller, { query, pin }: PinnedQuery): Promise<FoundPages> {
  const { until, tree } = pin
  if (audit === undefined || tree === null)
    return {
      ok: false,
      code: 'not-found',
      detail: 'a query needs the index of the audit and the log, and this ledger keeps none',
    }
  const asOf = { treeSize: tree.size, position: until ?? null, eventId: null }
  // A query that cannot be asked is refused now, and not in the middle of a file.
  const refused = await audit.matchingRefusal(caller, query, { asOf })
  if (refused !== undefined) return { ok: false, code: 'invalid-query', detail: refused.detail }
  return { ok: true, value: audit.matching(caller, query, { asOf }) }
}

async function* none(): AsyncGenerator<readonly LedgerEvent[], void> {}

async function recordStart({ ledger, caller, request, pin, exportId }: ExportInHand): Promise<void> {
  const { resume } = request
  const offset = resume === undefined || resume.offset === 0 ? {} : { offset: resume.offset }
  await ledger.exports.record(caller, {
    type: 'ExportStarted',
    data: { ...exportedPart(request, pin, exportId), ...offset },
  })
}

function exportedPart({ format, query = {} }: ExportRequest, { tree }: ExportPin, exportId: string) {
  const { run } = query
  const filter = filterOf(query)
  return {
    v: 1 as const,
    exportId,
    format,
    ...(run !== undefined && { run }),
    ...(filter && { filter }),
    asOf: tree?.eventId ?? null,
    treeSize: tree?.size ?? null,
    root: tree?.root ?? null,
  }
}

/** The query but for the run; undefined where it says no more. */
function filterOf({ run: _, ...filter }: EventQuery): JsonObject | undefined {
  return Object.keys(filter).length === 0 ? undefined : (filter as JsonObject)
}

function chunksOf(inputs: ExportInHand, signal?: AbortSignal): AsyncGenerator<Uint8Array, void> {
  const made = { ...NOTHING_MADE }
  const cut = (): Promise<void> => recordIssue(inputs, 'cut', made).catch(() => undefined)
  return orUnbegun(fileChunks(inputs, made, { signal, cut }), cut)
}

const NOTHING_MADE: MadeSoFar = { events: 0, bytes: 0, digest: `sha256:${createHash('sha256').digest('hex')}` }

type Made = { -readonly [name in keyof MadeSoFar]: MadeSoFar[name] }

function recordIssue(
  { ledger, caller, request, pin, exportId }: ExportInHand,
  outcome: 'complete' | 'cut',
  { events, bytes, digest }: MadeSoFar,
): Promise<void> {
  const data = { ...exportedPart(request, pin, exportId), outcome, events, bytes, digest }
  return ledger.exports.record(caller, { type: 'ExportIssued', data })
}

interface Ends {
  readonly signal: AbortSignal | undefined
  /** Puts it on record as cut. The start is on record: where this fails, too, the export counts as cut. Never rejects. */
  readonly cut: () => Promise<void>
}

async function* fileChunks(input: ExportInHand, made: Made, { signal, cut }: Ends): AsyncGenerator<Uint8Array, void> {
  const body = bodyFor(input)
  let complete = false
  try {
    for (let portion = await body.next(); portion !== undefined; portion = await body.next()) {
      const { chunk, events, bytes, digest } = portion
      Object.assign(made, { events, bytes, digest })
      // Before the bytes leave: it is not the yields alone that a reader can end it at.
      signal?.throwIfAborted()
      if (chunk.length > 0) yield chunk
    }
    await recordIssue(input, 'complete', made)
    complete = true
    const end = await body.trailer(trailerOf(input, made))
    if (end.length > 0) yield end
  } finally {
    await body.close()
    if (!complete) await cut()
  }
}

function trailerOf({ ledger, caller, request, pin }: ExportInHand, { events, digest }: MadeSoFar): ExportTrailer {
  const filter = filterOf(request.query ?? {})
  return signedTrailer(ledger, caller, {
    ledgerId: ledger.ledgerId,
    tenant: caller.tenant,
    run: request.query?.run ?? null,
    ...(filter && { filter }),
    events,
    digest,
    asOf: pin.tree?.eventId ?? null,
    treeSize: pin.tree?.size ?? null,
    root: pin.tree?.root ?? null,
  })
}

/** In another thread where there is one and the file needs the store alone; else here. */
function bodyFor(input: ExportInHand): ExportBody {
  const { ledger, caller, request, pin, pages, elsewhere } = input
  const { format, query = {}, resume } = request
  const { run } = query
  const { until } = pin
  const offset = resume?.offset ?? 0
  const { needsLeafIndex = false, open }: ExportFormat = FORMATS[format]
  if (elsewhere === undefined || needsLeafIndex || until === undefined || filterOf(query) !== undefined)
    return bodyOf({ pages, writer: open(scopeOf(input)), offset, portionChars: PORTION_CHARS })
  const of = { ledgerId: ledger.ledgerId, tenant: caller.tenant, ...(run !== undefined && { run }) }
  return elsewhere.body({ format, ...of, until, offset })
}

function scopeOf({ ledger, caller: { tenant }, pin, request }: ExportInHand): ExportScope {
  const size = pin.tree?.size ?? 0
  const filter = filterOf(request.query ?? {})
  return {
    ...(filter && { filter }),
    ledgerId: ledger.ledgerId,
    tenant,
    leafIndex: (eventId) => {
      const index = ledger.logs?.leafIndex(tenant, eventId)
      return index !== undefined && index < size ? index : undefined
    },
  }
}
