/** @module Priority that is given up, so that whoever writes goes first where processors are few. It is never raised: who was started with less keeps that. */
import { readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'

const GIVEN_WAY = constants.priority.PRIORITY_BELOW_NORMAL
/** A third of the time of one that gives no way, where processors are few; below it, a tenth. */
const GIVEN_WAY_A_LITTLE = 5
const IS_OF_THREADS = process.platform === 'linux'

/**
 * This thread alone. On Linux a priority is a thread's; elsewhere it would be the whole process's, and nothing changes. One that others wait
 * for gives way a little: with a tenth of a busy machine it would not come to an end.
 */
export function threadGivesWay({ isWaitedFor = false }: { readonly isWaitedFor?: boolean } = {}): void {
  if (IS_OF_THREADS) lower(0, isWaitedFor ? GIVEN_WAY_A_LITTLE : GIVEN_WAY)
}

/** This process, with the threads that it has by now and those they start. */
export function processGivesWay(): void {
  lower(0, GIVEN_WAY)
  for (const thread of IS_OF_THREADS ? ownThreads() : []) lower(thread, GIVEN_WAY)
}

function ownThreads(): number[] {
  try {
    return readdirSync('/proc/self/task').map(Number)
  } catch {
    return []
  }
}

/** Where the system refuses, or the thread is gone, the work is done all the same. */
function lower(id: number, to: number): void {
  try {
    if (getPriority(id) < to) setPriority(id, to)
  } catch {
    // As it was.
  }
}
