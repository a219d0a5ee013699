/** @module Keeps a run for the worker that carries it, while its code works on its own and records nothing (RUN-224). */
import { UnreachableError } from '../../client/errors.ts'
import { type Connection, NotAskedAgain } from '../runtime/connection.ts'

/** The hold of a run is renewed after a third of it, and after a ninth if the request for that failed although the run was not lost. */
const PART = 3
const PART_AGAIN = 9
/** Refusals that mean that the run is no longer this worker's. */
const LOST: ReadonlySet<string> = new Set(['run-taken-over', 'run-ended'])

interface KeptRun {
  /** The connection for the code of the run. What the code appends renews the hold as well. */
  readonly connection: Connection
  /** Starts the renewal, once the run is this worker's. `fence` is that of its resume. */
  begin(fence: number): void
  /** Ends the renewal: the run has ended, was left, or belongs to another owner. */
  end(): void
}

interface Answered {
  readonly ok: boolean
  /** Whether something was appended. */
  readonly created?: boolean
}

interface Keeping {
  readonly runId: string
  /** How long other workers leave the run alone after each of its events. */
  readonly holdMs: number
  /** Aborted when the worker is to stop: a ledger that was not reached once is not asked again, each time with all patience. */
  readonly stopping: AbortSignal
}

export function keepRun(connection: Connection, { runId, holdMs, stopping }: Keeping): KeptRun {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isOver = false
  let appendedAt = 0
  let unreachable: UnreachableError | undefined

  const noted = <R extends Answered>(id: string, reply: R): R => {
    // A repeated request that appended nothing does not keep the run.
    if (id === runId && reply.ok && reply.created === true) appendedAt = performance.now()
    return reply
  }
  const asked = async <T>(ask: () => Promise<T>): Promise<T> => {
    if (unreachable !== undefined && stopping.aborted)
      throw new NotAskedAgain(unreachable.message, { cause: unreachable.cause })
    try {
      const answer = await ask()
      unreachable = undefined
      return answer
    } catch (error) {
      if (error instanceof UnreachableError) unreachable = error
      throw error
    }
  }
  const plan = (fence: number, atLeastMs = 0): void => {
    if (isOver) return
    const waitMs = Math.max(atLeastMs, appendedAt + holdMs / PART - performance.now())
    timer = setTimeout(() => void look(fence), waitMs)
    timer.unref?.()
  }
  const look = async (fence: number): Promise<void> => {
    if (performance.now() + 1 < appendedAt + holdMs / PART) return plan(fence)
    const askedAt = performance.now()
    try {
      const reply = await connection.execute(runId, { kind: 'carry', body: { runFence: fence } })
      if (reply.ok) {
        appendedAt = Math.max(appendedAt, askedAt)
        return plan(fence)
      }
      // The code of the run meets the refusal with its next request.
      if (LOST.has(reply.problem.code)) return
    } catch {
      // The ledger is unreachable; the run is this worker's as long as no other process resumes it.
    }
    plan(fence, holdMs / PART_AGAIN)
  }
  return {
    connection: {
      ...connection,
      execute: async (id, command, options) => noted(id, await asked(() => connection.execute(id, command, options))),
      batch: async (id, commands) =>
        (await asked(() => connection.batch(id, commands))).map((reply) => noted(id, reply)),
    },
    begin: (fence) => {
      appendedAt = performance.now()
      plan(fence)
    },
    end: () => {
      isOver = true
      clearTimeout(timer)
    },
  }
}
