/** @module Lowering of priority, so that writers go first where processors are few. A priority is never raised: one that was set lower at the start remains. */
import { readdirSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'

const GIVEN_WAY = constants.priority.PRIORITY_BELOW_NORMAL
/** Nice value of a thread that gets a third of the CPU time of one with normal priority, where processors are few; at `GIVEN_WAY` it gets a tenth. */
const GIVEN_WAY_A_LITTLE = 5
const IS_OF_THREADS = process.platform === 'linux'

/**
 * Lowers the priority of this thread alone. On Linux a priority belongs to a thread; on other systems it would apply to the whole process, so nothing changes
 * there. A thread that others wait for is lowered less: with a tenth of a busy machine it would never finish.
 */
export function threadGivesWay({ isWaitedFor = false }: { readonly isWaitedFor?: boolean } = {}): void {
  if (IS_OF_THREADS) lower(0, isWaitedFor ? GIVEN_WAY_A_LITTLE : GIVEN_WAY)
}

/** Lowers the priority of this process: its current threads and those that they start. */
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

/** If the system refuses, or the thread is gone, the work is done with the old priority. */
function lower(id: number, to: number): void {
  try {
    if (getPriority(id) < to) setPriority(id, to)
  } catch {
    // The priority remains as it was.
  }
}
