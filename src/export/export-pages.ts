/** @module The events of an export, and the earlier events of runs that a format needs for a part of the log. */
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
  /** For a part of the log: position of the event before it. */
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

/** The events that the audit index finds, in log order. */
async function matchingPages({ audit }: Ledger, caller: Caller, { query, pin }: PinnedQuery): Promise<FoundPages> {
  const { until, tree } = pin
  if (audit === undefined || tree === null)
    return {
      ok: false,
      code: 'not-found',
      detail: 'a query needs the index of the audit and the log, and this ledger keeps none',
    }
  const asOf = { treeSize: tree.size, position: until ?? null, eventId: null }
  // An invalid query is refused now, not in the middle of a file.
  const refused = await audit.matchingRefusal(caller, query, { asOf })
  if (refused !== undefined) return { ok: false, code: 'invalid-query', detail: refused.detail }
  return { ok: true, value: audit.matching(caller, query, { asOf }) }
}

async function* none(): AsyncGenerator<readonly LedgerEvent[], void> {}

/** Number of runs that a part remembers as read from their start; if there are more, the run met first is read again when it recurs. */
const READ_BACK_MAX = 10_000

/** The first events of a run, up to a revision; undefined if the run cannot be read. */
export type RunBefore = (run: string, to: number) => Promise<EventPages | undefined>

/** The same pages. When the part meets a run that began earlier, the writer first receives the run's events from before the part. */
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

/** If a run cannot be read, spans that began before the part are unknown: their ends are written as moments. */
async function tellBefore(writer: FormatWriter, pages: EventPages | undefined): Promise<void> {
  if (pages === undefined) return
  for await (const page of pages) for (const event of page) writer.before?.(event)
}
