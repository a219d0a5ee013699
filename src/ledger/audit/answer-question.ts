/**
 * @module Answers an audit query that has been authorized and planned, from an index and a store: one page of rows, with each event read from the
 * store. All inputs are plain values, so that any thread can answer it.
 */

import { type Phrases, parsePhrases } from '../../../projections/search-text.ts'
import type { AuditRow } from '../../../schemas/audit-fields.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../../schemas/json.ts'
import { addMoney } from '../../../schemas/money.ts'
import { runStream } from '../../../schemas/names.ts'
import { allEnded } from '../../resources/all-ended.ts'
import type { Pace } from '../../resources/work-queue.ts'
import { requireBodies } from '../../store/archive-missing-error.ts'
import type { AuditFilter, LeafPage } from '../../store/audit-index.ts'
import { type AuditEvent, eventBody, eventsOf, linksOf } from './audit-events.ts'
import {
  accessItems,
  type GroupAnswer,
  type GroupAsk,
  type GroupDeps,
  keysAnswer,
  runsAnswer,
  sampleAnswer,
} from './audit-groups.ts'
import { AUDIT_QUERIES, type AuditQueryDefinition } from './audit-queries.ts'
import type { AsOf, AuditPage, AuditQuestion, MatchedEvent, PlannedQuestion } from './audit-reads.ts'
import { largestSpend, spendAnswer } from './audit-spend.ts'
import { spendBy } from './question-fault.ts'
import { withSuspects } from './suspect-status.ts'
import { windowedRows } from './windowed-rows.ts'

/** Number of rows on a page of `matchedPage`. */
const MATCHING_PAGE = 256

interface IndexQuestion extends GroupAsk {
  readonly definition: AuditQueryDefinition
  readonly question: AuditQuestion
  readonly newestFirst: boolean
  readonly phrases: Phrases | undefined
}

/** Throws `DamagedIndexError`, and `ReaderLeftError` if the reader of `pace` has left. */
export async function answerQuestion(
  deps: GroupDeps,
  planned: PlannedQuestion,
  pace: Pace | undefined,
): Promise<AuditPage> {
  const request = indexQuestion(planned, pace)
  const answer = await answerOf(deps, request)
  const { items } = answer
  return {
    ...{ ok: true, ...answer, asOf: planned.asOf, restsOn: restsOn(planned.question) },
    ...{ count: items.length, itemsText: () => JSON.stringify(items) },
  }
}

export function restsOn({ filter }: AuditQuestion): AuditPage['restsOn'] {
  return filter.text === undefined ? 'sealed-index' : 'word-index'
}

/** The next page of whole events that match a query, in log order, after a leaf; empty if there are no more. */
export async function matchedPage(
  deps: GroupDeps,
  { tenant, filter, asOf }: { readonly tenant: string; readonly filter: EventQuery; readonly asOf: AsOf },
  { afterLeaf, pace }: { readonly afterLeaf: number | undefined; readonly pace: Pace | undefined },
): Promise<readonly MatchedEvent[]> {
  const planned = {
    tenant,
    question: { name: 'events', filter },
    asOf,
    limit: MATCHING_PAGE,
    newestFirst: false,
  } as const
  const question = indexQuestion(planned, pace)
  const rowsOf = (part: LeafPage) => deps.index.rows(question.view, question.filter, part)
  const page = { after: afterLeaf, limit: MATCHING_PAGE }
  const rows = await windowedRows(rowsOf, page, { size: question.view.size, pace })
  return await eventsOf({ store: deps.store }, rows, pace)
}

function indexQuestion(planned: PlannedQuestion, pace: Pace | undefined): IndexQuestion {
  const { tenant, question, asOf, after, limit, newestFirst } = planned
  const definition: AuditQueryDefinition = AUDIT_QUERIES[question.name]
  const { text, ...filter } = question.filter
  const phrases = text === undefined ? undefined : parsePhrases(text)
  return {
    definition,
    question,
    asOf,
    view: { tenant, size: asOf.treeSize },
    filter: { ...narrowed(filter, definition), ...(phrases && { phrases }) },
    phrases,
    after,
    limit,
    newestFirst,
    pace,
  }
}

/** Conditions of the definition override those of the caller, so that no caller can widen them. */
function narrowed(filter: Omit<EventQuery, 'text'>, { preset = {} }: AuditQueryDefinition): AuditFilter {
  return { ...filter, ...preset }
}

async function answerOf(deps: GroupDeps, request: IndexQuestion): Promise<GroupAnswer> {
  const { index } = deps
  const { definition, view, filter, question } = request
  switch (definition.shape) {
    case 'events':
      return listed(deps, request, (page) => index.rows(view, filter, page))
    case 'rejections':
      return withRewinds(deps, view.tenant, await listed(deps, request, (page) => index.rows(view, filter, page)))
    case 'suspects':
      return withSuspects(deps, request, await listed(deps, request, (page) => index.rows(view, filter, page)))
    case 'open-calls':
      return open(deps, request, (page) => index.openCalls(view, filter, page), 'ToolCallInDoubt')
    case 'open-reservations':
      return question.whole === true ? reservedSums(deps, request) : openReservations(deps, request)
    case 'open-compensations':
      return listed(deps, request, (page) => index.openCompensations(view, filter, page))
    case 'runs':
      return runsAnswer(deps, request, question.name === 'open-runs')
    case 'spend':
      return (question.whole === true ? largestSpend : spendAnswer)(deps, request, spendBy(question) ?? 'run')
    case 'keys':
      return keysAnswer(deps, request)
    case 'access':
      return access(deps, request)
    case 'sample':
      return sampleAnswer(deps, request, question.seed ?? '')
  }
}

type RowsOf = (page: LeafPage) => readonly AuditRow[]

async function listed(deps: GroupDeps, question: IndexQuestion, rowsOf: RowsOf): Promise<GroupAnswer> {
  const { events, next } = await pageOf(deps, question, rowsOf)
  return { items: events.map((event) => eventBody(event, question.phrases)), ...next }
}

async function pageOf(
  deps: GroupDeps,
  { after, limit, newestFirst, view, pace }: IndexQuestion,
  rowsOf: RowsOf,
): Promise<{ readonly events: readonly AuditEvent[]; readonly next: { readonly next?: readonly Json[] } }> {
  const leaf = typeof after?.[0] === 'number' ? after[0] : undefined
  const page = { after: leaf, limit: limit + 1, newestFirst }
  const rows = await windowedRows(rowsOf, page, { size: view.size, pace })
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const next = rows.length > limit && last !== undefined ? { next: [last.leaf] } : {}
  return { events: await eventsOf(deps, shown, pace), next }
}

/** Items that were begun and not ended. `doubt` is the event type that changes their status without ending them. */
async function open(deps: GroupDeps, question: IndexQuestion, rowsOf: RowsOf, doubt: string): Promise<GroupAnswer> {
  const answer = await listed(deps, question, rowsOf)
  const items = answer.items.map((item): JsonObject => {
    const of = doubt === 'ToolCallInDoubt' ? { call: String(item.call) } : { reservation: String(item.reservation) }
    const types = doubt === 'ToolCallInDoubt' ? [doubt, 'CompensationInDoubt'] : [doubt]
    const later = deps.index.rows(
      question.view,
      { types, run: String(item.run), ...of },
      { after: Number(item.leaf), limit: 1 },
    )
    const doubted = isOfModel(item) ? 'unanswered' : 'in-doubt'
    const status = doubt === 'ToolCallInDoubt' ? ['claimed', doubted] : ['open', 'expired']
    return { ...item, status: status[later.length === 0 ? 0 : 1] ?? '' }
  })
  return { ...answer, items }
}

/** How a call of a model ended does not have to be resolved, since the call has no effects. */
const isOfModel = ({ detail = null }: JsonObject): boolean => isJsonObject(detail) && detail.phase === 'model'

function openReservations(deps: GroupDeps, question: IndexQuestion): Promise<GroupAnswer> {
  const { view, filter } = question
  return open(deps, question, (page) => deps.index.openReservations(view, filter, page), 'ReservationExpired')
}

/** Expired reservations are left out: they are charged, and so count as spent. */
async function reservedSums(deps: GroupDeps, question: IndexQuestion): Promise<GroupAnswer> {
  const sums = new Map<string, Reserved>()
  for (let after: readonly Json[] | undefined = []; after !== undefined; ) {
    const page: GroupAnswer = await openReservations(deps, { ...question, after, limit: MATCHING_PAGE })
    for (const item of page.items) if (item.status === 'open') addReserved(sums, item)
    after = page.next
  }
  return { items: [...sums.values()].map((sum) => ({ ...sum })), rest: [] }
}

interface Reserved {
  readonly agent: string
  readonly run: string
  readonly currency: string | null
  reservations: number
  tokens: number
  cost: string
}

function addReserved(sums: Map<string, Reserved>, { agent, run, detail }: JsonObject): void {
  const { tokens, cost, currency } = (isJsonObject(detail ?? null) ? detail : {}) as JsonObject
  const names = {
    agent: String(agent ?? ''),
    run: String(run),
    currency: typeof currency === 'string' ? currency : null,
  }
  const key = JSON.stringify(names)
  const sum = sums.get(key) ?? { ...names, reservations: 0, tokens: 0, cost: '0' }
  sum.reservations += 1
  sum.tokens += typeof tokens === 'number' ? tokens : 0
  sum.cost = addMoney(sum.cost, typeof cost === 'string' ? cost : '0')
  sums.set(key, sum)
}

/** The rewind directly follows the rejection: both were appended together. */
async function withRewinds({ store }: GroupDeps, tenant: string, answer: GroupAnswer): Promise<GroupAnswer> {
  const items = await allEnded(
    answer.items.map(async (item): Promise<JsonObject> => {
      if (item.type !== 'EnvelopeRejected') return { ...item, rewind: null }
      const revision = Number(item.revision) + 1
      for await (const page of store.readStream(runStream(tenant, String(item.run)), {
        from: revision,
        to: revision,
      })) {
        const [record] = page
        const header = parseJson(record?.header ?? '{}') as { type?: string; id?: string }
        if (record === undefined || header.type !== 'RunRewound' || header.id === undefined) break
        requireBodies([record])
        const { fromStep, toStep, snapshot } = parseJson(record.data) as Record<string, number>
        const steps = { fromStep: fromStep ?? 0, toStep: toStep ?? 0, snapshot: snapshot ?? 0 }
        return { ...item, rewind: { revision, event: header.id, ...steps, links: linksOf(header.id) } }
      }
      return { ...item, rewind: null }
    }),
  )
  return { ...answer, items }
}

async function access(deps: GroupDeps, question: IndexQuestion): Promise<GroupAnswer> {
  const { actor, actorContains, run, runContains, ...filter } = question.filter
  const { events, next } = await pageOf(deps, question, (page) => deps.index.rows(question.view, filter, page))
  const verdicts = question.question.name === 'verifications'
  return { items: accessItems(events, { actor, actorContains, run, runContains, verdicts }), ...next }
}
