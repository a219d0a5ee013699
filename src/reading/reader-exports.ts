/** @module An export as a reader makes it: the events of a tenant, a run or a query out of a store of its own, in any format. */
import { runStream } from '../../schemas/names.ts'
import { type BodyRequest, bodyOf, type ExportBody } from '../export/export-body.ts'
import { type EventPages, type RunBefore, withBefore } from '../export/export-pages.ts'
import { leafWithin } from '../export/format.ts'
import { FORMATS } from '../export/formats.ts'
import { upTo } from '../export/up-to.ts'
import { matchedPage } from '../ledger/audit/answer-question.ts'
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
  /** A portion is sent as soon as it has so many bytes. */
  readonly portionBytes: number
}

/** The file of the leaves is opened with the first line that names one. */
export function exportBody(sources: ReaderSources, request: BodyRequest, making: ExportMaking): ExportBody {
  const { format, ledgerId, tenant, filter, part, leaves: size, offset } = request
  const { portionBytes } = making
  let leaves: LeafReader | undefined
  const leafIndex = leafWithin(size, (eventId) => {
    leaves ??= leavesOf(sources)
    return leaves.leafOf(tenant, eventId)?.index
  })
  const scope = { ledgerId, tenant, ...(filter && { filter }), ...(part && { part }) }
  const writer = FORMATS[format].open({ ...scope, leafIndex })
  const found = pagesOf(sources, request, making)
  const pages = part === undefined ? found : withBefore(found, writer, runBefore(sources, request, making.pace))
  const body = bodyOf({ pages, writer, offset, portionBytes, wholePages: false })
  const close = async (): Promise<void> => {
    await body.close()
    leaves?.[Symbol.dispose]()
  }
  return { ...body, close }
}

async function* pagesOf(sources: ReaderSources, request: BodyRequest, making: ExportMaking): EventPagesMade {
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
  { tenant }: BodyRequest,
  { filter, asOf }: NonNullable<BodyRequest['matching']>,
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

function runBefore({ store }: ReaderSources, { tenant }: BodyRequest, pace: Pace): RunBefore {
  return async (run, to) => parsed(pacedPages(store.readStream(runStream(tenant, run), { from: 0, to }), pace))
}

async function* parsed(pages: AsyncIterable<readonly ReadRecord[]>): AsyncGenerator<EventPage, void> {
  for await (const page of pages) yield page.map(ledgerEvent)
}

type EventPage = EventPages extends AsyncIterable<infer P> ? P : never
