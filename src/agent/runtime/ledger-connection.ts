/**
 * @module The connection to a ledger in this process. Bodies are validated with the same schemas as at the HTTP edge, so that both connections refuse alike.
 */

import type { z } from 'zod'
import { DecideApproval } from '../../../schemas/approval.ts'
import { RecordCapture } from '../../../schemas/capture.ts'
import { type Json, type JsonObject, parseJson } from '../../../schemas/json.ts'
import * as requests from '../../../schemas/requests.ts'
import { SendSignal, StartWait } from '../../../schemas/waiting.ts'
import type { Command } from '../../client/commands.ts'
import { LedgerError, runsUnreadable, UnreachableError } from '../../client/errors.ts'
import { exportText } from '../../export/issue-export.ts'
import type { Caller, DueQuery, Found, Ledger, Outcome, PlaceInRuns, WaitingPage } from '../../ledger/ledger.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import type { UnreadableRun } from '../../ledger/read/unreadable.ts'
import { bodyFault } from '../../signing/schema-errors.ts'
import { type Connection, ownedBy, type Problem, type Reply, tracedItem } from './connection.ts'
import { traceparentHere } from './execution-context.ts'
import type { RunFilter } from './read-types.ts'
import { linkedEvents, tailedEvent } from './sealed-events.ts'

const BODIES: Readonly<Record<Command['kind'], z.ZodType>> = {
  start: requests.StartRun,
  envelope: requests.PostEnvelope,
  judgement: requests.RecordJudgement,
  review: requests.ReviewSuspects,
  rollback: requests.Rollback,
  manifest: requests.RegisterManifest,
  claim: requests.ClaimCall,
  settle: requests.SettleCall,
  renew: requests.RenewCall,
  resolve: requests.ResolveCall,
  grant: DecideApproval,
  deny: DecideApproval,
  withdraw: DecideApproval,
  wait: StartWait,
  signal: SendSignal,
  compensate: requests.StartCompensation,
  reserve: requests.PostReservation,
  'settle-reservation': requests.SettleReservation,
  release: requests.ReleaseReservation,
  usage: requests.PostUsage,
  fork: requests.StartFork,
  branch: requests.ReportBranch,
  join: requests.JoinFork,
  capture: RecordCapture,
  leave: requests.LeaveRun,
  carry: requests.CarryRun,
  complete: requests.CompleteRun,
  fail: requests.FailRun,
}

const PAGE_ITEMS = 500
const REFUSED_STATUS = 409
/** The ledger is unable to answer now; the request itself is not at fault. */
const OUT_OF_ORDER: ReadonlySet<string> = new Set([
  'store-unavailable',
  'store-full',
  'store-went-back',
  'contended',
  'overloaded',
  'stream-damaged',
  'log-stopped',
])

export interface LedgerConnectionOptions {
  readonly ledger: Ledger
  readonly caller: Caller
  readonly place: string
  readonly owner?: string
  readonly close: () => Promise<void>
}

export function ledgerConnection(options: LedgerConnectionOptions): Connection {
  const { ledger, caller, place, owner, close } = options
  return {
    place,
    execute: async (runId, unowned, { idempotencyKey, traceparent = traceparentHere() } = {}) => {
      const command = ownedBy(owner, unowned)
      const fault = faultOf(command)
      if (fault !== undefined) return { ok: false, problem: fault }
      const body = command.body as JsonObject
      const idempotency = { key: idempotencyKey ?? '', method: 'AGENT', path: pathOf(command), body }
      const keyed = idempotencyKey === undefined ? {} : { idempotency }
      const traced = traceparent === undefined ? {} : { traceparent }
      return replyOf(await ledger.execute(caller, runId, command, { ...keyed, ...traced }))
    },
    batch: async (runId, unowned) => {
      const all = unowned.map(({ command, traceparent }) => tracedItem(runId, ownedBy(owner, command), traceparent))
      const faults = all.map(({ command }) => faultOf(command))
      const items = all.filter((_, i) => faults[i] === undefined)
      const outcomes = [...(await ledger.executeBatch(caller, items, {}))]
      return faults.map((problem) => (problem === undefined ? replyOf(outcomes.shift()) : { ok: false, problem }))
    },
    run: async (runId) => unwrap(await ledger.run(caller, runId)),
    context: async (runId) => unwrap(await ledger.context(caller, runId, {})),
    calls: (runId) => allCalls(ledger, caller, runId),
    compensations: async (runId) => unwrap(await ledger.compensations(caller, runId)).items as readonly JsonObject[],
    approvals: () => pendingApprovals(ledger, caller),
    approval: async (runId, approvalId) => unwrap(await ledger.approval(caller, runId, approvalId)),
    value: async (runId, digest) => parseJson(unwrap(await ledger.value(caller, runId, digest))) as Json,
    budget: async (runId) => {
      const { next, ...document } = unwrap(await ledger.budget(caller, runId))
      return { ...document, ...(next !== undefined && { moreReservations: true }) }
    },
    events: async function* (runId, type) {
      // The chain is checked over all events, even if only one type is requested.
      for await (const event of linkedEvents(runId, eventsOf(ledger, caller, runId)))
        if (type === undefined || event.type === type) yield event
    },
    runs: (filter) => runsOf(ledger, caller, filter),
    runRows: (filter) => rowsOf(ledger, caller, filter),
    due: async ({ cursor, ...query }, { waitSeconds, signal }) => {
      const wanted = {
        ...query,
        ...(cursor !== undefined && { after: parseJson<NonNullable<DueQuery['after']>>(cursor) }),
      }
      const { items, next } = await ledger.dueRuns(caller, wanted, { waitMs: waitSeconds * 1000, signal })
      return { items, ...(next && { nextCursor: JSON.stringify(next) }) }
    },
    tail: async function* ({ runId, signal = new AbortController().signal }) {
      if (runId !== undefined) unwrap(await ledger.run(caller, runId))
      for await (const page of ledger.tail(caller, { kept: true, ...(runId !== undefined && { runId }) }, signal))
        if (page !== 'caught-up') for (const event of page) yield tailedEvent(event)
    },
    exportRun: async function* (runId) {
      unwrap(await ledger.run(caller, runId))
      yield* exportText(ledger, caller, { format: 'jsonl', query: { run: runId } })
    },
    [Symbol.asyncDispose]: close,
  }
}

/** The path that an idempotency key is bound to, in addition to the body. */
function pathOf(command: Command): string {
  return command.kind === 'signal' ? `signal/${command.name}` : command.kind
}

function faultOf(command: Command): Problem | undefined {
  const schema = BODIES[command.kind]
  const checked = schema.safeParse(command.body)
  if (checked.success) return undefined
  const { detail, ...evidence } = bodyFault(schema, checked.error)
  return { code: evidence.code, detail, evidence: { ...evidence } }
}

function replyOf<Body extends JsonObject>(outcome: Outcome<Body> | undefined): Reply<Body> {
  if (outcome === undefined) throw new TypeError('the ledger answered fewer items than it was sent')
  if (outcome.ok) return { ok: true, created: outcome.created, body: outcome.body }
  const { code, detail, retryAfterMs, evidence } = outcome.refusal
  const recorded = outcome.revision === undefined ? {} : { revision: outcome.revision }
  if (OUT_OF_ORDER.has(code)) throw new UnreachableError(`${code}: ${detail}`)
  const waits = retryAfterMs === undefined ? {} : { retryAfterMs }
  return { ok: false, problem: { code, detail, ...waits, ...recorded, evidence: { ...evidence, code, detail } } }
}

function unwrap<T>(found: Found<T>): T {
  if (found.ok) return found.value
  const { code, detail, evidence } = found.refusal
  throw new LedgerError(REFUSED_STATUS, { ...evidence, code, detail })
}

async function allCalls(ledger: Ledger, caller: Caller, runId: string): Promise<JsonObject[]> {
  const all: JsonObject[] = []
  let after: unknown = -1
  while (typeof after === 'number') {
    const page: JsonObject = unwrap(await ledger.calls(caller, runId, { after, limit: PAGE_ITEMS }))
    all.push(...(page.items as readonly JsonObject[]))
    after = page.next
  }
  return all
}

async function* pendingApprovals(ledger: Ledger, caller: Caller): AsyncGenerator<JsonObject, void> {
  let from: PlaceInRuns | undefined
  const unreadable: UnreadableRun[] = []
  do {
    const page: WaitingPage = unwrap(
      await ledger.pendingApprovals(caller, { limit: PAGE_ITEMS, ...(from !== undefined && { from }) }),
    )
    yield* page.items
    unreadable.push(...(page.unreadable ?? []))
    from = page.next
  } while (from !== undefined)
  if (unreadable.length > 0) throw runsUnreadable(unreadable.map((run) => ({ ...run })))
}

async function* eventsOf(ledger: Ledger, caller: Caller, runId: string): AsyncGenerator<LedgerEvent, void> {
  for await (const page of unwrap(await ledger.runEvents(caller, runId, { from: 0, kept: true }))) yield* page
}

async function* runsOf(
  ledger: Ledger,
  caller: Caller,
  filter: Parameters<Connection['runs']>[0],
): AsyncGenerator<string, void> {
  for await (const row of rowsOf(ledger, caller, filter)) yield String(row.runId)
}

async function* rowsOf(ledger: Ledger, caller: Caller, filter: RunFilter): AsyncGenerator<JsonObject, void> {
  let after: { startedAt: string; runId: string } | undefined
  for (;;) {
    const { items } = await ledger.listRuns(caller, { ...filter, limit: PAGE_ITEMS, ...(after && { after }) })
    yield* items
    const last = items.at(-1)
    if (last === undefined || items.length < PAGE_ITEMS) return
    after = { startedAt: String(last.startedAt), runId: String(last.runId) }
  }
}
