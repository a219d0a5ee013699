/** @module The memory that this process may use: the container's limit (cgroup v2, then v1), the machine's memory, the engine's heap limit. */
import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'

/** Half of the memory: the other half is for the file cache, the engine itself and other processes. */
const PART_OF_MACHINE = 0.5
/** Most of the memory that a budget counts is on the engine's heap, which must not be full when the budget is. */
const PART_OF_HEAP = 0.75

export interface MachineMemory {
  readonly machineBytes: number
  /** Undefined if no container sets a limit. */
  readonly containerBytes: number | undefined
  /** Heap limit of the engine (`--max-old-space-size`). */
  readonly heapBytes: number
}

/** Never throws: a file that is missing or contains `max` sets no limit. */
export function machineMemory(root = '/'): MachineMemory {
  const limits = cgroupLimitFiles(root).flatMap((file) => limitIn(file) ?? [])
  const machineBytes = totalmem()
  const containerBytes = Math.min(...limits)
  return {
    machineBytes,
    // Version 1 encodes "no limit" as a number larger than any machine's memory.
    containerBytes: containerBytes < machineBytes ? containerBytes : undefined,
    heapBytes: getHeapStatistics().heap_size_limit,
  }
}

/** The default budget. */
export function defaultBudgetBytes({ machineBytes, containerBytes, heapBytes }: MachineMemory): number {
  return Math.floor(Math.min((containerBytes ?? machineBytes) * PART_OF_MACHINE, heapBytes * PART_OF_HEAP))
}

/** The largest budget that fits the engine's heap limit. */
export function largestBudgetBytes({ heapBytes }: Pick<MachineMemory, 'heapBytes'>): number {
  return Math.floor(heapBytes * PART_OF_HEAP)
}

/** The files of the process's own group and all groups above it: the smallest limit applies. */
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

/** `/a/b` yields `/a/b`, `/a` and the root; inside a container only the root may exist. */
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
