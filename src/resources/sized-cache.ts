/** @module An LRU cache bounded in bytes; the caller states the size of each value. */
import { LRUCache } from 'lru-cache'
import type { MemoryBudget, ShareName } from './memory-budget.ts'

/** Overhead of an entry in addition to its key and value: the cache's own lists, rounded up. */
const ENTRY_BYTES = 96
/** Header of a string; `textBytes` adds two bytes per code unit, as for text beyond Latin-1. */
const STRING_BYTES = 32

export class SizedCache<V extends object> {
  readonly #cache: LRUCache<string, V>

  constructor(maxBytes: number) {
    this.#cache = new LRUCache({ maxSize: Math.max(1, Math.floor(maxBytes)) })
  }

  get bytes(): number {
    return this.#cache.calculatedSize
  }

  get(key: string): V | undefined {
    return this.#cache.get(key)
  }

  /** `bytes`: size of the value alone. An entry larger than the whole cache is not kept. */
  set(key: string, value: V, bytes: number): void {
    this.#cache.set(key, value, { size: Math.ceil(bytes) + ENTRY_BYTES + textBytes(key) })
  }

  delete(key: string): void {
    this.#cache.delete(key)
  }

  clear(): void {
    this.#cache.clear()
  }
}

/** A cache of `part` (0 to 1) of a share, whose use the budget reports. */
export function cacheWithin<V extends object>(memory: MemoryBudget, share: ShareName, part: number): SizedCache<V> {
  const cache = new SizedCache<V>(memory.limitOf(share) * part)
  memory.watch(share, () => cache.bytes)
  return cache
}

export function textBytes(text: string): number {
  return STRING_BYTES + 2 * text.length
}
