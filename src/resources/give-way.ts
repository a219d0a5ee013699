/** @module Priority that is given up, so that whoever writes goes first where processors are few. It is never raised: who was started with less keeps that. */
import { readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'

const GIVEN_WAY = constants.priority.PRIORITY_BELOW_NORMAL
const IS_OF_THREADS = process.platform === 'linux'

/** This thread alone. On Linux a priority is a thread's; elsewhere it would be the whole process's, and nothing changes. */
export function threadGivesWay(): void {
  if (IS_OF_THREADS) lower(0)
}

/** This process, with the threads that it has by now and those they start. */
export function processGivesWay(): void {
  lower(0)
  for (const thread of IS_OF_THREADS ? ownThreads() : []) lower(thread)
}

function ownThreads(): number[] {
  try {
    return readdirSync('/proc/self/task').map(Number)
  } catch {
    return []
  }
}

/** Where the system refuses, or the thread is gone, the work is done all the same. */
function lower(id: number): void {
  try {
    if (getPriority(id) < GIVEN_WAY) setPriority(id, GIVEN_WAY)
  } catch {
    // As it was.
  }
}
