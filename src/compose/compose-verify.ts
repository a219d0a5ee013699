/** @module The threads that check the rows of a store during verification; their program is `verify-worker.ts`. */
import { availableParallelism } from 'node:os'
import type { VerifyWorkerData } from '../verify/threads/protocol.ts'
import { VerifyThreads } from '../verify/threads/verify-threads.ts'
import { workerProgram } from '../workers/worker-program.ts'

/** More threads help little: one thread puts the results in order, at a tenth of the cost of checking an event. Each uses about 35 MB of memory. */
const THREADS_MAX = 7

/** One thread per processor, except for the processor of the thread that puts the results in order. */
export function defaultVerifyThreads(): number {
  return Math.min(availableParallelism() - 1, THREADS_MAX)
}

/** Undefined if `count` is 0, and in a bundled program, which does not contain the program of the threads. */
export function openVerifyThreads(count: number, workerData: VerifyWorkerData): VerifyThreads | undefined {
  if (count === 0) return undefined
  const file = workerProgram(() => new URL('../../programs/verify-worker.js', import.meta.url))
  return file && new VerifyThreads({ file, count, workerData })
}
