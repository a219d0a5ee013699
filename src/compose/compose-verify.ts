/** @module The threads that check the rows of a store for a verification; their program is `verify-worker.ts`. */
import { availableParallelism } from 'node:os'
import type { VerifyWorkerData } from '../verify/threads/protocol.ts'
import { VerifyThreads } from '../verify/threads/verify-threads.ts'
import { workerProgram } from '../workers/worker-program.ts'

/** More gain little: one thread puts everything in order, which takes it a tenth of what looking at an event takes. Each has some 35 MB of memory. */
const THREADS_MAX = 7

/** As many as there are processors beside the one that puts everything in order. */
export function defaultVerifyThreads(): number {
  return Math.min(availableParallelism() - 1, THREADS_MAX)
}

/** Undefined where none is wanted, and in a bundled program, which does not carry their program along. */
export function openVerifyThreads(count: number, workerData: VerifyWorkerData): VerifyThreads | undefined {
  if (count === 0) return undefined
  const file = workerProgram(() => new URL('../../programs/verify-worker.js', import.meta.url))
  return file && new VerifyThreads({ file, count, workerData })
}
