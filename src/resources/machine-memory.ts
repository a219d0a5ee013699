/** @module How much memory this process may use: the container's limit (cgroup v2, then v1), the machine's memory, the engine's heap. */
import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'

/** Half of what there is: the other half is for the file cache, the engine's own needs and who else runs there. */
const PART_OF_MACHINE = 0.5
/** Most of what a budget counts lives on the engine's heap, which must not be full when the budget is. */
const PART_OF_HEAP = 0.75

export interface MachineMemory {
  readonly machineBytes: number
  /** Undefined where no container sets one. */
  readonly containerBytes: number | undefined
  /** What the engine stops at (`--max-old-space-size`). */
  readonly heapBytes: number
}

/** Throws nothing: a file that is missing or says `max` sets no limit. */
export function machineMemory(root = '/'): MachineMemory {
  const limits = cgroupLimitFiles(root).flatMap((file) => limitIn(file) ?? [])
  const machineBytes = totalmem()
  const containerBytes = Math.min(...limits)
  return {
    machineBytes,
    // Version 1 says "none" by a number that no machine has.
    containerBytes: containerBytes < machineBytes ? containerBytes : undefined,
    heapBytes: getHeapStatistics().heap_size_limit,
  }
}

/** The budget where no setting names one. */
export function defaultBudgetBytes({ machineBytes, containerBytes, heapBytes }: MachineMemory): number {
  return Math.floor(Math.min((containerBytes ?? machineBytes) * PART_OF_MACHINE, heapBytes * PART_OF_HEAP))
}

/** The most that a budget may be under the engine's heap limit. */
export function largestBudgetBytes({ heapBytes }: Pick<MachineMemory, 'heapBytes'>): number {
  return Math.floor(heapBytes * PART_OF_HEAP)
}

/** The process's own group and all above it: the smallest limit counts. */
function cgroupLimitFiles(root: string): readonly string[] {
  const lines = textOf(`${root}proc/self/cgroup`)?.split('\n') ?? []
  return lines.flatMap((line) => {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? []
    if (path === undefined) return []
    if (controllers === '') return above(path).map((each) => `${root}sys/fs/cgroup${each}/memory.max`)
    if (controllers?.split(',').includes('memory') !== true) return []
    return above(path).map((each) => `${root}sys/fs/cgroup/memory${each}/memory.limit_in_bytes`)
  })
}

/** `/a/b` gives `/a/b`, `/a` and the root; inside a container only the root may be there. */
function above(path: string): readonly string[] {
  const names = path.split('/').filter((name) => name !== '')
  return names.map((_, at) => `/${names.slice(0, at + 1).join('/')}`).concat('')
}

function limitIn(file: string): number | undefined {
  const text = textOf(file)?.trim()
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
