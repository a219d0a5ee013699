/** @module Keeps a run for the worker that carries it, while its code works on its own and records nothing (RUN-224). */
import type { Connection } from '../runtime/connection.ts'

/** A run is kept anew after this part of its hold, and after a request that failed for another reason than a loss, after that part. */
const PART = 3
const PART_AGAIN = 9
/** The run is no longer this worker's. */
const LOST: ReadonlySet<string> = new Set(['run-taken-over', 'run-ended'])

interface KeptRun {
  /** The connection for the code of the run: what it appends keeps the run as well. */
  readonly connection: Connection
  /** Begins when the run is this worker's. `fence`: that of its resume. */
  begin(fence: number): void
  /** The run has ended, is left, or is another owner's. */
  end(): void
}

interface Answered {
  readonly ok: boolean
  /** Something was appended. */
  readonly created?: boolean
}

/** `holdMs`: how long other workers leave the run alone after each of its events. */
export function keepRun(connection: Connection, runId: string, holdMs: number): KeptRun {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isOver = false
  let appendedAt = 0

  const noted = <R extends Answered>(id: string, reply: R): R => {
    // A repeated request that appended nothing does not keep the run.
    if (id === runId && reply.ok && reply.created === true) appendedAt = performance.now()
    return reply
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
      // The ledger is unreachable; the run is this worker's as long as nobody resumes it.
    }
    plan(fence, holdMs / PART_AGAIN)
  }
  return {
    connection: {
      ...connection,
      execute: async (id, command, options) => noted(id, await connection.execute(id, command, options)),
      batch: async (id, commands) => (await connection.batch(id, commands)).map((reply) => noted(id, reply)),
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
