/** @module The logs of a ledger, put together: the guard before the first append, then the projection and the signing in turns. */

import type { LogStore } from '../../store/log-store.ts'
import { CheckpointSigner } from './checkpoint-signer.ts'
import type { LogDeps } from './log-deps.ts'
import { guardStart } from './log-guard.ts'
import { LogProjection } from './log-projection.ts'
import { LogReads } from './log-reads.ts'
import { CHECKPOINT_DELAY_MS, type LogSettings } from './log-settings.ts'
import type { TenantLogs } from './tenant-logs.ts'

/** The rest of the delay is for the pass itself. */
const TURN_SHARE = 0.8
/** Between loads a checkpoint comes sooner: after this share of the delay. */
const QUIET_TURN_SHARE = 0.15
/** How often is looked whether appends come. The logs share this thread with whoever appends, and wait for a lull. */
const LOOK_MS = 1_000
/** Longest wait for the last checkpoint at the end of the process. */
const LAST_PASS_MS = 1_500

export type OpenLogs = TenantLogs & AsyncDisposable

/**
 * Looks back before the ledger's identity is opened, since that may append; what comes back opens the logs under their origin.
 * Throws `LogStartError`. Undefined where no logs are asked for.
 */
export async function guardedLogs(
  settings: (LogSettings & { readonly store: LogStore }) | undefined,
  more: Omit<LogDeps, 'logStore'>,
): Promise<((origin: string) => OpenLogs) | undefined> {
  if (settings === undefined) return undefined
  const deps = { ...more, logStore: settings.store }
  const found = settings.kept?.load()
  await guardStart({ deps, projection: new LogProjection(deps, found?.origin ?? ''), kept: settings.kept }, found)
  return (origin) => openTenantLogs(deps, origin, settings)
}

/** Starts following the store. Disposing it publishes once more, as far as a short wait allows; the stores stay open. */
function openTenantLogs(
  deps: LogDeps,
  origin: string,
  { maxDelayMs = CHECKPOINT_DELAY_MS, kept }: LogSettings,
): OpenLogs {
  const projection = new LogProjection(deps, origin)
  const signer = new CheckpointSigner(deps, projection)
  const reads = new LogReads(deps, projection)
  let publishing: Promise<void> | undefined

  const pass = async (signal?: AbortSignal): Promise<void> => {
    await projection.catchUp(signal)
    if (signal?.aborted === true) return
    const signed = await signer.signDue()
    if (signed.length === 0) return
    kept?.save(origin, new Map(signed.map(({ tenant, note }) => [tenant, note])))
    await projection.catchUp(signal)
  }
  const publish = async (signal?: AbortSignal): Promise<void> => {
    if (publishing !== undefined) await publishing.catch(() => undefined)
    publishing ??= pass(signal).finally(() => {
      publishing = undefined
    })
    await publishing
  }
  const stop = new AbortController()
  const isTurn = turns(maxDelayMs, deps.appendsSoFar)
  const inTurns = (): void => {
    if (!isTurn() || publishing !== undefined) return
    publish(stop.signal).catch((error: unknown) =>
      deps.log.error({ err: error }, 'the logs could not be brought up to date'),
    )
  }
  const timer = maxDelayMs > 0 ? setInterval(inTurns, lookMs(maxDelayMs)).unref() : undefined

  return {
    maxDelayMs,
    verifierKey: (tenant) => reads.verifierKey(tenant),
    state: (tenant) => reads.state(tenant),
    checkpoint: (tenant) => reads.checkpoint(tenant),
    tile: (tenant, tile) => reads.tile(tenant, tile),
    entries: (tenant, tile) => reads.entries(tenant, tile),
    inclusion: (tenant, leaf, size) => reads.inclusion(tenant, leaf, size),
    consistency: (tenant, from, to) => reads.consistency(tenant, from, to),
    proofFile: (tenant, eventId) => reads.proofFile(tenant, eventId),
    publish: () => publish(),
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      stop.abort()
      await publishing?.catch(() => undefined)
      if (timer === undefined) return
      await publish(AbortSignal.timeout(LAST_PASS_MS)).catch((error: unknown) =>
        deps.log.warn({ err: error }, 'no last checkpoint: what it would cover is covered by the next one'),
      )
    },
  }
}

function lookMs(maxDelayMs: number): number {
  return Math.min(LOOK_MS, maxDelayMs * TURN_SHARE)
}

/** Whether a look is one to publish at: the first in a lull once a share of the delay has passed, or the last before it is over. */
function turns(maxDelayMs: number, appendsSoFar: () => number): () => boolean {
  const atLatest = Math.max(1, Math.floor((maxDelayMs * TURN_SHARE) / lookMs(maxDelayMs)))
  const inLull = Math.max(1, Math.floor((maxDelayMs * QUIET_TURN_SHARE) / lookMs(maxDelayMs)))
  let looks = 0
  let seen = -1
  return () => {
    const appends = appendsSoFar()
    const quiet = appends === seen
    seen = appends
    looks += 1
    if (looks < (quiet ? inLull : atLatest)) return false
    looks = 0
    return true
  }
}
