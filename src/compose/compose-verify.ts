/** @module The threads that check the rows of a store for a verification; their program is `verify-worker.ts`. */
import { availableParallelism } from 'node:os'
import { workerProgram } from '../resources/worker-program.ts'
import type { VerifyWorkerData } from '../verify/threads/protocol.ts'
import { VerifyThreads } from '../verify/threads/verify-threads.ts'

/** More gain little: one thread puts everything in order. */
const THREADS_MAX = 4

/** As many as there are processors, of a machine that has more than one. */
export function defaultVerifyThreads(): number {
  const count = Math.min(availableParallelism(), THREADS_MAX)
  return count > 1 ? count : 0
}

/** Undefined where none is wanted, and in a bundled program, which does not carry their program along. */
export function openVerifyThreads(count: number, workerData: VerifyWorkerData): VerifyThreads | undefined {
  if (count === 0) return undefined
  const file = workerProgram(() => new URL('./verify-worker.js', import.meta.url))
  return file && new VerifyThreads({ file, count, workerData })
}
