/**
 * @module An export from request to trailer. It is recorded before its first byte is sent and again before its last one; a cut export is recorded as cut, with
 * what was produced until then. The same pin yields the same bytes, so that a cut export can be resumed at its length.
 */
import { randomUUID } from 'node:crypto'
import { type EventQuery, periodFault } from '../../schemas/event-query.ts'
import type { ExportTrailer, PartHead } from '../../schemas/export-trailer.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { type Loss, lossesMember } from '../../schemas/loss.ts'
import { ofAllAgents, withinRun } from '../access/check-access.ts'
import type { Caller, ExportPin, Ledger, PinnedEdge } from '../ledger/ledger.ts'
import type { Position } from '../store/event-store.ts'
import { type ExportRecord, exportRecord } from './audit-trail.ts'
import {
  type BodyMaker,
  bodyOf,
  type ExportBody,
  LINES_BYTES,
  type LinesMaker,
  linesOf,
  type MadeSoFar,
  type Making,
  NOTHING_MADE,
  portionsOf,
} from './export-body.ts'
import { type EventPages, pagesOf, type RunBefore, withBefore } from './export-pages.ts'
import { type Refused, refusedBy } from './export-refusal.ts'
import { type ExportFormat, type ExportScope, type FormatWriter, leafWithin } from './format.ts'
import { FORMATS, type FormatName } from './formats.ts'
import { orUnbegun } from './or-unbegun.ts'
import { signedTrailer } from './signed-trailer.ts'

const PORTION_BYTES = 64 * 1024

export interface ExportRequest {
  readonly format: FormatName
  /** Only the events that match it; all of the tenant's events if it is absent or empty. */
  readonly query?: EventQuery
  /** Only the part of the tenant's log from this leaf on; cannot be combined with a query. */
  readonly from?: number
  /** Pin of an earlier export, and the number of its bytes that the client already has. */
  readonly resume?: { readonly until: Position | undefined; readonly offset: number }
}

export interface PreparedExport {
  readonly format: ExportFormat
  readonly pin: ExportPin
  /** To be awaited before the first byte is sent. Throws `StoreUnavailableError`. */
  readonly start: () => Promise<void>
  /** The file from `offset` on. Throws what reading the store throws, and the signal's reason at the next page; the file then has no trailer. */
  readonly chunks: (signal?: AbortSignal) => AsyncGenerator<Uint8Array, void>
}

export type Prepared = { readonly ok: true; readonly value: PreparedExport } | Refused

/** `elsewhere`: a separate thread for reading and formatting. */
export async function prepareExport(
  ledger: Ledger,
  caller: Caller,
  request: ExportRequest,
  elsewhere?: BodyMaker,
): Promise<Prepared> {
  const { query = {}, from, resume } = request
  const outside = withinRun(caller, query.run) ?? ofAllAgents(caller)
  if (outside !== undefined) return refusedBy(outside)
  if (from !== undefined && Object.keys(query).length > 0) return partOfQuery
  const period = periodFault(query)
  if (period !== undefined) return { ok: false, code: 'invalid-query', detail: period }
  const pin = await ledger.exports.pin(caller, { until: resume?.until, run: query.run })
  const part = from === undefined ? undefined : await partFrom(ledger, caller, from, pin)
  if (part?.ok === false) return part
  const pages = await pagesOf(ledger, caller, { query, pin, after: part?.value.last?.position })
  if (!pages.ok) return pages
  const { run, ...filter } = query
  const record = exportRecord(ledger, caller, {
    ...{ exportId: randomUUID(), format: request.format, run, tree: pin.tree },
    filter: from === undefined ? (filter as JsonObject) : { from },
  })
  const pending: PendingExport = {
    ...{ ledger, caller, request, pin, elsewhere, part: part?.value, pages: pages.value, record },
  }
  return {
    ok: true,
    value: {
      format: FORMATS[request.format],
      pin,
      start: () => record.start(resume?.offset),
      chunks: (signal) => chunksOf(pending, signal),
    },
  }
}

const partOfQuery: Refused = {
  ok: false,
  code: 'invalid-query',
  detail: "from is a leaf of the tenant's whole log: it goes with no run and no filter; filter what arrives",
}

/** Records the start, then yields the file as text. Throws the refusal's detail if the export is refused. */
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

interface PendingExport {
  readonly ledger: Ledger
  readonly caller: Caller
  readonly request: ExportRequest
  readonly pin: ExportPin
  readonly part: PendingPart | undefined
  readonly pages: EventPages
  readonly record: ExportRecord
  readonly elsewhere: BodyMaker | undefined
}

/** The query without the run; undefined if nothing else remains. */
function filterOf({ run: _, ...filter }: EventQuery): JsonObject | undefined {
  return Object.keys(filter).length === 0 ? undefined : (filter as JsonObject)
}

function chunksOf(inputs: PendingExport, signal?: AbortSignal): AsyncGenerator<Uint8Array, void> {
  const made = { ...NOTHING_MADE }
  const cut = (): Promise<void> => inputs.record.cut(made)
  return orUnbegun(fileChunks(inputs, made, { signal, cut }), cut)
}

interface Ends {
  readonly signal: AbortSignal | undefined
  /** Records the export as cut. Never rejects. */
  readonly cut: () => Promise<void>
}

async function* fileChunks(
  input: PendingExport,
  made: Making,
  { signal, cut }: Ends,
): AsyncGenerator<Uint8Array, void> {
  const body = bodyFor(input)
  let found: readonly Loss[] = []
  let complete = false
  const leave = (): void => body.leave()
  signal?.addEventListener('abort', leave)
  try {
    for (let portion = await body.next(); portion !== undefined; portion = await body.next()) {
      const { chunk, events, bytes, digest } = portion
      Object.assign(made, { events, bytes, digest })
      found = portion.losses
      // Checked before the bytes are sent: a reader can also end the export between two yields.
      signal?.throwIfAborted()
      if (chunk.length > 0) yield chunk
    }
    // Losses found by reading come first: the known losses may name the same place, and were found earlier.
    const losses = lossesMember([...found, ...input.pin.losses, ...(await lostBehind(input, made))])
    await input.record.complete(made)
    complete = true
    const end = await body.trailer(trailerOf(input, made, losses))
    if (end.length > 0) yield end
  } finally {
    signal?.removeEventListener('abort', leave)
    await body.close()
    if (!complete) await cut()
  }
}

/** Losses known to the log after the last event of the run that was read. */
async function lostBehind(
  { ledger, caller, request, pin }: PendingExport,
  { events }: MadeSoFar,
): Promise<readonly Loss[]> {
  const { run, ...filter } = request.query ?? {}
  if (run === undefined || Object.keys(filter).length > 0 || pin.until === undefined) return []
  return ledger.exports.lostBehind(caller, run, { events, until: pin.until })
}

function trailerOf(
  { ledger, caller, request, pin, part }: PendingExport,
  { events, digest }: MadeSoFar,
  losses: readonly Loss[] | undefined,
): ExportTrailer {
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
    ...(part && { from: part.from, fromRoot: part.root, to: part.to }),
    ...(losses && { losses: [...losses] }),
  })
}

/** Produced in another thread if there is one; otherwise here. */
function bodyFor(input: PendingExport): ExportBody {
  return remoteBody(input) ?? localBody(input)
}

function remoteBody(input: PendingExport): ExportBody | undefined {
  const { caller, request, pin, elsewhere, part } = input
  const { format, query = {}, resume } = request
  const { run } = query
  const { until } = pin
  if (elsewhere === undefined || until === undefined) return undefined
  const { leafIndex: _, ...scope } = scopeOf(input)
  const of = { caller: caller.actor, ...scope, ...(run !== undefined && { run }) }
  const after = part?.last?.position
  const leaves = pin.tree?.size ?? 0
  const asOf = { treeSize: leaves, position: until, eventId: pin.tree?.eventId ?? null }
  const matching = scope.filter && { filter: query, asOf }
  return elsewhere.body(
    {
      ...{ format, ...of, leaves, hasTree: pin.tree !== null, until, offset: resume?.offset ?? 0 },
      ...(after !== undefined && { after }),
      ...(matching && { matching }),
    },
    linesHere(input),
  )
}

/** Produces stretches of the tenant's log in this thread. */
function linesHere(input: PendingExport): LinesMaker {
  const { ledger, caller, request } = input
  let writer: FormatWriter | undefined
  return (range, isFirst) => {
    writer ??= FORMATS[request.format].open(scopeOf(input))
    const pages = ledger.tenantEvents(caller, range)
    const reading = ledger.exports.reading(caller, { pin: input.pin, ...range })
    return portionsOf(linesOf({ pages, reading, writer, portionBytes: LINES_BYTES, wholePages: false }, { isFirst }))
  }
}

function localBody(input: PendingExport): ExportBody {
  const { ledger, caller, request, part } = input
  const writer = FORMATS[request.format].open(scopeOf(input))
  const runBefore: RunBefore = async (of, to) => {
    const found = await ledger.runEvents(caller, of, { from: 0, to })
    return found.ok ? found.value : undefined
  }
  const pages = part === undefined ? input.pages : withBefore(input.pages, writer, runBefore)
  const { run, ...filter } = request.query ?? {}
  const isMatched = Object.keys(filter).length > 0
  const after = part?.last?.position
  const reading = ledger.exports.reading(caller, { pin: input.pin, run, isMatched, after })
  return bodyOf({ pages, reading, writer, offset: request.resume?.offset ?? 0, portionBytes: PORTION_BYTES })
}

function scopeOf({ ledger, caller: { tenant }, pin, request, part }: PendingExport): ExportScope {
  const size = pin.tree?.size ?? 0
  const filter = filterOf(request.query ?? {})
  return {
    ...(filter && { filter }),
    ...(part && { part: placeOf(part) }),
    ledgerId: ledger.ledgerId,
    tenant,
    leafIndex: leafWithin(size, (eventId) => ledger.logs?.leafIndex(tenant, eventId)),
  }
}

function placeOf({ from, root, edge, last }: PendingPart): NonNullable<ExportScope['part']> {
  const beforeMs = Date.parse(last?.header.time ?? '')
  return { from, root, edge, beforeMs: Number.isNaN(beforeMs) ? 0 : beforeMs }
}

// A part of the tenant's log: its events from one leaf to the pin. A follower requests one part after the other, each from the leaf at which the
// trailer of the previous part ends: nothing is missing or duplicated between them.

interface PendingPart extends PartHead {
  readonly last: PinnedEdge['last']
  /** Size of the log at the pin: the next part begins there. */
  readonly to: number
}

type FoundPart = { readonly ok: true; readonly value: PendingPart } | Refused

/** The tree that a part from this leaf to the pin continues. Throws `LogGapError` if the store lost the event before it. */
async function partFrom({ exports }: Ledger, caller: Caller, from: number, pin: ExportPin): Promise<FoundPart> {
  const { tree } = pin
  if (tree === null)
    return {
      ok: false,
      code: 'not-found',
      detail: 'an export from a leaf needs the log, and this ledger keeps none, or it has stopped',
    }
  if (from > tree.size)
    return {
      ok: false,
      code: 'beyond-log',
      detail: `the log has ${tree.size} leaves: an export from leaf ${from} would leave out what comes before it`,
      treeSize: tree.size,
    }
  const { root, edge, last } = await exports.edgeAt(caller, from)
  return { ok: true, value: { from, root, edge: [...edge], last, to: tree.size } }
}
