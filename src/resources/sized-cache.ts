/** @module A cache that is bounded in bytes: whoever puts something in says what it takes, and what was used longest ago goes first. */
import { LRUCache } from 'lru-cache'
import type { MemoryBudget, ShareName } from './memory-budget.ts'

/** What an entry takes beside its key and value: the cache's own lists, rounded up. */
const ENTRY_BYTES = 96
/** A string's header, and two bytes a character where one of them is beyond Latin-1. */
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

  /** `bytes` are those of the value alone. One that takes more than the whole cache is not kept. */
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

/** Part of a share, from 0 to 1, as a cache that the budget shows. */
export function cacheWithin<V extends object>(memory: MemoryBudget, share: ShareName, part: number): SizedCache<V> {
  const cache = new SizedCache<V>(memory.limitOf(share) * part)
  memory.watch(share, () => cache.bytes)
  return cache
}

export function textBytes(text: string): number {
  return STRING_BYTES + 2 * text.length
}
