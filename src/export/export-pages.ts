/** @module Which events an export holds, and those before a part of the log that its format has to know. */
import type { EventQuery } from '../../schemas/event-query.ts'
import type { Caller, ExportPin, Ledger } from '../ledger/ledger.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import type { Position } from '../store/event-store.ts'
import { type Refused, refusedBy } from './export-refusal.ts'
import type { FormatWriter } from './format.ts'
import { runOf } from './run-of.ts'
import { upTo } from './up-to.ts'

export type EventPages = AsyncIterable<readonly LedgerEvent[]>

export interface PinnedQuery {
  readonly query: EventQuery
  readonly pin: ExportPin
  /** Of a part of the log: the event before it. */
  readonly after: Position | undefined
}

type FoundPages = { readonly ok: true; readonly value: EventPages } | Refused

/** The events of a run, of a query or of the tenant's log, up to the pin. */
export async function pagesOf(ledger: Ledger, caller: Caller, pinned: PinnedQuery): Promise<FoundPages> {
  const { query, pin, after } = pinned
  const { run, ...filter } = query
  const { until } = pin
  if (Object.keys(filter).length > 0) return matchingPages(ledger, caller, pinned)
  if (run !== undefined) {
    const found = await ledger.runEvents(caller, run, { from: 0 })
    if (!found.ok) return refusedBy(found.refusal)
    return { ok: true, value: until === undefined ? none() : upTo(ledger, found.value, until) }
  }
  return {
    ok: true,
    value: until === undefined ? none() : ledger.tenantEvents(caller, { ...(after !== undefined && { after }), until }),
  }
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

/** Runs that a part knows to be read back to their start: beyond them the one met longest ago is read once more where it comes again. */
const READ_BACK_MAX = 10_000

/** The first events of a run, up to a revision; undefined where it cannot be read. */
export type RunBefore = (run: string, to: number) => Promise<EventPages | undefined>

/** The same pages. What a run did before the part is told the writer first, when the part comes upon that run. */
export async function* withBefore(
  pages: EventPages,
  writer: FormatWriter,
  runBefore: RunBefore,
): AsyncGenerator<readonly LedgerEvent[], void> {
  if (writer.before === undefined) return yield* pages
  const known = new Set<string>()
  for await (const page of pages) {
    for (const { header } of page) {
      const run = runOf(header.stream)
      if (run === undefined || known.has(run)) continue
      known.add(run)
      if (known.size > READ_BACK_MAX) known.delete(known.values().next().value ?? run)
      if (header.revision > 0) await tellBefore(writer, await runBefore(run, header.revision - 1))
    }
    yield page
  }
}

/** A run that cannot be read has no spans that began before the part: what ends in it stands as a moment. */
async function tellBefore(writer: FormatWriter, pages: EventPages | undefined): Promise<void> {
  if (pages === undefined) return
  for await (const page of pages) for (const event of page) writer.before?.(event)
}
