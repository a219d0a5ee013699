/**
 * @module Handles audit queries: checks the access of the caller, validates the query, pins it to a size of the log, and answers it here or on
 * another thread.
 */
import { parsePhrases } from '../../../projections/search-text.ts'
import { SEARCH_MAX_TERMS } from '../../../schemas/audit-fields.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import { ofAllAgents, withinRun } from '../../access/check-access.ts'
import type { AuditIndex } from '../../store/audit-index.ts'
import { readWhole } from '../../store/derived-file.ts'
import type { EventStore } from '../../store/event-store.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Caller } from '../ledger.ts'
import { answerQuestion, matchedPage } from './answer-question.ts'
import { eventsOf } from './audit-events.ts'
import { AUDIT_QUERIES, type AuditQueryDefinition } from './audit-queries.ts'
import type {
  AsOf,
  AuditPage,
  AuditPageRequest,
  AuditQuestion,
  AuditReads,
  AuditRefusal,
  MatchedEvent,
  PlannedQuestion,
} from './audit-reads.ts'
import type { LogBeside } from './log-beside.ts'
import { beyondLog, otherLog, questionFault } from './question-fault.ts'
import { asOfPin, reachSize } from './reach-size.ts'

/** Answers queries outside of the thread that writes. */
export interface AnswerMaker {
  /** Throws read errors, and `ReaderLeftError` if the caller has left. */
  answer(planned: PlannedQuestion, caller: Caller): Promise<AuditPage>
}

export interface AuditDeps {
  readonly store: Pick<EventStore, 'readStream' | 'comparePositions'>
  readonly index: AuditIndex
  readonly sealer?: Sealer | undefined
  /** Brings the index up to the current end of the store, as far as it can. */
  readonly catchUp: () => Promise<void>
  readonly log?: LogBeside | undefined
  /** If absent, queries are answered in this thread. */
  readonly remote?: AnswerMaker | undefined
}

/** The audit queries without recording of reads; a server has to wrap them in `recordedReads`. */
export type UnrecordedReads = Omit<
  AuditReads,
  'record' | 'notePayloads' | 'recordPage' | 'runs' | 'approvals' | 'runMoment'
>

export class AuditService implements UnrecordedReads {
  readonly #deps: AuditDeps

  constructor(deps: AuditDeps) {
    this.#deps = deps
  }

  async asOf({ tenant }: Caller): Promise<AsOf> {
    return readWhole(this.#deps.index, async () => {
      await reachSize(this.#deps, tenant, undefined)
      return asOfPin(this.#deps.index.pin(tenant))
    })
  }

  async plan(caller: Caller, question: AuditQuestion, page: AuditPageRequest): Promise<PlannedQuestion | AuditRefusal> {
    return readWhole(this.#deps.index, async () => {
      await reachSize(this.#deps, caller.tenant, page.treeSize)
      return this.#planned(caller, question, page)
    })
  }

  async ask(caller: Caller, question: AuditQuestion, page: AuditPageRequest): Promise<AuditPage | AuditRefusal> {
    return readWhole(this.#deps.index, async () => {
      const planned = await this.plan(caller, question, page)
      return 'code' in planned ? planned : this.page(caller, planned)
    })
  }

  page(caller: Caller, planned: PlannedQuestion): Promise<AuditPage> {
    const { remote, ...deps } = this.#deps
    return readWhole(this.#deps.index, async () => {
      await this.#untilThere(planned.tenant, planned.asOf.treeSize)
      return remote?.answer(planned, caller) ?? answerQuestion(deps, planned, caller.pace)
    })
  }

  async event(caller: Caller, eventId: string): Promise<MatchedEvent | undefined> {
    return readWhole(this.#deps.index, async () => {
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
    const planned = await this.plan(caller, { name: 'events', filter }, { limit: 1, treeSize: asOf.treeSize })
    return 'code' in planned ? planned : undefined
  }

  async *matching(
    caller: Caller,
    filter: EventQuery,
    { asOf, afterLeaf }: { readonly asOf: AsOf; readonly afterLeaf?: number },
  ): AsyncGenerator<readonly MatchedEvent[], void> {
    const refused = await this.matchingRefusal(caller, filter, { asOf })
    if (refused !== undefined) throw new RangeError(refused.detail)
    const { tenant, pace } = caller
    for (let after = afterLeaf; ; ) {
      const events = await readWhole(this.#deps.index, async () => {
        await this.#untilThere(tenant, asOf.treeSize)
        return matchedPage(this.#deps, { tenant, filter, asOf }, { afterLeaf: after, pace })
      })
      const last = events.at(-1)
      if (last === undefined) return
      yield events
      after = last.leaf
    }
  }

  /** An index that was rebuilt during an export lacks rows until it has caught up. */
  async #untilThere(tenant: string, size: number): Promise<void> {
    if (this.#deps.index.size(tenant) < size) await this.#deps.catchUp()
  }

  #planned(caller: Caller, question: AuditQuestion, page: AuditPageRequest): PlannedQuestion | AuditRefusal {
    const outside = withinRun(caller, question.filter.run)
    if (outside !== undefined) return { ok: false, code: 'run-mismatch', detail: outside.detail }
    const ofAgent = ofAllAgents(caller)
    if (ofAgent !== undefined) return { ok: false, code: 'agent-mismatch', detail: ofAgent.detail }
    const definition: AuditQueryDefinition = AUDIT_QUERIES[question.name]
    const fault = questionFault(question, definition)
    if (fault !== undefined) return { ok: false, code: 'invalid-query', detail: fault }

    const { text } = question.filter
    const phrases = text === undefined ? undefined : parsePhrases(text)
    if (text !== undefined && (phrases === undefined || phrases.length > SEARCH_MAX_TERMS)) {
      const detail = `text takes 1 to ${SEARCH_MAX_TERMS} words; words in double quotes must be adjacent and count once`
      return { ok: false, code: 'invalid-query', detail }
    }
    const { tenant } = caller
    const pin = this.#deps.index.pin(tenant, page.treeSize)
    const asOf = asOfPin(page.treeSize === 0 ? undefined : pin)
    if ((page.treeSize ?? 0) > 0 && pin === undefined) return beyondLog(this.#deps.index.size(tenant))
    if (page.eventId !== undefined && page.eventId !== asOf.eventId) return otherLog
    const { after, limit, newestFirst = false } = page
    return { tenant, question, asOf, after, limit, newestFirst }
  }
}
