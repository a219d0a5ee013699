/** @module Assembles the logs of a ledger: the guard before the first append, then the projection and the signing in turns. */

import { proveConsistency } from '../../merkle/consistency.ts'
import { linkedSignal } from '../../resources/linked-signal.ts'
import { againIfRenewed } from '../../store/derived-file.ts'
import { StoreUnavailableError } from '../../store/event-store.ts'
import type { LogStore } from '../../store/log-store.ts'
import { type Indexing, LOCAL, type LogIndexing } from '../indexing.ts'
import { CheckpointStamps } from './checkpoint-stamps.ts'
import { logCaches } from './log-caches.ts'
import type { LogDeps } from './log-deps.ts'
import { guardStart } from './log-guard.ts'
import { logIndexing, logIndexingAnywhere } from './log-indexing.ts'
import { LogProjection } from './log-projection.ts'
import { logReads } from './log-reads.ts'
import { CHECKPOINT_DELAY_MS, type LogSettings } from './log-settings.ts'
import { StreamHeads } from './stream-heads.ts'
import type { TenantLogs } from './tenant-logs.ts'
import type { StampFailures, StampingState } from './timestamp-authority.ts'
import { type PostedLogs, type WitnessFailures, WitnessPosts } from './witness-posts.ts'

/** Share of the delay after which a turn is due; the rest is left for the pass itself. */
const TURN_SHARE = 0.8
/** Without appends a checkpoint is signed sooner: this long after the last one, in milliseconds. */
const LULL_TURN_MS = 5_000
/** A pass that is not due yet yields when appends resume; interval of that check, in milliseconds. */
const GIVE_WAY_MS = 20
/** Interval at which new appends are checked for, in milliseconds. The logs share this thread with the writers and wait until nothing is appended. */
const LOOK_MS = 1_000
/** Maximum wait for the last checkpoint at the end of the process, in milliseconds. */
const LAST_PASS_MS = 1_500

export interface OpenLogs extends TenantLogs, AsyncDisposable {
  /** When every log was last found covered by its checkpoint, in milliseconds since 1970; undefined before the first time. */
  readonly coveredAtMs: () => number | undefined
  readonly failures: () => {
    readonly witnessFailures: readonly WitnessFailures[]
    readonly stampFailures: readonly StampFailures[]
    readonly stamping?: StampingState
  }
}

/**
 * Runs the guard before the identity of the ledger is opened, since opening may append. The returned function opens the logs under their origin.
 * Throws `LogStartError`. Undefined if no logs are requested.
 */
export async function guardedLogs(
  settings: (LogSettings & { readonly store: LogStore }) | undefined,
  more: Omit<LogDeps, 'logStore'>,
): Promise<((origin: string, indexing?: Indexing) => OpenLogs) | undefined> {
  if (settings === undefined) return undefined
  const deps = { ...more, logStore: settings.store }
  const found = settings.kept?.load()
  const caches = logCaches(deps.memory)
  const { kept, acknowledges = false } = settings
  const guard = { deps, projection: new LogProjection(deps, found?.origin ?? '', caches), kept, acknowledges }
  await againIfRenewed(() => guardStart(guard, found))
  const heads = new StreamHeads({ logStore: deps.logStore, cache: caches.heads })
  return (origin, indexing = LOCAL) => {
    const projection = new LogProjection(deps, origin, caches)
    const own = logIndexing(deps, { projection, heads, kept: settings.kept, origin })
    const logs = logIndexingAnywhere(own, indexing, projection)
    return openTenantLogs(deps, { projection, indexing: logs, isRemote: () => indexing.remote !== undefined }, settings)
  }
}

interface FollowedLogs {
  /** The projection from which queries are answered. */
  readonly projection: LogProjection
  readonly indexing: LogIndexing
  /** Whether another thread brings the logs up to date, so that they need not yield to writers. */
  readonly isRemote: () => boolean
}

/** Starts following the store. Disposing it publishes once more, within a short time limit; the stores stay open. */
function openTenantLogs(
  deps: LogDeps,
  { projection, indexing, isRemote }: FollowedLogs,
  { maxDelayMs = CHECKPOINT_DELAY_MS, witnesses = [], stamps: stampedBy }: LogSettings,
): OpenLogs {
  deps.lag?.watchBuilding(() => indexing.building)
  const posts = new WitnessPosts(witnesses, postedLogs(projection, deps), deps)
  const stamps = stampedBy && new CheckpointStamps(deps, projection, stampedBy)
  let publishing: Promise<void> | undefined
  let coveredAtMs: number | undefined

  const pass = async (signal?: AbortSignal): Promise<void> => {
    const atItsEnd = deps.lag?.passing()
    const begunMs = deps.effects.nowMs()
    await indexing.catchUp(signal)
    if (signal?.aborted === true) return
    atItsEnd?.()
    if ((await indexing.sign(signal)) > 0) await indexing.catchUp(signal)
    if (await stamps?.record(signal)) await indexing.catchUp(signal)
    await indexing.restoreHeads(signal)
    if (deps.logStore.dueLogs().length === 0) coveredAtMs = begunMs
    // All logs, not only those just signed: another process may have signed, and a restart forgets who cosigned.
    if (witnesses.length === 0 && stamps === undefined) return
    for (const tenant of deps.logStore.signedTenants()) for (const each of [posts, stamps]) each?.post(tenant)
  }
  const publish = async (signal?: AbortSignal): Promise<void> => {
    if (publishing !== undefined) await publishing.catch(() => undefined)
    publishing ??= againIfRenewed(() => pass(signal)).finally(() => {
      publishing = undefined
    })
    await publishing
  }
  const stop = new AbortController()
  const filling = fillWhenRenewed(deps, indexing, stop.signal)
  const turns = createTurns(maxDelayMs, deps.appendsSoFar)
  const inTurns = (): void => {
    const turn = turns.next()
    if (turn === undefined || publishing !== undefined) return
    const lull = turn === 'lull' && !isRemote() ? whileNothingIsAppended(deps.appendsSoFar) : undefined
    const signal = lull === undefined ? stop.signal : linkedSignal(lull.signal, stop.signal)
    publish(signal)
      .then(() => signal.aborted || turns.taken())
      .catch((error: unknown) => failed(error, deps, 'the logs could not be brought up to date'))
      .finally(() => lull?.[Symbol.dispose]())
  }
  const timer = maxDelayMs > 0 ? setInterval(inTurns, lookMs(maxDelayMs)).unref() : undefined

  return {
    maxDelayMs,
    ...logReads(deps, { projection, posts, indexing, isBeingMade: filling.isBeingMade }),
    publish: () => publish(),
    coveredAtMs: () => coveredAtMs,
    failures: () => ({ witnessFailures: posts.failures(), ...stampingOf(stamps) }),
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      filling.stop()
      stop.abort()
      posts[Symbol.dispose]()
      stamps?.[Symbol.dispose]()
      await publishing?.catch(() => undefined)
      if (timer === undefined) return
      await publish(AbortSignal.timeout(LAST_PASS_MS)).catch((error: unknown) =>
        deps.log.warn({ err: error }, 'no last checkpoint: what it would cover is covered by the next one'),
      )
    },
  }
}

const stampingOf = (stamps: CheckpointStamps | undefined) =>
  stamps === undefined ? { stampFailures: [] } : { stampFailures: stamps.failures(), stamping: stamps.state() }

/** Fills a rebuilt file at once, so that readers need not wait for the next turn. */
function fillWhenRenewed({ logStore, log }: LogDeps, indexing: LogIndexing, signal: AbortSignal): Filling {
  let [renewed, filled] = [0, 0]
  const fill = async (): Promise<void> => {
    const begun = renewed
    if (!signal.aborted) await indexing.catchUp(signal)
    filled = begun
  }
  const stop = logStore.onRenewed(() => {
    renewed += 1
    setImmediate(() => {
      fill().catch((error: unknown) => failed(error, { log }, 'the logs could not be rebuilt'))
    })
  })
  return { stop, isBeingMade: () => filled < renewed }
}

interface Filling {
  readonly stop: () => void
  readonly isBeingMade: () => boolean
}

/** An unavailable store is reported once, when it becomes unavailable; its logs continue from where they were. */
function failed(error: unknown, { log }: Pick<LogDeps, 'log'>, message: string): void {
  if (!(error instanceof StoreUnavailableError)) log.error({ err: error }, message)
}

function lookMs(maxDelayMs: number): number {
  return Math.min(LOOK_MS, maxDelayMs * TURN_SHARE)
}

interface Turns {
  /** Called at each check: returns `lull` if nothing is appended and some time has passed since the last turn, and `due` in time before the delay is over. */
  readonly next: () => 'lull' | 'due' | undefined
  /** Called when a pass has completed; a pass that yielded does not count as a turn. */
  readonly taken: () => void
}

function createTurns(maxDelayMs: number, appendsSoFar: () => number): Turns {
  const looksIn = (ms: number) => Math.max(1, Math.floor(ms / lookMs(maxDelayMs)))
  const due = looksIn(maxDelayMs * TURN_SHARE)
  const inLull = Math.min(due, looksIn(LULL_TURN_MS))
  let looks = 0
  let seen = -1
  return {
    next: () => {
      const appends = appendsSoFar()
      const quiet = appends === seen
      seen = appends
      looks += 1
      if (looks >= due) return 'due'
      return quiet && looks >= inLull ? 'lull' : undefined
    },
    taken: () => {
      looks = 0
    },
  }
}

/** A signal that is aborted as soon as another append is handed over. */
function whileNothingIsAppended(appendsSoFar: () => number): { readonly signal: AbortSignal } & Disposable {
  const appends = appendsSoFar()
  const over = new AbortController()
  const look = setInterval(() => {
    if (appendsSoFar() !== appends) over.abort()
  }, GIVE_WAY_MS).unref()
  return { signal: over.signal, [Symbol.dispose]: () => clearInterval(look) }
}

/** Notes and proofs of the published trees. */
function postedLogs(projection: LogProjection, { logKeys }: LogDeps): PostedLogs {
  return {
    successions: () => logKeys.successions,
    note: (tenant) => {
      const { note: text, signedSize: size } = projection.tree(tenant)
      return text === undefined ? undefined : { text, size }
    },
    proof: (tenant, from, to) => (from > to ? undefined : proveConsistency(from, to, projection.tree(tenant).read)),
  }
}
