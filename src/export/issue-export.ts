/**
 * @module An export from asking to trailer. It is on record before its first byte leaves and again before its last; one that is cut says
 * so on record, with what was made until then. The same pin makes the same bytes, so that a cut export is resumed by its length.
 */
import { createHash, randomUUID } from 'node:crypto'
import type { Refusal } from '../domain/refusal.ts'
import type { Caller, ExportPin, Ledger, LedgerEvent } from '../ledger/ledger.ts'
import type { Position } from '../store/event-store.ts'
import { EXPORT_VERSION, type ExportFormat, type ExportScope } from './format.ts'
import { FORMATS, type FormatName } from './formats.ts'

const PORTION_CHARS = 64 * 1024

export interface ExportRequest {
  readonly format: FormatName
  /** Absent: the whole tenant. */
  readonly run?: string
  /** Where an earlier export was pinned, and how many of its bytes are there already. */
  readonly resume?: { readonly until: Position | undefined; readonly offset: number }
}

export interface PreparedExport {
  readonly format: ExportFormat
  readonly pin: ExportPin
  /** To be awaited before the first byte leaves. Throws `StoreUnavailableError`. */
  readonly start: () => Promise<void>
  /** The file from `offset` on. Throws what reading the store throws: then the file has no trailer. */
  readonly chunks: () => AsyncGenerator<Uint8Array, void>
}

export type Prepared =
  | { readonly ok: true; readonly value: PreparedExport }
  | { readonly ok: false; readonly refusal: Refusal }

export async function prepareExport(ledger: Ledger, caller: Caller, request: ExportRequest): Promise<Prepared> {
  const { run, resume } = request
  const pin = await ledger.exports.pin(caller, resume?.until)
  const pages = await pagesOf(ledger, caller, { run, pin })
  if (!pages.ok) return pages
  const given: Given = { ledger, caller, request, pin, pages: pages.value, exportId: randomUUID() }
  return {
    ok: true,
    value: {
      format: FORMATS[request.format],
      pin,
      start: () => recordStart(given),
      chunks: () => chunksOf(given),
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
  if (!prepared.ok) throw new TypeError(prepared.refusal.detail)
  await prepared.value.start()
  for await (const chunk of prepared.value.chunks()) yield Buffer.from(chunk).toString()
}

type EventPages = AsyncIterable<readonly LedgerEvent[]>

interface Given {
  readonly ledger: Ledger
  readonly caller: Caller
  readonly request: ExportRequest
  readonly pin: ExportPin
  readonly pages: EventPages
  readonly exportId: string
}

async function pagesOf(
  ledger: Ledger,
  caller: Caller,
  { run, pin }: { readonly run: string | undefined; readonly pin: ExportPin },
): Promise<{ ok: true; value: EventPages } | { ok: false; refusal: Refusal }> {
  const { until } = pin
  if (run !== undefined) {
    const found = await ledger.runEvents(caller, run, { from: 0 })
    return found.ok ? { ok: true, value: upTo(ledger, found.value, until) } : found
  }
  return { ok: true, value: until === undefined ? none() : ledger.tenantEvents(caller, { until }) }
}

/** A run may have grown since the pin was set. */
async function* upTo(
  { comparePositions }: Ledger,
  pages: EventPages,
  until: Position | undefined,
): AsyncGenerator<readonly LedgerEvent[], void> {
  if (until === undefined) return
  for await (const page of pages) {
    const known = page.filter(({ position }) => comparePositions(position, until) <= 0)
    if (known.length > 0) yield known
    if (known.length < page.length) return
  }
}

async function* none(): AsyncGenerator<readonly LedgerEvent[], void> {}

async function recordStart({ ledger, caller, request, pin, exportId }: Given): Promise<void> {
  const { resume } = request
  const offset = resume === undefined || resume.offset === 0 ? {} : { offset: resume.offset }
  await ledger.exports.record(caller, {
    type: 'ExportStarted',
    data: { ...exportedPart(request, pin, exportId), ...offset },
  })
}

function exportedPart({ format, run }: ExportRequest, { until, tree }: ExportPin, exportId: string) {
  return {
    v: 1 as const,
    exportId,
    format,
    ...(run !== undefined && { run }),
    asOf: until ?? null,
    treeSize: tree?.size ?? null,
    root: tree?.root ?? null,
  }
}

async function* chunksOf(given: Given): AsyncGenerator<Uint8Array, void> {
  const { ledger, caller, request, pin } = given
  const writer = FORMATS[request.format].open(scopeOf(given))
  const file = new File(request.resume?.offset ?? 0)
  let events = 0
  let complete = false
  const issue = (outcome: 'complete' | 'cut'): Promise<void> => {
    const counts = { outcome, events, bytes: file.bytes, digest: file.digest() }
    const data = { ...exportedPart(request, pin, given.exportId), ...counts }
    return ledger.exports.record(caller, { type: 'ExportIssued', data })
  }
  try {
    file.add(writer.head)
    for await (const page of given.pages) {
      for (const event of page) {
        file.add(writer.event(event))
        events += 1
        if (file.waiting > PORTION_CHARS) yield* file.portion()
      }
      yield* file.portion()
    }
    file.add(writer.rest())
    yield* file.portion()
    await issue('complete')
    complete = true
    const trailer = {
      v: EXPORT_VERSION,
      ledgerId: ledger.ledgerId,
      tenant: caller.tenant,
      run: request.run ?? null,
      events,
      digest: file.digest(),
      asOf: pin.until ?? null,
      treeSize: pin.tree?.size ?? null,
      root: pin.tree?.root ?? null,
    } as const
    file.add(writer.trailer(trailer))
    yield* file.portion()
  } finally {
    // The start is on record: where this fails, too, the export counts as cut.
    if (!complete) await issue('cut').catch(() => undefined)
  }
}

function scopeOf({ ledger, caller: { tenant }, pin }: Given): ExportScope {
  const size = pin.tree?.size ?? 0
  return {
    ledgerId: ledger.ledgerId,
    tenant,
    leafIndex: (eventId) => {
      const index = ledger.logs?.leafIndex(tenant, eventId)
      return index !== undefined && index < size ? index : undefined
    },
  }
}

/** The bytes of one file: digested whole, given from an offset on. */
class File {
  bytes = 0
  readonly #hash = createHash('sha256')
  readonly #offset: number
  #text: string[] = []
  waiting = 0

  constructor(offset: number) {
    this.#offset = offset
  }

  add(text: string): void {
    this.#text.push(text)
    this.waiting += text.length
  }

  *portion(): Generator<Uint8Array, void> {
    const bytes = Buffer.from(this.#text.join(''))
    this.#text = []
    this.waiting = 0
    if (bytes.length === 0) return
    const known = Math.min(Math.max(this.#offset - this.bytes, 0), bytes.length)
    this.#hash.update(bytes)
    this.bytes += bytes.length
    if (known < bytes.length) yield bytes.subarray(known)
  }

  /** Of all that was given in portions so far. */
  digest(): string {
    return `sha256:${this.#hash.copy().digest('hex')}`
  }
}
