/** @module The memory budget of a process that was started with settings, and the shares of it that are not caches of the ledger. */

import { defaultBudgetBytes, largestBudgetBytes, machineMemory } from '../resources/machine-memory.ts'
import type { MemoryBudget } from '../resources/memory-budget.ts'
import type { Settings } from '../settings/config.ts'
import { SettingsError } from '../settings/settings-error.ts'
import type { EventStore } from '../store/event-store.ts'
import type { QueueLimits } from '../store/sqlite/append-queue.ts'

const MIB = 1024 * 1024

/** The budget in bytes. Throws `SettingsError` if node would run out of heap before the budget is used up. */
export function budgetBytes({ memoryBytes }: Settings): number {
  const machine = machineMemory()
  const most = largestBudgetBytes(machine)
  if (memoryBytes === undefined) return defaultBudgetBytes(machine)
  if (memoryBytes <= most) return memoryBytes
  const needed = Math.ceil((memoryBytes * machine.heapBytes) / most / MIB)
  const [heapMiB, mostMiB] = [machine.heapBytes, most].map((bytes) => Math.floor(bytes / MIB))
  throw new SettingsError(
    `--memory: node's heap may grow to ${heapMiB}MiB here, which leaves ${mostMiB}MiB for a budget: give less, or start node with --max-old-space-size=${needed}`,
  )
}

/** Data that waits for the disk is in memory three times: sealed, in transfer to the writer's thread, and in that thread. */
const COPIES_OF_AN_APPEND = 3

/** Reports the bytes that wait in the append queue of a store as usage of its share. */
export function watchQueue(memory: MemoryBudget, store: Pick<EventStore, 'waitingBytes'>): void {
  memory.watch('append-queue', () => COPIES_OF_AN_APPEND * (store.waitingBytes ?? 0))
}

export function queueWithin(memory: MemoryBudget): Pick<QueueLimits, 'waitingBytes'> {
  return { waitingBytes: Math.floor(memory.limitOf('append-queue') / COPIES_OF_AN_APPEND) }
}
