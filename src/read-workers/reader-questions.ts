/** @module What auditors ask, as a reader answers it: from the index as its owner vouches for it, and a store of its own. */
import {
  type AnswerBodyRequest,
  type AnswerPortion,
  answerPortions,
  eventPortions,
} from '../export/answer/answer-body.ts'
import { answerQuestion } from '../ledger/audit/answer-question.ts'
import type { AsOf, AuditPage, PlannedQuestion } from '../ledger/audit/audit-reads.ts'
import type { Sealer } from '../ledger/identity/sealer.ts'
import { LeafReading } from '../ledger/integrity/event-reading.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { shownEvent } from '../ledger/read/record-seal.ts'
import type { Pace } from '../resources/work-queue.ts'
import type { ReadableIndex } from '../store/audit-index.ts'
import { type ReadRecord, StoreUnavailableError } from '../store/event-store.ts'
import { pacedPages } from '../store/paced-pages.ts'
import type { IndexOwner } from '../store/sqlite/audit-snapshots.ts'
import type { PagePortion, QuestionRequest } from './protocol.ts'
import { leavesOf, type ReaderSources, requireReaches } from './reader-pages.ts'

const RETRY_AFTER_MS = 1_000

export interface QuestionMaking {
  readonly pace: Pace
  readonly owner: IndexOwner
}

/** One portion: a page of the answer. */
export async function* questionPortions(
  sources: ReaderSources,
  { planned }: QuestionRequest,
  making: QuestionMaking,
): AsyncGenerator<PagePortion, void> {
  const { items: _, itemsText, ...page } = await pageOf(sources, planned, making)
  yield { chunk: Buffer.from(itemsText()), page }
}

/** All rows of the answer, made from the events of the log; or all of its pages, each as the index is then, as of the same log. */
export async function* answerFile(
  sources: ReaderSources,
  request: AnswerBodyRequest,
  making: QuestionMaking,
): AsyncGenerator<AnswerPortion, void> {
  const { log, tenant } = request
  if (log === undefined) return yield* answerPortions(request, (planned) => pageOf(sources, planned, making))
  const { size, until } = log
  if (until === undefined) return yield* eventPortions(request, () => undefined)
  const { store, sealer } = sources
  await requireReaches(store, until)
  using leaves = leavesOf(sources)
  const { comparePositions } = store
  yield* eventPortions(request, () => ({
    pages: shownPages(pacedPages(store.readAll({ tenant, until }), making.pace), sealer),
    reading: new LeafReading({ leaves, comparePositions }, { tenant, size, after: undefined, until }),
  }))
}

async function* shownPages(
  pages: AsyncIterable<readonly ReadRecord[]>,
  sealer: Sealer,
): AsyncGenerator<readonly LedgerEvent[], void> {
  for await (const page of pages) yield page.map((record) => shownEvent(sealer, record))
}

function pageOf(
  { readIndex, store, sealer }: ReaderSources,
  planned: PlannedQuestion,
  { pace, owner }: QuestionMaking,
): Promise<AuditPage> {
  return readIndex(owner, async (index) => {
    pinnedIndex(index, planned.tenant, planned.asOf)
    return answerQuestion({ store, sealer, index }, planned, pace)
  })
}

/** Throws `StoreUnavailableError` where the index, which may be in the making, does not reach what was pinned: an answer would be short. */
export function pinnedIndex(index: ReadableIndex, tenant: string, { treeSize, eventId }: AsOf): void {
  const pin = treeSize === 0 ? undefined : index.pin(tenant, treeSize)
  if (treeSize === 0 || (pin !== undefined && (eventId === null || pin.eventId === eventId))) return
  throw new StoreUnavailableError("the auditors' index ends before what was asked: ask again", RETRY_AFTER_MS)
}
