/**
 * @module The pending approvals of a tenant as of a size of its log, over all runs. The audit index lists the requests, newest first; whether one
 * could still be decided at that point requires folding its run up to there. A page looks at a bounded number of requests and folds a bounded number
 * of events. When either bound is reached, the page ends early with the cursor of the next one. A run with more events than the bound is folded on a
 * page of its own.
 */
import type { AuditRow } from '../../../schemas/audit-fields.ts'
import { type EventType, typesThat } from '../../../schemas/events.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { ofWholeTenant } from '../../access/check-access.ts'
import { weigh } from '../../resources/memory-budget.ts'
import type { AuditIndex, AuditView } from '../../store/audit-index.ts'
import { readWhole } from '../../store/derived-file.ts'
import type { Caller } from '../ledger.ts'
import type { ApprovalReads, PendingThen } from '../read/approval-reads.ts'
import type { RunList } from '../read/run-list.ts'
import { type UnreadableRun, unreadableMember, unreadableRun } from '../read/unreadable.ts'
import { type ApprovalsAsOf, type ApprovalsAsOfRequest, type AuditReads, DamagedIndexError } from './audit-reads.ts'
import { beyondLog, otherLog, wholeTenantOnly } from './question-fault.ts'
import { asOfPin, type ReachDeps, reachSize } from './reach-size.ts'
import { windowedRows } from './windowed-rows.ts'

/** Maximum number of requests that one page looks at, whether they could still be decided or not. */
const LOOKED_MAX = 2_000
/** Maximum number of events that one page folds if it folds more than one run. */
const FOLDED_MAX = 10_000
/** A page ends with the item that reaches this size: the arguments of one approval may take half a megabyte. */
const PAGE_MAX_BYTES = 4 * 1024 * 1024
const BATCH_REQUESTS = 100

const RUN_ENDS: readonly EventType[] = typesThat(({ changes }) => changes.run !== undefined && changes.run !== 'open')

export interface ApprovalsAsOfDeps extends ReachDeps {
  readonly index: Pick<AuditIndex, 'rows' | 'row' | 'pin' | 'size' | 'onRenewed'>
  readonly list: Pick<RunList, 'catchUp' | 'row'>
  readonly approvals: Pick<ApprovalReads, 'pendingThen'>
  /** Default: `LOOKED_MAX` and `FOLDED_MAX`. */
  readonly lookedMax?: number | undefined
  readonly foldedMax?: number | undefined
}

export function approvalsAsOf(deps: ApprovalsAsOfDeps): AuditReads['approvals'] {
  return async (caller, { treeSize, eventId, ...page }) => {
    if (ofWholeTenant(caller) !== undefined) return wholeTenantOnly(caller)
    const { tenant } = caller
    return readWhole(deps.index, async () => {
      await reachSize(deps, tenant, treeSize)
      const pin = deps.index.pin(tenant, treeSize)
      if (pin === undefined) return beyondLog(deps.index.size(tenant))
      if (eventId !== undefined && eventId !== pin.eventId) return otherLog
      await deps.list.catchUp()
      const found = await new Queue(deps, caller, { tenant, size: treeSize }).page(page)
      return { ok: true, ...found, asOf: asOfPin(pin) }
    })
  }
}

type Page = Omit<ApprovalsAsOf, 'ok' | 'asOf'>

const NONE: PendingThen = new Map()

/** The requests of a view, and the work that one page has done so far. */
class Queue {
  readonly #deps: ApprovalsAsOfDeps
  readonly #caller: Caller
  readonly #view: AuditView
  readonly #timeMs: number
  readonly #runs = new Map<string, PendingThen>()
  readonly #unreadable: UnreadableRun[] = []
  #folded = 0

  constructor(deps: ApprovalsAsOfDeps, caller: Caller, view: AuditView) {
    this.#deps = deps
    this.#caller = caller
    this.#view = view
    this.#timeMs = Date.parse(deps.index.row(view.tenant, view.size - 1)?.time ?? '') || 0
  }

  async page({ after, limit }: Pick<ApprovalsAsOfRequest, 'after' | 'limit'>): Promise<Page> {
    const items: JsonObject[] = []
    let [bytes, looked, place] = [0, 0, after]
    const answer = (next?: number): Page => {
      return { items, ...(next !== undefined && { next }), ...unreadableMember(this.#unreadable) }
    }
    for (;;) {
      const requests = await this.#requests(place)
      for (const request of requests) {
        await this.#caller.pace?.turn()
        const isFull =
          items.length >= limit || bytes >= PAGE_MAX_BYTES || looked >= (this.#deps.lookedMax ?? LOOKED_MAX)
        const pending = isFull ? 'later' : await this.#pendingOf(request)
        if (pending === 'later') return answer(place)
        const item = await pending.get(request.revision)?.()
        if (item !== undefined) items.push(item)
        bytes += item === undefined ? 0 : weigh(item)
        place = request.leaf
        looked += 1
      }
      if (requests.length < BATCH_REQUESTS) return answer()
    }
  }

  /** Requests before a leaf, newest first. */
  #requests(after: number | undefined): Promise<readonly AuditRow[]> {
    const { index } = this.#deps
    return windowedRows(
      (part) => index.rows(this.#view, { types: ['ApprovalRequested'] }, part),
      { after, limit: BATCH_REQUESTS, newestFirst: true },
      { size: this.#view.size, pace: this.#caller.pace },
    )
  }

  /** The approvals of the request's run that were pending at that point; `later` if this page has reached its fold limit. */
  async #pendingOf({ run, stream }: AuditRow): Promise<PendingThen | 'later'> {
    const { tenant } = this.#view
    if (run === undefined || stream !== runStream(tenant, run)) return NONE
    const known = this.#runs.get(run)
    if (known !== undefined) return known
    const pending = await this.#read(run)
    if (pending !== 'later') this.#runs.set(run, pending)
    return pending
  }

  async #read(run: string): Promise<PendingThen | 'later'> {
    const { index, list, approvals, foldedMax = FOLDED_MAX } = this.#deps
    const [last] = index.rows(this.#view, { run }, { after: undefined, limit: 1, newestFirst: true })
    if (last === undefined || RUN_ENDS.some((type) => type === last.type)) return NONE
    const present = list.row(this.#view.tenant, run)
    if (present?.revision === last.revision && present.approvals === 0) return NONE
    if (this.#folded > 0 && this.#folded + last.revision >= foldedMax) return 'later'
    this.#folded += last.revision + 1
    const found = await approvals.pendingThen(this.#caller, run, { revision: last.revision, timeMs: this.#timeMs })
    if (found.ok) return found.value
    const broken = unreadableRun(run, found.refusal)
    if (broken === undefined) throw new DamagedIndexError(last.stream, last.revision)
    this.#unreadable.push(broken)
    return NONE
  }
}
