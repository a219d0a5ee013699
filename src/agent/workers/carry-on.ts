/** @module Carries one recorded run on, and leaves it if it waits or if the code cannot carry it on (RUN-223 to RUN-226). */
import type { StartAnswer } from '../../../schemas/answers/runs.ts'
import type { LeaveRun, StartRun } from '../../../schemas/requests.ts'
import { LedgerError, UnreachableError } from '../../client/errors.ts'
import { AgentError, LedgerRefused, RunWaiting } from '../errors.ts'
import { type Body, type Home, liveRun } from '../runtime/live-run.ts'
import type { RunOutcome } from '../saga/outcome.ts'

export interface Carrying {
  readonly runId: string
  readonly name: string
  readonly body: Body<never, unknown>
  readonly worker: NonNullable<StartRun['worker']>
  /** The run is this worker's. */
  readonly onStarted: () => void
  /** How long the run is left alone if the code cannot carry it on, in milliseconds. */
  readonly retryAfterMs: number
}

/**
 * `ended`: completed or rolled back. `left`: it waits, or it now belongs to another owner. `refused`: it could not be taken. `stuck`: the code cannot carry it
 * on, and the run says so.
 */
export interface Carried {
  readonly kind: 'ended' | 'left' | 'refused' | 'stuck'
  readonly error?: unknown
}

/** Never throws. */
export async function carryOn(home: Home, carrying: Carrying): Promise<Carried> {
  const { runId, name, body, worker, onStarted } = carrying
  let started: StartAnswer | undefined
  let halted: Error | undefined
  let outcome: RunOutcome | undefined
  try {
    await liveRun(
      home,
      {
        options: { id: runId, name, whenWaiting: 'leave' },
        worker,
        onStarted: (answer) => {
          started = answer
          onStarted()
        },
        onFailed: (failed, why) => {
          outcome = failed
          halted = why
        },
      },
      body,
    )
    return { kind: 'ended' }
  } catch (error) {
    if (started === undefined) return notTaken(error)
    if (started.status !== 'open' || (outcome !== undefined && outcome.status !== 'OPEN')) return { kind: 'ended' }
    return leave(home, { ...carrying, fence: started.fence }, halted ?? error)
  }
}

/** Another worker was faster, or the run has ended. */
const TAKEN: ReadonlySet<string> = new Set(['run-taken-over', 'run-owned', 'run-ended', 'stale-fence'])

function notTaken(error: unknown): Carried {
  return error instanceof LedgerRefused && TAKEN.has(error.code) ? { kind: 'left' } : { kind: 'refused', error }
}

async function leave(
  { connection }: Home,
  { runId, fence, retryAfterMs }: Carrying & { readonly fence: number },
  error: unknown,
): Promise<Carried> {
  if (error instanceof LedgerRefused && TAKEN.has(error.code)) return { kind: 'left' }
  // The ledger is unable: the run is due again once its hold is over.
  if (error instanceof UnreachableError || error instanceof LedgerError) return { kind: 'left' }
  if (isRolledBack(error)) return { kind: 'ended' }
  const isWaiting = error instanceof RunWaiting
  const body: LeaveRun = isWaiting
    ? { because: 'waiting', runFence: fence }
    : { because: 'stuck', error: faultOf(error), retryAfterMs, runFence: fence }
  try {
    await connection.execute(runId, { kind: 'leave', body })
  } catch {
    // As above: the hold ends by itself.
  }
  return isWaiting ? { kind: 'left' } : { kind: 'stuck', error }
}

/** An earlier rollback was finished. */
function isRolledBack(error: unknown): boolean {
  return error instanceof AgentError && (error.code === 'run-rolled-back' || error.code === 'run-failed')
}

const CODE_MAX_CHARS = 128
const MESSAGE_MAX_CHARS = 2_000

function faultOf(error: unknown): { code: string; message: string } {
  const code = error instanceof AgentError || error instanceof LedgerRefused ? error.code : 'run-not-loaded'
  const message = error instanceof Error ? error.message : String(error)
  return { code: code.slice(0, CODE_MAX_CHARS), message: message.slice(0, MESSAGE_MAX_CHARS).toWellFormed() }
}
