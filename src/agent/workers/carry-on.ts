/** @module Carries one recorded run on, and leaves it if it waits or if the code cannot carry it on (RUN-223 to RUN-226). */
import type { StartAnswer } from '../../../schemas/answers/runs.ts'
import type { LeaveRun, StartRun } from '../../../schemas/requests.ts'
import { LedgerError, UnreachableError } from '../../client/errors.ts'
import { AgentError, LedgerRefused, RunWaiting } from '../errors.ts'
import type { Connection } from '../runtime/connection.ts'
import { type Body, type Home, liveRun } from '../runtime/live-run.ts'
import type { RunOutcome } from '../saga/outcome.ts'
import { causesOf, memberOf, thrownText } from '../thrown.ts'
import { keepRun } from './keep-run.ts'

interface Carrying {
  readonly runId: string
  readonly name: string
  readonly body: Body<never, unknown>
  readonly worker: NonNullable<StartRun['worker']>
  /** Called once the run is this worker's. */
  readonly onStarted: () => void
  /** Aborted when the worker is to stop. */
  readonly stopping: AbortSignal
  /** Called when the code stops making the requests that the record expects, and when it continues. */
  readonly onStalled: (isStalled: boolean) => void
  /** How long the run is left alone if the code cannot resume it, in milliseconds. */
  readonly retryAfterMs: number
}

/**
 * `ended`: completed or rolled back. `left`: it waits, or it now belongs to another owner. `missed`: it had ended, or another owner had it, before this worker
 * took it. `full`: workers carry as many runs of the tenant as they may. `refused`: it could not be taken, or not be left. `stuck`: the code cannot carry it on,
 * and the run says so.
 */
export interface Carried {
  readonly kind: 'ended' | 'left' | 'missed' | 'full' | 'refused' | 'stuck'
  readonly error?: unknown
}

/** How the code ended. */
interface Life {
  started?: StartAnswer
  outcome?: RunOutcome
  halted?: Error | undefined
}

/** Takes a run and executes its code until it ends, waits or is lost. Never throws, whatever the code throws. */
export async function carryOn(home: Home, carrying: Carrying): Promise<Carried> {
  try {
    return await carried(home, carrying)
  } catch (error) {
    return { kind: 'refused', error }
  }
}

async function carried(home: Home, carrying: Carrying): Promise<Carried> {
  const { runId, name, body, worker, onStarted, onStalled, stopping } = carrying
  const life: Life = {}
  const kept = keepRun(home.connection, { runId, holdMs: worker.holdMs, stopping })
  try {
    await liveRun(
      { ...home, connection: kept.connection },
      {
        options: { id: runId, name, whenWaiting: 'leave' },
        worker,
        onStalled,
        onStarted: (answer) => {
          life.started = answer
          if (answer.status === 'open') kept.begin(answer.fence)
          onStarted()
        },
        onFailed: (outcome, halted) => {
          life.outcome = outcome
          life.halted = halted
        },
      },
      body,
    )
    return life.started?.status === 'open' ? { kind: 'ended' } : { kind: 'missed' }
  } catch (error) {
    kept.end()
    return await afterwards(kept.connection, carrying, life, error)
  } finally {
    kept.end()
  }
}

/** Refusals that mean that another worker was faster, or that the run has ended. */
const TAKEN: ReadonlySet<string> = new Set(['run-taken-over', 'run-owned', 'run-ended', 'stale-fence'])

const isTaken = (error: unknown): boolean => error instanceof LedgerRefused && TAKEN.has(error.code)

async function afterwards(
  connection: Connection,
  { runId, retryAfterMs }: Carrying,
  { started, outcome, halted }: Life,
  thrown: unknown,
): Promise<Carried> {
  if (started === undefined) return notTaken(thrown)
  if (started.status !== 'open') return { kind: 'missed' }
  if (outcome !== undefined && outcome.status !== 'OPEN') return { kind: 'ended' }
  const error = outcome?.rollbackError ?? halted ?? thrown
  // The run is due again once its hold is over.
  if (isTaken(error)) return { kind: 'left' }
  if (isUnable(error)) return { kind: 'left', error }
  // An earlier rollback was finished.
  if (outcome === undefined && isRolledBack(error)) return { kind: 'ended' }
  const isWaiting = error instanceof RunWaiting
  const body: LeaveRun = isWaiting
    ? { because: 'waiting', runFence: started.fence }
    : { because: 'stuck', error: faultOf(error), retryAfterMs, runFence: started.fence }
  try {
    const reply = await connection.execute(runId, { kind: 'leave', body })
    if (!reply.ok) return TAKEN.has(reply.problem.code) ? { kind: 'left' } : { kind: 'refused', error }
  } catch (unable) {
    return { kind: 'left', error: isWaiting ? unable : error }
  }
  return isWaiting ? { kind: 'left' } : { kind: 'stuck', error }
}

function notTaken(error: unknown): Carried {
  if (isTaken(error)) return { kind: 'missed' }
  return error instanceof LedgerRefused && error.code === 'workers-full' ? { kind: 'full' } : { kind: 'refused', error }
}

const TOO_MANY = 429
const UNABLE = 500

/** Refusals of requests that would be accepted at another time, or with another token. */
const NOT_NOW: ReadonlySet<string> = new Set(['rate-limited', 'unauthenticated'])

/** Whether the ledger is unable to answer now, which is not the fault of the code. */
function isUnable(error: unknown): boolean {
  if (error instanceof LedgerRefused) return NOT_NOW.has(error.code)
  if (error instanceof LedgerError) return error.status >= UNABLE || error.status === TOO_MANY
  return error instanceof UnreachableError
}

function isRolledBack(error: unknown): boolean {
  return error instanceof AgentError && (error.code === 'run-rolled-back' || error.code === 'run-failed')
}

/** The code of an error, or of its cause. Errors are never distinguished by their messages. */
function codeIn(error: Error): string | undefined {
  const code = memberOf(error, 'code')
  return typeof code === 'string' && code !== '' ? code.toWellFormed() : undefined
}

const CODE_MAX_CHARS = 128
const MESSAGE_MAX_CHARS = 2_000

function faultOf(error: unknown): { code: string; message: string } {
  const codes = [...causesOf(error)].map(codeIn)
  return {
    code: codes.find((code) => code !== undefined)?.slice(0, CODE_MAX_CHARS) ?? 'not-carried-on',
    message: thrownText(error).slice(0, MESSAGE_MAX_CHARS).toWellFormed(),
  }
}
