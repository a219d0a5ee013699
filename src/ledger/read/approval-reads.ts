/** @module Approvals as people see them before they decide: who asks for what, with the arguments themselves, the reason, and the expiry. */
import type { ApprovalState } from '../../../projections/approval-state.ts'
import { type RunState, safeKey } from '../../../projections/run-state.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { isExpired } from '../../domain/approval-gate.ts'
import { refusal } from '../../domain/refusal.ts'
import { weigh } from '../../resources/memory-budget.ts'
import type { Caller, Found, Ledger, PlaceInRuns, WaitingPage } from '../ledger.ts'
import type { Effects } from '../ports.ts'
import { clockAt, type RunAt, type RunPage } from '../run-at.ts'
import { PAGE_MAX_BYTES, type PageOfRun, pageOverRuns, RUNS_PAGE } from './pages-over-runs.ts'
import type { Queries } from './queries.ts'
import type { Reader } from './reader.ts'
import type { Render } from './run-as-it-was.ts'
import type { RunList } from './run-list.ts'

/** Length of the preview of arguments that are stored apart from the events, in characters of their canonical text. */
const PREVIEW_CHARS = 4_096

interface PageOf extends RunPage {
  readonly maxBytes: number
  readonly pendingOnly: boolean
}

/** An approval as it is shown, without its arguments; `revision` is that of its request. */
interface Listed {
  readonly shown: JsonObject
  readonly revision: number
}

/** Approvals of a run that could be decided at a point in its past, by the revision of their request; each one reads its arguments when called. */
export type PendingThen = ReadonlyMap<number, () => Promise<JsonObject>>

export interface ApprovalReadDeps {
  readonly queries: Queries
  readonly reader: Reader
  readonly list: RunList
  readonly effects: Pick<Effects, 'nowMs'>
}

export class ApprovalReads implements Pick<Ledger, 'approvals' | 'approval' | 'pendingApprovals'> {
  readonly #deps: ApprovalReadDeps

  constructor(deps: ApprovalReadDeps) {
    this.#deps = deps
  }

  /** All approvals of one run, in order of request; `after` is the revision of a request. */
  async approvals(caller: Caller, runId: string, page: RunPage): Promise<Found<JsonObject>> {
    const found = await this.#page(caller, runId, { ...page, maxBytes: PAGE_MAX_BYTES, pendingOnly: false })
    if (!found.ok) return found
    const { items, next } = found.value
    return { ...found, value: { items, ...(next !== undefined && { next }) } }
  }

  async approval(caller: Caller, runId: string, approvalId: string, at?: RunAt): Promise<Found<JsonObject>> {
    const one: Render<JsonObject | undefined> = (state) => {
      const approval = state.approvals[safeKey(approvalId)]
      if (approval === undefined) return undefined
      const shown = this.#shown(state, approval, at)
      return () => this.#withArguments(caller, runId, { shown, revision: approval.revision })
    }
    const found = await this.#deps.queries.read(caller, runId, one, at)
    if (!found.ok) return found
    if (found.value !== undefined) return { ...found, value: found.value }
    return { ok: false, refusal: refusal('approval-not-found', `this run has no approval ${approvalId}`) }
  }

  /** Approvals in this tenant that can still be decided, by run, newest run first. A run that cannot be read is named and does not hide the others. */
  async pendingApprovals(
    caller: Caller,
    page: { readonly from?: PlaceInRuns; readonly limit: number },
  ): Promise<Found<WaitingPage>> {
    return pageOverRuns({
      ...{ caller, from: page.from, limit: page.limit },
      runsFrom: async (place) => {
        const filter = {
          status: 'open',
          withApprovals: true as const,
          limit: RUNS_PAGE,
          ...(place && { after: place }),
        }
        return (await this.#deps.list.list(caller, filter)).items
      },
      ofRun: (runId, of) => this.#page(caller, runId, { ...of, pendingOnly: true }),
    })
  }

  /** Approvals of a run that could still be decided at a point in its past. */
  async pendingThen(caller: Caller, runId: string, at: RunAt): Promise<Found<PendingThen>> {
    const pending: Render<Listed[]> = (state) =>
      this.#listed(state, { after: -1, pendingOnly: true, at, limit: Number.POSITIVE_INFINITY })
    const found = await this.#deps.queries.read(caller, runId, pending, at)
    if (!found.ok) return found
    const items = found.value.map((each) => [each.revision, () => this.#withArguments(caller, runId, each)] as const)
    return { ...found, value: new Map(items) }
  }

  async #page(caller: Caller, runId: string, page: PageOf): Promise<Found<PageOfRun>> {
    const { after, limit, maxBytes, pendingOnly, at } = page
    const paged: Render<PageOfRun> = (state) => {
      const listed = this.#listed(state, { after, pendingOnly, at, limit: limit + 1 })
      const query = listed.slice(0, limit)
      return async () => {
        const items: JsonObject[] = []
        let bytes = 0
        for (const each of query) {
          if (bytes >= maxBytes) break
          await caller.pace?.turn()
          const item = await this.#withArguments(caller, runId, each)
          bytes += weigh(item)
          items.push(item)
        }
        const last = query[items.length - 1]
        return { items, bytes, ...(listed.length > items.length && last && { next: last.revision }) }
      }
    }
    return this.#deps.queries.read(caller, runId, paged, at)
  }

  /** Approvals in order of request. Only as many as needed are built, because a run may have many thousands. */
  #listed(state: RunState, { after, limit, pendingOnly, at }: Omit<PageOf, 'maxBytes'>): Listed[] {
    const listed: Listed[] = []
    for (const approval of pendingOnly ? pendingOf(state) : Object.values(state.approvals)) {
      if (listed.length >= limit) break
      const { revision } = approval
      if (revision <= after) continue
      const shown = this.#shown(state, approval, at)
      if (!pendingOnly || shown.status === 'pending') listed.push({ shown, revision })
    }
    return listed
  }

  /**
   * The approval as it is or was. After its expiry it can no longer be decided, even if no event has recorded that yet; nor can it in a run that has
   * ended, except for compensations.
   */
  #shown(state: RunState, approval: ApprovalState, at: RunAt | undefined): JsonObject {
    const { revision: _, grants, ...rest } = approval
    const nowMs = at === undefined ? this.#deps.effects.nowMs() : clockAt(at, state.time)
    const undecided = approval.status === 'pending' || approval.status === 'granted'
    const over = undecided && isExpired(approval, state, { nowMs })
    const closed = undecided && state.status !== 'open' && approval.phase !== 'compensation'
    return {
      runId: state.runId,
      runName: state.name,
      ...(rest as unknown as JsonObject),
      grants: grants.map(({ revision: __, ...grant }) => ({ ...grant })),
      status: closed ? 'closed' : over ? 'expired' : approval.status,
    }
  }

  async #withArguments(caller: Caller, runId: string, { shown, revision }: Listed): Promise<JsonObject> {
    const event = await this.#deps.reader.readableAt(runStream(caller.tenant, runId), revision)
    if (event?.type !== 'ApprovalRequested') return shown
    const { args, argsRef } = event.data
    if (argsRef === undefined) return { ...shown, args: args ?? null }
    const found = await this.#deps.queries.value(caller, runId, argsRef.digest)
    // Arguments that are too large to be shown in full are shown as a preview; the decision is about the digest of all of them.
    const preview = found.ok ? { argsPreview: begin(found.value) } : {}
    return { ...shown, argsRef: argsRef as JsonObject, ...preview }
  }
}

/** Does not cut a surrogate pair in half. */
function begin(text: string): string {
  const end = text.codePointAt(PREVIEW_CHARS - 1) ?? 0
  return text.slice(0, end > 0xffff ? PREVIEW_CHARS - 1 : PREVIEW_CHARS)
}

/** Sorted, because an approval that was withdrawn is pending again in its old place. */
function pendingOf(state: RunState): ApprovalState[] {
  const pending = Object.keys(state.pendingApprovals).flatMap((key) => state.approvals[key] ?? [])
  return pending.sort((a, b) => a.revision - b.revision)
}
