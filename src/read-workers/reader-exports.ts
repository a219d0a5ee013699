/** @module Exports made in a reader thread: the events of a tenant, a run or a query from the thread's own store connection, in any format. */
import { runStream } from '../../schemas/names.ts'
import {
  type BodyRequest,
  bodyOf,
  type ExportBody,
  type LinesPortion,
  type LinesRequest,
  type LinesSource,
  linesOf,
  type Portions,
  portionsOf,
} from '../export/export-body.ts'
import { type EventPages, type RunBefore, withBefore } from '../export/export-pages.ts'
import { leafWithin } from '../export/format.ts'
import { FORMATS } from '../export/formats.ts'
import { upTo } from '../export/up-to.ts'
import { matchedPage } from '../ledger/audit/answer-question.ts'
import { type EventReading, LeafReading, RunReading, SealReading } from '../ledger/integrity/event-reading.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { ledgerEvent } from '../ledger/read/parse-record.ts'
import { shownEvent } from '../ledger/read/record-seal.ts'
import type { Pace } from '../resources/work-queue.ts'
import type { ReadRecord } from '../store/event-store.ts'
import type { LeafReader } from '../store/log-store.ts'
import { pacedPages } from '../store/paced-pages.ts'
import type { IndexOwner } from '../store/sqlite/audit-snapshots.ts'
import { leavesOf, type ReaderSources, requireReaches } from './reader-pages.ts'
import { pinnedIndex } from './reader-questions.ts'

export interface ExportMaking {
  readonly pace: Pace
  readonly owner: IndexOwner
  /** A portion is sent as soon as it has this many bytes. */
  readonly portionBytes: number
}

export function exportBody(sources: ReaderSources, request: BodyRequest, making: ExportMaking): ExportBody {
  const { source, close } = linesSource(sources, request, making)
  const body = bodyOf({ ...source, offset: request.offset })
  return { ...body, close: () => body.close().finally(close) }
}

/** A stretch of an export; `isFirst` if the file begins with it. */
export function exportLines(
  sources: ReaderSources,
  request: LinesRequest,
  { isFirst, ...making }: ExportMaking & { readonly isFirst: boolean },
): Portions<LinesPortion> {
  const { source, close } = linesSource(sources, request, making)
  const lines = portionsOf(linesOf(source, { isFirst }))
  return { ...lines, close: () => lines.close().finally(close) }
}

/** The file of the leaves is opened only when a line needs the index of a leaf. */
function linesSource(
  sources: ReaderSources,
  request: LinesRequest,
  making: ExportMaking,
): { readonly source: LinesSource; readonly close: () => void } {
  const { format, ledgerId, tenant, filter, part, leaves: size } = request
  let leaves: LeafReader | undefined
  const leafIndex = leafWithin(size, (eventId) => {
    leaves ??= leavesOf(sources)
    return leaves.leafOf(tenant, eventId)?.index
  })
  const scope = { ledgerId, tenant, ...(filter && { filter }), ...(part && { part }) }
  const writer = FORMATS[format].open({ ...scope, leafIndex })
  const found = pagesOf(sources, request, making)
  const pages = part === undefined ? found : withBefore(found, writer, runBefore(sources, request, making.pace))
  const reading = readingOf(sources, request, () => {
    leaves ??= leavesOf(sources)
    return leaves
  })
  return {
    source: { pages, reading, writer, portionBytes: making.portionBytes, wholePages: false },
    close: () => leaves?.[Symbol.dispose](),
  }
}

function readingOf(
  { store }: ReaderSources,
  { tenant, run, matching, leaves: size, hasTree, after, until }: LinesRequest,
  leaves: () => LeafReader,
): EventReading {
  if (matching !== undefined) return new SealReading()
  if (run !== undefined) return new RunReading()
  if (!hasTree) return new SealReading()
  const source = { leaves: leaves(), comparePositions: store.comparePositions }
  return new LeafReading(source, { tenant, size, after, until })
}

async function* pagesOf(sources: ReaderSources, request: LinesRequest, making: ExportMaking): EventPagesMade {
  const { store, sealer } = sources
  const { tenant, run, after, until, matching } = request
  await requireReaches(store, until)
  if (matching !== undefined) return yield* matchingPages(sources, request, matching, making)
  const shown = (record: ReadRecord): LedgerEvent => shownEvent(sealer, record)
  const pages = run === undefined ? store.readAll({ after, until, tenant }) : store.readStream(runStream(tenant, run))
  for await (const page of upTo(store, pacedPages(pages, making.pace), until)) yield page.map(shown)
}

type EventPagesMade = AsyncGenerator<readonly LedgerEvent[], void>

async function* matchingPages(
  { readIndex, store, sealer }: ReaderSources,
  { tenant }: LinesRequest,
  { filter, asOf }: NonNullable<LinesRequest['matching']>,
  { owner, pace }: ExportMaking,
): EventPagesMade {
  for (let afterLeaf: number | undefined; ; ) {
    const events = await readIndex(owner, async (index) => {
      pinnedIndex(index, tenant, asOf)
      return matchedPage({ store, sealer, index }, { tenant, filter, asOf }, { afterLeaf, pace })
    })
    const last = events.at(-1)
    if (last === undefined) return
    yield events
    afterLeaf = last.leaf
  }
}

function runBefore({ store }: ReaderSources, { tenant }: LinesRequest, pace: Pace): RunBefore {
  return async (run, to) => parsed(pacedPages(store.readStream(runStream(tenant, run), { from: 0, to }), pace))
}

async function* parsed(pages: AsyncIterable<readonly ReadRecord[]>): AsyncGenerator<EventPage, void> {
  for await (const page of pages) yield page.map(ledgerEvent)
}

type EventPage = EventPages extends AsyncIterable<infer P> ? P : never
