/** @module Assembles the ledger: the identity is opened first, then the write path and the queries on one shared cache of runs. */
import { runStream } from '../../schemas/names.ts'
import { MemoryBudget } from '../resources/memory-budget.ts'
import type { Fault } from '../signing/check.ts'
import type { EventStore, ReadRecord } from '../store/event-store.ts'
import type { LogStore } from '../store/log-store.ts'
import { pacedPages, pacedStore } from '../store/paced-pages.ts'
import { openAudit } from './audit/open-audit.ts'
import { signsReviews } from './audit/sign-review.ts'
import { realEffects, silentLog } from './effects.ts'
import { Followed } from './followed.ts'
import { appendFact } from './identity/append-fact.ts'
import { type DiscloseDeps, discloseRunKeys } from './identity/disclose-keys.ts'
import { LedgerFacts } from './identity/ledger-facts.ts'
import { type LedgerIdentityDeps, openLedgerIdentity, refuseForeignKeys } from './identity/ledger-identity.ts'
import { LogKeys } from './identity/log-keys.ts'
import { Sealer } from './identity/sealer.ts'
import { type ServiceDeps, serviceRecord } from './identity/service-record.ts'
import type { OnMissing } from './integrity/event-reading.ts'
import { type KnownLosses, knownLosses, lossesOfRun } from './integrity/known-losses.ts'
import { lostEvents } from './integrity/lost-events.ts'
import { openIntegrity } from './integrity/open-integrity.ts'
import type { Ledger } from './ledger.ts'
import type { LedgerOptions } from './ledger-options.ts'
import type { LedgerFollower, LedgerStats } from './ledger-stats.ts'
import { type LogFact, LogStartError } from './log/log-deps.ts'
import { headKnownBy } from './log/log-losses.ts'
import { missingFault } from './log/log-stops.ts'
import { guardedLogs, type OpenLogs } from './log/open-tenant-logs.ts'
import { ApprovalReads } from './read/approval-reads.ts'
import { checkEvent } from './read/check-event.ts'
import { dueRunsOf } from './read/due-runs.ts'
import { EqualCalls } from './read/equal-calls.ts'
import { eventsAsStored } from './read/events-as-stored.ts'
import { Exports } from './read/exports.ts'
import { History, type HistoryQueries } from './read/history.ts'
import { noticesOf } from './read/notices.ts'
import { allOpenCalls, type OpenCallsDeps, openCallsOf } from './read/open-calls.ts'
import type { Queries, RunQueries } from './read/queries.ts'
import { reportFaults } from './read/record-seal.ts'
import { replayRecords } from './read/replay.ts'
import { RunList } from './read/run-list.ts'
import { RingSealedPlaces } from './read/sealed-places.ts'
import { suspectReads } from './read/suspect-reads.ts'
import { waitReads } from './read/wait-reads.ts'
import { type OwnStats, Stats } from './stats.ts'
import { openSubjects } from './subjects/open-subjects.ts'
import { openTokens } from './tokens/revoked-tokens.ts'
import { watched } from './watched.ts'
import { createCommands } from './write/commands.ts'
import { writeSide } from './write/write-side.ts'

/** Tenant name under which the work queue accounts for indexing; no tenant has this name. */
const INDEXING = ''
/** Maximum time that the views get at process end to catch up with the end of the store, in milliseconds. */
const LAST_PASS_MS = 500

/**
 * Opens a ledger on a store. Throws `IdentityError` if the keys do not belong to the store, and `LogStartError` if the store is behind a checkpoint
 * that was signed. Disposing the ledger waits for pending appends; the store and the views stay open and must be closed by the caller that opened
 * them.
 */
export async function createLedger(options: LedgerOptions): Promise<Ledger> {
  const { store, views, keys, readOnly, work, effects = realEffects(), log = silentLog } = options
  const memory = options.memory ?? new MemoryBudget()
  const [sealer, logKeys] = [new Sealer(keys, memory), new LogKeys(keys)]
  const knownHead = options.logs && knownHeadBy(options.logs.store)
  const founding: LedgerIdentityDeps = { ...options, sealer, logKeys, effects, log, knownHead }
  const stats = new Stats()
  const followed = followedBy(options)
  const lag = lagOf(stats)
  const appendsSoFar = () => stats.appendsBegun
  const append = (fact: LogFact) => appendFact({ store, sealer, effects }, fact)
  const common = { sealer, effects, append, appendsSoFar, memory, knownHead, starting: options.starting }
  const openLogs = await logsOf(options, { ...common, lag: lag.logs, store: followed('logs'), logKeys, log }, founding)
  const { ledgerId, origin } = await openLedgerIdentity(founding)
  const indexing = options.indexing?.({ append, onFault: (fault) => sealer.faultFound(fault) })
  const logs = openLogs?.(origin, indexing)

  const { ofLog, logTenants, ...known } = { ...knownOf(logs, options), knownHead }
  const side = writeSide({ ...options, store, views, sealer, effects, stats, memory, ledgerId, ...known })
  const { runs, reader, queries, write } = side
  const listing = { appendsSoFar, readOnly, followed: lag.runs, nowMs: effects.nowMs, indexing, lossesOf: ofLog }
  const list = new RunList(followed('runs'), views, listing)
  const facts = new LedgerFacts({ store, sealer, effects, knownHead })
  const integrity = openIntegrity({ ...options, effects, log, list, sealer, facts, ofLog, store: followed('scrub') })
  const approvals = new ApprovalReads({ queries, reader, list, effects })
  const following = { list, approvals, followed: followed('audit'), lag: lag.audit, indexing, logs }
  const audit = options.audit && openAudit({ store, ...common, ...following, ...options.audit, readOnly, log })
  const losses = knownLosses({ ofLog, ...integrity, status: () => store.status() })
  const exports = new Exports({ store, logs, logKeys, effects, facts, losses, onMissing: missingOnRecord(sealer) })
  const erasing = await openSubjects({ ...subjectsOf(options), ...side, ...known, sealer, facts, effects, log, list })
  const history = new History(store, queries, { ...side, sealer })
  const [finish, stopWatching] = [finishOnce([list, audit]), watched(founding, { stats, runs, indexing })]

  return {
    ...{ ledgerId, origin, ...(logs && { logs }) },
    ...(audit && { audit: audit.reads, signReview: signsReviews({ audit: audit.reads, facts, effects }) }),
    ...createCommands({ write, queries, newId: effects.newId, list }),
    ...queriesOf(queries),
    run: (caller, runId, at) => integrity.marked(caller, runId, queries.run(caller, runId, at)),
    ...waitingOf(approvals, { queries, reader, effects, list }),
    ...outwardOf(exports, { ...effects, facts, write, store, sealer, ledgerId, work }),
    checkEvent: (caller, runId, revision) => checkEvent({ store, sealer, queries }, caller, { runId, revision }),
    replay: (...asked) => replay({ store, sealer, queries, losses }, ...asked),
    ...readsOf(history, { list, queries, reader, equal: equalCallsIn(store, { list, queries, reader }) }),
    ...{ losses, ...erasing.operations },
    lostEvents: lostEvents({ ...common, logs, logTenants, losses, integrity, facts, store, log }),
    tokens: openTokens({ ...known, store, sealer, facts, effects }),
    integrity: { ...integrity.integrity, eventsAsStored: eventsAsStored({ store, sealer }) },
    status: () => store.status(),
    stats: () =>
      stats.snapshot({ cachedRuns: runs.size, integrity: integrity.stats(), ...lagStats({ lag, list, logs }) }),
    drain: () => runs.drained(),
    [Symbol.asyncDispose]: async () => {
      stopWatching()
      await Promise.all([erasing[Symbol.asyncDispose](), integrity[Symbol.asyncDispose]()])
      list[Symbol.dispose]()
      await audit?.[Symbol.asyncDispose]()
      await runs.drained()
      await logs?.[Symbol.asyncDispose]()
      // Last, because the log's checkpoint and the records of reads are events too.
      if (readOnly !== true) await finish()
    },
  }
}

/** Where losses are acknowledged, erasures wait for the next start of a server (LIFE-14). */
const subjectsOf = (options: LedgerOptions) => ({
  ...options,
  readOnly: options.readOnly === true || options.logs?.acknowledges === true,
})

/** Records a missing event in the audit trail in the same way as an event that does not verify. */
const missingOnRecord =
  (sealer: Sealer): OnMissing =>
  (place) =>
    sealer.faultFound(missingFault(place))

/** Renews the other files that follow the store: they followed it without the events that were put back. */
const renewing =
  ({ views, audit }: LedgerOptions) =>
  (reason: string): void => {
    for (const file of [views, audit?.index]) file?.renew(reason)
  }

/** What the file of the logs knows of a stream. */
const knownHeadBy = (logs: Pick<LogStore, 'stream'>) => (stream: string) => headKnownBy(logs.stream(stream))

/** The losses that the logs know, if the ledger keeps logs. */
const knownOf = (logs: OpenLogs | undefined, options: LedgerOptions) => ({
  logTenants: () => options.logs?.store.logs().map((row) => row.tenant) ?? [],
  ofLog: (tenant: string) => logs?.losses(tenant) ?? options.knownLost?.(tenant) ?? [],
  stoppedLog: logs && ((tenant: string) => logs.openLosses(tenant)[0]),
  acknowledged: logs && (async (tenant: string) => (await logs.acknowledged(tenant)).places),
})

async function logsOf(
  options: LedgerOptions,
  deps: Parameters<typeof guardedLogs>[1],
  founding: LedgerIdentityDeps,
): ReturnType<typeof guardedLogs> {
  try {
    return await guardedLogs(options.logs, { ...deps, onPutBack: renewing(options) })
  } catch (error) {
    // If another ledger's keys do not verify a checkpoint, the checkpoint is not damaged: the keys are wrong.
    if (error instanceof LogStartError && error.code === 'kept-checkpoints-damaged') await refuseForeignKeys(founding)
    throw error
  }
}

type Finishing = { finish(signal: AbortSignal): Promise<void> }

/** Runs only once, because a caller that disposes the ledger a second time may already have closed its files. */
function finishOnce(followers: readonly (Finishing | undefined)[]): () => Promise<unknown> {
  let finished: Promise<unknown> | undefined
  return () => {
    const signal = AbortSignal.timeout(LAST_PASS_MS)
    finished ??= Promise.all(followers.map((each) => each?.finish(signal)))
    return finished
  }
}

const FOLLOWERS = ['runs', 'audit', 'logs'] as const satisfies readonly LedgerFollower[]

function lagOf(stats: Stats): Record<LedgerFollower, Followed> {
  const eventsSoFar = () => stats.appendedEvents
  return { runs: new Followed(eventsSoFar), audit: new Followed(eventsSoFar), logs: new Followed(eventsSoFar) }
}

function lagsOf(lag: Record<LedgerFollower, Followed>): Pick<LedgerStats, 'lagEvents' | 'building'> {
  return {
    lagEvents: FOLLOWERS.flatMap((name) => {
      const { lagEvents: events } = lag[name]
      return events === undefined ? [] : [{ name, events }]
    }),
    building: FOLLOWERS.flatMap((name) => {
      const { building } = lag[name]
      return building === undefined ? [] : [{ name, ...building }]
    }),
  }
}

/** The statistics of the followers; values that are not known yet are absent. */
function lagStats({ lag, list, logs }: Followers): FollowerStats {
  const [coveredAtMs, unsettled] = [logs?.coveredAtMs(), list.unsettled()]
  return {
    ...lagsOf(lag),
    ...(logs?.failures() ?? { witnessFailures: [], stampFailures: [] }),
    ...(coveredAtMs !== undefined && { coveredAtMs }),
    ...(logs && { checkpointDelayMs: logs.maxDelayMs }),
    stoppedLogs: logs?.stops() ?? [],
    ...holesIn(logs?.holed() ?? []),
    ...(unsettled !== undefined && { unsettled }),
  }
}

function holesIn(holed: ReturnType<OpenLogs['holed']>): Pick<LedgerStats, 'holedLogs' | 'acknowledgedLosses'> {
  const acknowledgedLosses = holed.reduce((sum, { losses }) => sum + losses, 0)
  return { holedLogs: holed.map(({ tenant }) => tenant), acknowledgedLosses }
}

interface Followers {
  readonly lag: Record<LedgerFollower, Followed>
  readonly list: RunList
  readonly logs: OpenLogs | undefined
}

type FollowerStats = Omit<LedgerStats, OwnStats | 'cachedRuns' | 'integrity'>

/** The store as indexing reads it: paced by the work queue. */
function followedBy({ store, work }: LedgerOptions): (who: string) => EventStore {
  return (who) => pacedStore(store, work?.begin({ tenant: INDEXING, caller: who }))
}

/** Compares open calls with the ledger's own access, independent of the scopes of the caller's token. */
function equalCallsIn(store: EventStore, deps: Omit<OpenCallsDeps, 'equal'>): EqualCalls {
  return new EqualCalls(store, (tenant) => allOpenCalls(deps, { tenant, actor: 'ledger' }))
}

function readsOf(
  history: History,
  deps: OpenCallsDeps,
): HistoryQueries & Pick<Ledger, 'listRuns' | 'openCalls' | 'dueRuns'> {
  return {
    ...historyOf(history),
    listRuns: (caller, filter) => deps.list.list(caller, filter),
    dueRuns: (caller, query, wait) => dueRunsOf({ list: deps.list, history }, { caller, query }, wait),
    openCalls: (caller, page) => openCallsOf(deps, caller, page),
  }
}

function queriesOf(queries: RunQueries): RunQueries {
  return {
    run: (caller, runId, at) => queries.run(caller, runId, at),
    context: (caller, runId, at) => queries.context(caller, runId, at),
    envelopes: (caller, runId, page) => queries.envelopes(caller, runId, page),
    calls: (caller, runId, page) => queries.calls(caller, runId, page),
    call: (caller, runId, callId) => queries.call(caller, runId, callId),
    budget: (caller, runId, page) => queries.budget(caller, runId, page),
    value: (caller, runId, digest) => queries.value(caller, runId, digest),
    findings: (caller, runId, page) => queries.findings(caller, runId, page),
    manifests: (caller, runId) => queries.manifests(caller, runId),
    compensations: (caller, runId) => queries.compensations(caller, runId),
    forks: (caller, runId, page) => queries.forks(caller, runId, page),
  }
}

/** Queries for what runs wait for: decisions, signals and times. */
function waitingOf(
  reads: ApprovalReads,
  deps: Parameters<typeof waitReads>[0] & Parameters<typeof suspectReads>[0],
): Pick<Ledger, 'approvals' | 'approval' | 'pendingApprovals' | 'suspects' | 'openSuspects' | 'waits' | 'wait'> {
  return {
    approvals: (caller, runId, page) => reads.approvals(caller, runId, page),
    approval: (caller, runId, approvalId, at) => reads.approval(caller, runId, approvalId, at),
    pendingApprovals: (caller, page) => reads.pendingApprovals(caller, page),
    ...suspectReads(deps),
    ...waitReads(deps),
  }
}

function historyOf(history: History): HistoryQueries {
  return {
    runEvents: (caller, runId, range) => history.runEvents(caller, runId, range),
    tenantEvents: (caller, range) => history.tenantEvents(caller, range),
    tail: (caller, from, signal) => history.tail(caller, from, signal),
    eventAt: (caller, position) => history.eventAt(caller, position),
    end: () => history.end(),
    comparePositions: (a, b) => history.comparePositions(a, b),
  }
}

/** Operations whose results leave the ledger, and positions in the form in which callers see them. */
function outwardOf(
  exports: Exports,
  deps: DiscloseDeps & ServiceDeps & { readonly work: LedgerOptions['work'] | undefined },
): Pick<Ledger, 'exports' | 'service' | 'lastEventId' | 'places' | 'notices' | 'discloseRunKeys'> {
  const { sealer } = deps
  return {
    ...{ exports, service: serviceRecord(deps) },
    lastEventId: (caller, until) => exports.lastEventId(caller, until),
    places: new RingSealedPlaces(sealer),
    notices: noticesOf({ ...deps, indexing: INDEXING }),
    discloseRunKeys: (caller, runId) => discloseRunKeys(deps, caller, runId),
  }
}

async function replay(
  deps: {
    readonly store: EventStore
    readonly sealer: Sealer
    readonly queries: Queries
    readonly losses: KnownLosses
  },
  ...[caller, runId, at]: Parameters<Ledger['replay']>
): ReturnType<Ledger['replay']> {
  const { store, sealer, queries } = deps
  const found = await queries.read(caller, runId, () => ({}), at)
  if (!found.ok) return found
  const stream = runStream(caller.tenant, runId)
  const pages = pacedPages(store.readStream(stream, { to: found.revision }), caller.pace)
  const { ring, runKeys } = sealer
  const onFault = (record: ReadRecord, faults: readonly Fault[]) => reportFaults(sealer, record, faults)
  const known = deps.losses({ tenant: caller.tenant, run: runId })
  const losses = lossesOfRun(known, stream, at?.revision)
  const value = { losses, lines: replayRecords(pages, stream, { ring, runKeys, onFault, losses }) }
  return { ok: true, revision: found.revision, value }
}
