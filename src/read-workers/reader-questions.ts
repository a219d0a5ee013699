/** @module Answers audit queries in a reader thread: from the index that its owner vouches for, and the thread's own store connection. */
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

/** A single portion: one page of the answer. */
export async function* questionPortions(
  sources: ReaderSources,
  { planned }: QuestionRequest,
  making: QuestionMaking,
): AsyncGenerator<PagePortion, void> {
  const { items: _, itemsText, ...page } = await pageOf(sources, planned, making)
  yield { chunk: Buffer.from(itemsText()), page }
}

/**
 * All rows of the answer. With a log, they are made from its events; otherwise from all pages of the answer, each read from the current index but as of the
 * same log.
 */
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

/** Throws `StoreUnavailableError` if the index, which may still be being built, does not reach the pinned event: the answer would be incomplete. */
export function pinnedIndex(index: ReadableIndex, tenant: string, { treeSize, eventId }: AsOf): void {
  const pin = treeSize === 0 ? undefined : index.pin(tenant, treeSize)
  if (treeSize === 0 || (pin !== undefined && (eventId === null || pin.eventId === eventId))) return
  throw new StoreUnavailableError("the auditors' index ends before what was asked: ask again", RETRY_AFTER_MS)
}
