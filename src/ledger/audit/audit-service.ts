/** @module Asking: the query's definition, the log as of a size, one page of rows, and the answer of its shape. */
import { type Phrases, parsePhrases } from '../../../projections/search-text.ts'
import { type AuditRow, SEARCH_MAX_TERMS } from '../../../schemas/audit-fields.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { ofAllAgents, withinRun } from '../../access/check-access.ts'
import { allEnded } from '../../resources/all-ended.ts'
import type { AuditFilter, AuditIndex, AuditView, LeafPage } from '../../store/audit-index.ts'
import { againIfRenewed } from '../../store/derived-file.ts'
import type { EventStore } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Caller } from '../ledger.ts'
import { eventBody, eventsOf, type FoundEvent, linksOf } from './audit-events.ts'
import { accessItems, type GroupAnswer, type GroupAsk, keysAnswer, runsAnswer, sampleAnswer } from './audit-groups.ts'
import { AUDIT_QUERIES, type AuditQueryDefinition } from './audit-queries.ts'
import type {
  AsOf,
  AuditPage,
  AuditPageRequest,
  AuditQuestion,
  AuditReads,
  AuditRefusal,
  MatchedEvent,
} from './audit-reads.ts'
import { spendAnswer } from './audit-spend.ts'
import { beyondLog, otherLog, questionFault, spendBy } from './question-fault.ts'
import { asOfPin, reachSize } from './reach-size.ts'
import { windowedRows } from './windowed-rows.ts'

/** Rows of a page of `matching`. */
const MATCHING_PAGE = 256

export interface AuditDeps {
  readonly store: Pick<EventStore, 'readStream' | 'comparePositions'>
  readonly index: AuditIndex
  readonly sealer?: Sealer | undefined
  /** Brings the index to where the store is now, as far as it can. */
  readonly catchUp: () => Promise<void>
}

/** A question as it is asked of the index. */
interface IndexQuestion extends GroupAsk {
  readonly definition: AuditQueryDefinition
  readonly question: AuditQuestion
  readonly newestFirst: boolean
  readonly phrases: Phrases | undefined
}

/** Without the record of who asked: whoever answers others puts `recordedReads` in front. */
export type UnrecordedReads = Omit<AuditReads, 'record' | 'notePayloads' | 'runs'>

export class AuditService implements UnrecordedReads {
  readonly #deps: AuditDeps

  constructor(deps: AuditDeps) {
    this.#deps = deps
  }

  async asOf({ tenant }: Caller): Promise<AsOf> {
    return againIfRenewed(async () => {
      await this.#deps.catchUp()
      return asOfPin(this.#deps.index.pin(tenant))
    })
  }

  async ask(caller: Caller, question: AuditQuestion, page: AuditPageRequest): Promise<AuditPage | AuditRefusal> {
    return againIfRenewed(async () => {
      await reachSize(this.#deps, caller.tenant, page.treeSize)
      const request = this.#indexQuestion(caller, question, page)
      if ('code' in request) return request
      const answer = await this.#answer(request)
      const restsOn = request.phrases === undefined ? 'sealed-index' : 'word-index'
      return { ok: true, ...answer, asOf: request.asOf, restsOn }
    })
  }

  async event(caller: Caller, eventId: string): Promise<MatchedEvent | undefined> {
    return againIfRenewed(async () => {
      await this.#deps.catchUp()
      const row = this.#deps.index.rowOf(caller.tenant, eventId)
      return row === undefined || (withinRun(caller, row.run) ?? ofAllAgents(caller)) !== undefined
        ? undefined
        : (await eventsOf(this.#deps, [row], caller.pace))[0]
    })
  }

  async matchingRefusal(
    caller: Caller,
    filter: EventQuery,
    { asOf }: { readonly asOf: AsOf },
  ): Promise<AuditRefusal | undefined> {
    return againIfRenewed(async () => {
      await reachSize(this.#deps, caller.tenant, asOf.treeSize)
      const query = this.#matchingAsked(caller, filter, asOf)
      return 'code' in query ? query : undefined
    })
  }

  #matchingAsked(caller: Caller, filter: EventQuery, { treeSize }: AsOf): IndexQuestion | AuditRefusal {
    return this.#indexQuestion(caller, { name: 'events', filter }, { limit: MATCHING_PAGE, treeSize })
  }

  async *matching(
    caller: Caller,
    filter: EventQuery,
    { asOf, afterLeaf }: { readonly asOf: AsOf; readonly afterLeaf?: number },
  ): AsyncGenerator<readonly MatchedEvent[], void> {
    await againIfRenewed(() => reachSize(this.#deps, caller.tenant, asOf.treeSize))
    const question = this.#matchingAsked(caller, filter, asOf)
    if ('code' in question) throw new RangeError(question.detail)
    const { index, store } = this.#deps
    for (let after = afterLeaf; ; ) {
      const page = { after, limit: MATCHING_PAGE }
      const rowsOf = (part: LeafPage) => index.rows(question.view, question.filter, part)
      const rows = await againIfRenewed(async () => {
        await this.#untilThere(question.view)
        return windowedRows(rowsOf, page, { size: question.view.size, pace: caller.pace })
      })
      const last = rows.at(-1)
      if (last === undefined) return
      yield await eventsOf({ store }, rows, caller.pace)
      after = last.leaf
    }
  }

  /** An index that was rebuilt in the middle of an export lacks rows until it has caught up. */
  async #untilThere({ tenant, size }: AuditView): Promise<void> {
    if (this.#deps.index.size(tenant) < size) await this.#deps.catchUp()
  }

  #indexQuestion(caller: Caller, question: AuditQuestion, page: AuditPageRequest): IndexQuestion | AuditRefusal {
    const outside = withinRun(caller, question.filter.run)
    if (outside !== undefined) return { ok: false, code: 'run-mismatch', detail: outside.detail }
    const ofAgent = ofAllAgents(caller)
    if (ofAgent !== undefined) return { ok: false, code: 'agent-mismatch', detail: ofAgent.detail }
    const definition: AuditQueryDefinition = AUDIT_QUERIES[question.name]
    const fault = questionFault(question, definition)
    if (fault !== undefined) return { ok: false, code: 'invalid-query', detail: fault }

    const { text, ...filter } = question.filter
    const phrases = text === undefined ? undefined : parsePhrases(text)
    if (text !== undefined && (phrases === undefined || phrases.length > SEARCH_MAX_TERMS)) {
      const detail = `text takes 1 to ${SEARCH_MAX_TERMS} words; words in double quotes stand together and count once`
      return { ok: false, code: 'invalid-query', detail }
    }
    const { tenant } = caller
    const pin = this.#deps.index.pin(tenant, page.treeSize)
    const asOf = asOfPin(page.treeSize === 0 ? undefined : pin)
    if ((page.treeSize ?? 0) > 0 && pin === undefined) return beyondLog(this.#deps.index.size(tenant))
    if (page.eventId !== undefined && page.eventId !== asOf.eventId) return otherLog
    return {
      definition,
      question,
      asOf,
      view: { tenant, size: asOf.treeSize },
      filter: { ...narrowed(filter, definition), ...(phrases && { phrases }) },
      phrases,
      after: page.after,
      limit: page.limit,
      newestFirst: page.newestFirst ?? false,
      pace: caller.pace,
    }
  }

  async #answer(request: IndexQuestion): Promise<GroupAnswer> {
    const { index } = this.#deps
    const { definition, view, filter, question } = request
    switch (definition.shape) {
      case 'events':
        return this.#listed(request, (page) => index.rows(view, filter, page))
      case 'rejections':
        return this.#withRewinds(view.tenant, await this.#listed(request, (page) => index.rows(view, filter, page)))
      case 'open-calls':
        return this.#open(request, (page) => index.openCalls(view, filter, page), 'ToolCallInDoubt')
      case 'open-reservations':
        return this.#open(request, (page) => index.openReservations(view, filter, page), 'ReservationExpired')
      case 'open-compensations':
        return this.#listed(request, (page) => index.openCompensations(view, filter, page))
      case 'runs':
        return runsAnswer(this.#deps, request, question.name === 'open-runs')
      case 'spend':
        return spendAnswer(this.#deps, request, spendBy(question) ?? 'run')
      case 'keys':
        return keysAnswer(this.#deps, request)
      case 'access':
        return this.#access(request)
      case 'sample':
        return sampleAnswer(this.#deps, request, question.seed ?? '')
    }
  }

  async #listed(question: IndexQuestion, rowsOf: (page: LeafPage) => readonly AuditRow[]): Promise<GroupAnswer> {
    const { events, next } = await this.#page(question, rowsOf)
    return { items: events.map((event) => eventBody(event, question.phrases)), ...next }
  }

  async #page(
    { after, limit, newestFirst, view, pace }: IndexQuestion,
    rowsOf: (page: LeafPage) => readonly AuditRow[],
  ): Promise<{ readonly events: readonly FoundEvent[]; readonly next: { readonly next?: readonly Json[] } }> {
    const leaf = typeof after?.[0] === 'number' ? after[0] : undefined
    const page = { after: leaf, limit: limit + 1, newestFirst }
    const rows = await windowedRows(rowsOf, page, { size: view.size, pace })
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    const next = rows.length > limit && last !== undefined ? { next: [last.leaf] } : {}
    return { events: await eventsOf(this.#deps, shown, pace), next }
  }

  /** What was begun and not ended; `doubt` is the type that says so without ending it. */
  async #open(
    question: IndexQuestion,
    rowsOf: (page: LeafPage) => readonly AuditRow[],
    doubt: string,
  ): Promise<GroupAnswer> {
    const { index } = this.#deps
    const answer = await this.#listed(question, rowsOf)
    const items = answer.items.map((item): JsonObject => {
      const of = doubt === 'ToolCallInDoubt' ? { call: String(item.call) } : { reservation: String(item.reservation) }
      const types = doubt === 'ToolCallInDoubt' ? [doubt, 'CompensationInDoubt'] : [doubt]
      const later = index.rows(
        question.view,
        { types, run: String(item.run), ...of },
        { after: Number(item.leaf), limit: 1 },
      )
      const status = doubt === 'ToolCallInDoubt' ? ['claimed', 'in-doubt'] : ['open', 'expired']
      return { ...item, status: status[later.length === 0 ? 0 : 1] ?? '' }
    })
    return { ...answer, items }
  }

  /** The rewind stands right behind the rejection: both were written at once. */
  async #withRewinds(tenant: string, answer: GroupAnswer): Promise<GroupAnswer> {
    const items = await allEnded(
      answer.items.map(async (item): Promise<JsonObject> => {
        if (item.type !== 'EnvelopeRejected') return { ...item, rewind: null }
        const revision = Number(item.revision) + 1
        for await (const page of this.#deps.store.readStream(runStream(tenant, String(item.run)), {
          from: revision,
          to: revision,
        })) {
          const [record] = page
          const header = JSON.parse(record?.header ?? '{}') as { type?: string; id?: string }
          if (record === undefined || header.type !== 'RunRewound' || header.id === undefined) break
          const { fromStep, toStep, snapshot } = JSON.parse(record.data) as Record<string, number>
          const steps = { fromStep: fromStep ?? 0, toStep: toStep ?? 0, snapshot: snapshot ?? 0 }
          return { ...item, rewind: { revision, event: header.id, ...steps, links: linksOf(header.id) } }
        }
        return { ...item, rewind: null }
      }),
    )
    return { ...answer, items }
  }

  async #access(question: IndexQuestion): Promise<GroupAnswer> {
    const { index } = this.#deps
    const { actor, run, ...filter } = question.filter
    const { events, next } = await this.#page(question, (page) => index.rows(question.view, filter, page))
    const verdicts = question.question.name === 'verifications'
    return { items: accessItems(events, { actor, run, verdicts }), ...next }
  }
}

/** The definition's own conditions go first: no caller widens them. */
function narrowed(filter: Omit<EventQuery, 'text'>, { preset = {} }: AuditQueryDefinition): AuditFilter {
  return { ...filter, ...preset }
}
