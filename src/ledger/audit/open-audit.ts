/**
 * @module Assembles the audit queries: the index, which follows the store while nothing is appended and on demand, the service, and the recording of
 * reads.
 */
import type { MemoryBudget } from '../../resources/memory-budget.ts'
import type { AuditIndex } from '../../store/audit-index.ts'
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
import type { AuditReads } from './audit-reads.ts'
import { type AnswerMaker, AuditService } from './audit-service.ts'
import { orBuilding } from './index-building.ts'
import { PayloadReads } from './payload-reads.ts'
import { recordedReads } from './recorded-reads.ts'
import { runMoment } from './run-moment.ts'
import { type RunsAsOfDeps, runsAsOf } from './runs-as-of.ts'

export interface OpenAuditDeps {
  readonly store: EventStore
  /** The same store, read at the pace of indexing. */
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
  /** What the log knows of a stream; absent if no log is kept. */
  readonly knownHead?: KnownEnd | undefined
}

export interface OpenAudit extends AsyncDisposable {
  readonly reads: AuditReads
  /** To be called after everything else that appends: see `QuietFollower.finish`. An index that was never requested is not built. */
  finish(signal: AbortSignal): Promise<void>
}

const NO_LOG = { record: async () => undefined }
const NOBODY = { note: () => undefined }

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
  const { list, approvals, waitMs = Number.POSITIVE_INFINITY, remote, indexing = LOCAL } = deps
  // If read-only, there is no writer in this process that would have to wait.
  const projection = new AuditProjection({ store: followed, index, sealer, memory, isAlone: readOnly === true })
  const inLulls = (): boolean => readOnly !== true && (!onlyIfAsked || index.progress() !== undefined)
  const pass = indexPass(projection, indexing)
  const isRemote = (): boolean => indexing.remote !== undefined
  const follower = new QuietFollower(pass, { appendsSoFar, followed: lag, inLulls, isRemote })
  lag.watchBuilding(() => (indexing.remote === undefined ? projection.building : indexing.remote.indexBuilding))
  const building = { waitMs, progress: () => indexing.remote?.indexing ?? projection.progress }
  const catchUp = () => orBuilding(follower.catchUp(), building)
  const log = new AccessLog({ store, sealer, effects, writer: effects.newId(), memory, knownHead: deps.knownHead })
  const payloads = new PayloadReads({ log, effects, warn: (fields, message) => deps.log.warn(fields, message) })
  const service = new AuditService({ store, index, sealer, catchUp, remote })
  const recording = readOnly === true ? { log: NO_LOG, payloads: NOBODY } : { log, payloads }
  const past = {
    runs: runsAsOf({ store, index, list, catchUp }),
    approvals: approvalsAsOf({ index, list, approvals, catchUp }),
    runMoment: runMoment({ index, catchUp }),
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
