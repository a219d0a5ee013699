/** @module What auditors ask, as a reader answers it: from the index as its owner vouches for it, and a store of its own. */
import { type AnswerBodyRequest, type AnswerPortion, answerPortions } from '../export/answer/answer-body.ts'
import { answerQuestion } from '../ledger/audit/answer-question.ts'
import type { AsOf, AuditPage, PlannedQuestion } from '../ledger/audit/audit-reads.ts'
import type { Pace } from '../resources/work-queue.ts'
import type { ReadableIndex } from '../store/audit-index.ts'
import { StoreUnavailableError } from '../store/event-store.ts'
import type { IndexOwner } from '../store/sqlite/audit-snapshots.ts'
import type { PagePortion, QuestionRequest } from './protocol.ts'
import type { ReaderSources } from './reader-pages.ts'

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

/** All pages of the answer, each as the index is then, as of the same log. */
export function answerFile(
  sources: ReaderSources,
  request: AnswerBodyRequest,
  making: QuestionMaking,
): AsyncGenerator<AnswerPortion, void> {
  return answerPortions(request, (planned) => pageOf(sources, planned, making))
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
