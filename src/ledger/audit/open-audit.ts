/**
 * @module Assembles the audit queries: the index, which follows the store while nothing is appended and on demand, the service, and the recording of
 * reads.
 */
import type { AccessRead } from '../../access/audit-trail.ts'
import type { Caller } from '../../access/caller.ts'
import { ofWholeTenant } from '../../access/check-access.ts'
import type { MemoryBudget } from '../../resources/memory-budget.ts'
import type { AuditIndex } from '../../store/audit-index.ts'
import { againIfRenewed } from '../../store/derived-file.ts'
import type { EventStore } from '../../store/event-store.ts'
import type { Followed } from '../followed.ts'
import type { Sealer } from '../identity/sealer.ts'
import { type Indexing, LOCAL } from '../indexing.ts'
import type { Effects, Log } from '../ports.ts'
import type { KnownEnd } from '../read/lost-end.ts'
import { QuietFollower } from '../read/quiet-follower.ts'
import { AccessLog } from './access-log.ts'
import { type ApprovalsAsOfDeps, approvalsAsOf } from './approvals-as-of.ts'
import { AuditProjection } from './audit-projection.ts'
import type {
  AsOf,
  AuditQuestion,
  AuditReads,
  AuditRefusal,
  LogMoment,
  RunMoment,
  RunMomentRefusal,
} from './audit-reads.ts'
import { type AnswerMaker, AuditService, type UnrecordedReads } from './audit-service.ts'
import { orBuilding } from './index-building.ts'
import { type LogBesideDeps, logBeside } from './log-beside.ts'
import { PayloadReads } from './payload-reads.ts'
import { beyondLog, wholeTenantOnly } from './question-fault.ts'
import { asOfPin, type ReachDeps, reachSize } from './reach-size.ts'
import { type RunsAsOfDeps, runsAsOf } from './runs-as-of.ts'

export interface OpenAuditDeps {
  readonly store: EventStore
  /** Reads of `store` at the pace of indexing. */
  readonly followed: EventStore
  readonly index: AuditIndex
  readonly list: RunsAsOfDeps['list']
  readonly approvals: ApprovalsAsOfDeps['approvals']
  readonly sealer: Sealer
  readonly effects: Effects
  readonly appendsSoFar: () => number
  readonly lag: Followed
  readonly memory: MemoryBudget
  readonly log: Log
  readonly onlyIfAsked?: boolean
  /** If absent, queries are answered in this thread. */
  readonly remote?: AnswerMaker | undefined
  /** The thread that writes the index; if absent, this one. */
  readonly indexing?: Indexing | undefined
  /** Maximum wait of a query for an index that lags, in milliseconds; then it fails with `IndexBuildingError`. If absent, a query waits without limit. */
  readonly waitMs?: number | undefined
  /** The store belongs to another writer: reads are not recorded. */
  readonly readOnly?: boolean | undefined
  /** Absent if no log is kept. */
  readonly logs?: LogBesideDeps['logs'] | undefined
  /** What the log knows of a stream; absent if no log is kept. */
  readonly knownHead?: KnownEnd | undefined
}

export interface OpenAudit extends AsyncDisposable {
  readonly reads: AuditReads
  /** To be called after everything else that appends: see `QuietFollower.finish`. An index that was never requested is not built. */
  finish(signal: AbortSignal): Promise<void>
}

const NO_LOG = { record: async () => undefined }
const NO_READERS = { note: () => undefined }

/**
 * A pass in the thread that owns the index. If another thread is about to take the index and there is far to go, this thread stops and leaves the
 * rest to that one, since writers and readers would have to wait for it here.
 */
function indexPass(projection: AuditProjection, indexing: Indexing): (goOn: () => boolean) => Promise<void> {
  return async (goOn) => {
    for (;;) {
      let coming: Promise<void> | undefined
      const isToGoOn = (): boolean => {
        if (!goOn()) return false
        if (projection.building !== undefined) coming ??= indexing.coming()
        // Awaited below, unless the pass itself fails.
        coming?.catch(() => undefined)
        return coming === undefined
      }
      await indexing.do(
        () => projection.pass(isToGoOn),
        (it) => it.index(),
      )
      if (coming === undefined) return
      await coming
    }
  }
}

/** Disposing it ends the background passes and waits for reads being recorded; the index stays open and must be closed by the caller that opened it. */
export function openAudit(deps: OpenAuditDeps): OpenAudit {
  const { store, followed, index, sealer, effects, appendsSoFar, lag, onlyIfAsked = false, readOnly, memory } = deps
  const { list, approvals, waitMs = Number.POSITIVE_INFINITY, remote, indexing = LOCAL, logs } = deps
  const beside = logs && logBeside({ store, logs, sealer })
  // If read-only, there is no writer in this process that would have to wait.
  const isAlone = readOnly === true
  const checksSeals = isAlone && logs === undefined
  const projection = new AuditProjection({ store: followed, index, sealer, memory, isAlone, checksSeals })
  const inLulls = (): boolean => readOnly !== true && (!onlyIfAsked || index.progress() !== undefined)
  const pass = indexPass(projection, indexing)
  const isRemote = (): boolean => indexing.remote !== undefined
  const follower = new QuietFollower(pass, { appendsSoFar, followed: lag, inLulls, isRemote })
  lag.watchBuilding(() => (indexing.remote === undefined ? projection.building : indexing.remote.indexBuilding))
  const building = { waitMs, progress: () => indexing.remote?.indexing ?? projection.progress }
  const catchUp = () => orBuilding(follower.catchUp(), building)
  const log = new AccessLog({ store, sealer, effects, writer: effects.newId(), memory, knownHead: deps.knownHead })
  const payloads = new PayloadReads({ log, effects, warn: (fields, message) => deps.log.warn(fields, message) })
  const service = new AuditService({ store, index, sealer, catchUp, log: beside, remote })
  const recording = readOnly === true ? { log: NO_LOG, payloads: NO_READERS } : { log, payloads }
  const past = {
    runs: runsAsOf({ store, index, list, catchUp, log: beside }),
    approvals: approvalsAsOf({ index, list, approvals, catchUp, log: beside }),
    runMoment: runMoment({ index, catchUp, log: beside }),
  }
  return {
    reads: recordedReads(service, { ...recording, ...past }),
    finish: async (signal) => {
      if (index.progress() !== undefined) await follower.finish(signal)
    },
    [Symbol.asyncDispose]: async () => {
      follower[Symbol.dispose]()
      await payloads[Symbol.asyncDispose]()
      await log[Symbol.asyncDispose]()
    },
  }
}

// The audit queries with recording: no query is answered before the read is recorded.

interface RecordedReadsDeps extends Pick<AuditReads, 'runs' | 'approvals' | 'runMoment'> {
  readonly log: Pick<AccessLog, 'record'>
  readonly payloads: Pick<PayloadReads, 'note'>
}

function recordedReads(
  reads: UnrecordedReads,
  { log, payloads, runs, approvals, runMoment }: RecordedReadsDeps,
): AuditReads {
  return {
    runs,
    approvals,
    runMoment,
    asOf: (caller) => reads.asOf(caller),
    matchingRefusal: (caller, filter, range) => reads.matchingRefusal(caller, filter, range),
    matching: (caller, filter, range) => reads.matching(caller, filter, range),
    record: (caller, read) => log.record(caller, read),
    notePayloads: (caller, run) => payloads.note(caller, run),
    plan: (caller, question, page) => reads.plan(caller, question, page),
    page: (caller, planned) => reads.page(caller, planned),
    recordPage: (caller, { question, asOf }, rows) => log.record(caller, readOf(question, asOf, rows)),
    ask: async (caller, question, page) => {
      const answer = await reads.ask(caller, question, page)
      if (answer.ok) await log.record(caller, readOf(question, answer.asOf, answer.count))
      return answer
    },
    event: async (caller, eventId) => {
      const event = await reads.event(caller, eventId)
      if (event !== undefined) await log.record(caller, { query: 'audit/event', filters: { event: eventId }, count: 1 })
      return event
    },
  }
}

function readOf({ name, filter, by, seed }: AuditQuestion, asOf: AsOf, count: number): AccessRead {
  const { run } = filter
  const inputs = { ...filter, by, seed }
  const filters = Object.entries(inputs).flatMap(([key, value]) => (value === undefined ? [] : [[key, String(value)]]))
  return {
    query: `audit/${name}`,
    ...(run !== undefined && { run }),
    ...(filters.length > 0 && { filters: Object.fromEntries(filters) }),
    asOf: { treeSize: asOf.treeSize, ...(asOf.eventId !== null && { eventId: asOf.eventId }) },
    count,
  }
}

// Points in the past of a tenant's log: its size at a time, and the last event of a run at that point.

interface RunMomentDeps extends ReachDeps {
  readonly index: Pick<AuditIndex, 'rows' | 'row' | 'pin' | 'size'>
}

/** The state of a log at a point in its past never changes, so the result may be passed on as a size. */
function runMoment(deps: RunMomentDeps): AuditReads['runMoment'] {
  return async (caller, runId, at) => {
    if (ofWholeTenant(caller) !== undefined) return wholeTenantOnly(caller)
    return againIfRenewed(async () => {
      await reachSize(deps, caller.tenant, 'treeSize' in at ? at.treeSize : undefined)
      const moment = momentOf(deps, caller, at)
      return moment.ok ? ofRun(deps, caller, { runId, moment }) : moment
    })
  }
}

function momentOf(
  { index }: RunMomentDeps,
  { tenant }: Caller,
  at: Parameters<AuditReads['runMoment']>[2],
): LogMoment | AuditRefusal {
  const size = 'treeSize' in at ? at.treeSize : sizeAt(index, tenant, at.time)
  if (size === 0) return invalid('the log had no event then: ask as of a later time')
  const pin = index.pin(tenant, size)
  if (pin === undefined) return beyondLog(index.size(tenant))
  return { ok: true, asOf: asOfPin(pin), time: timeAt(index, tenant, size - 1) }
}

/**
 * Number of events up to the last one written at or before that time. Times increase along a log; if a clock was set back, the result is one of the
 * places where that time was passed.
 */
function sizeAt(index: RunMomentDeps['index'], tenant: string, time: string): number {
  let [low, high] = [0, index.size(tenant)]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (timeAt(index, tenant, middle) <= time) low = middle + 1
    else high = middle
  }
  return low
}

const timeAt = (index: RunMomentDeps['index'], tenant: string, leaf: number): string =>
  index.row(tenant, leaf)?.time ?? ''

function ofRun(
  { index }: RunMomentDeps,
  { tenant }: Caller,
  { runId, moment }: { readonly runId: string; readonly moment: LogMoment },
): RunMoment | RunMomentRefusal {
  const edge = (size: number, newestFirst: boolean) =>
    index.rows({ tenant, size }, { run: runId }, { after: undefined, limit: 1, newestFirst })[0]
  const { treeSize } = moment.asOf
  const last = edge(treeSize, true)
  if (last !== undefined) return { ...moment, revision: last.revision }
  const first = edge(index.size(tenant), false)
  if (first === undefined) return { ok: false, code: 'run-not-found', detail: `there is no run ${runId}` }
  const begun = `it began with event ${first.leaf + 1} of the log, at ${first.time}`
  return invalid(`the run had not begun when the log had ${treeSize} events: ${begun}`)
}

const invalid = (detail: string): AuditRefusal => ({ ok: false, code: 'invalid-query', detail })
