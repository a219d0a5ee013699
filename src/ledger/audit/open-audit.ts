/** @module The auditors' queries, put together: the index that follows the store while nothing is appended and when it is asked, the service, the record. */
import type { MemoryBudget } from '../../resources/memory-budget.ts'
import type { AuditIndex } from '../../store/audit-index.ts'
import type { EventStore } from '../../store/event-store.ts'
import type { Followed } from '../followed.ts'
import type { Sealer } from '../identity/sealer.ts'
import { type Indexing, LOCAL } from '../indexing.ts'
import type { Effects, Log } from '../ports.ts'
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
  /** Absent: questions are answered in this thread. */
  readonly remote?: AnswerMaker | undefined
  /** Who writes the index; this thread where it is absent. */
  readonly indexing?: Indexing | undefined
  /** How long a question waits for an index that lags; then `IndexBuildingError`. Absent: until it is there. */
  readonly waitMs?: number | undefined
  /** The store is another's to write: who asks is put on no record. */
  readonly readOnly?: boolean | undefined
}

export interface OpenAudit extends AsyncDisposable {
  readonly reads: AuditReads
  /** After everything else that appends: see `QuietFollower.finish`. An index that nobody ever requested stays unmade. */
  finish(signal: AbortSignal): Promise<void>
}

const NO_LOG = { record: async () => undefined }
const NOBODY = { note: () => undefined }

/**
 * A pass in the thread that has the index. Where another one is about to take it, and the way is long, this one begins and leaves the rest to that one: who
 * writes and who asks would wait for it here.
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

/** Disposing it ends the following while nothing is appended and waits for what is being recorded; the index stays open: who opened it closes it. */
export function openAudit(deps: OpenAuditDeps): OpenAudit {
  const { store, followed, index, sealer, effects, appendsSoFar, lag, onlyIfAsked = false, readOnly, memory } = deps
  const { list, approvals, waitMs = Number.POSITIVE_INFINITY, remote, indexing = LOCAL } = deps
  // Nobody writes who would wait for it.
  const projection = new AuditProjection({ store: followed, index, sealer, memory, isAlone: readOnly === true })
  const inLulls = (): boolean => readOnly !== true && (!onlyIfAsked || index.progress() !== undefined)
  const pass = indexPass(projection, indexing)
  const isRemote = (): boolean => indexing.remote !== undefined
  const follower = new QuietFollower(pass, { appendsSoFar, followed: lag, inLulls, isRemote })
  lag.watchBuilding(() => (indexing.remote === undefined ? projection.building : indexing.remote.indexBuilding))
  const building = { waitMs, progress: () => indexing.remote?.indexing ?? projection.progress }
  const catchUp = () => orBuilding(follower.catchUp(), building)
  const log = new AccessLog({ store, sealer, effects, writer: effects.newId(), memory })
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
