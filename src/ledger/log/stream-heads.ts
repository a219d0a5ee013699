/**
 * @module Counts the events of each stream of a log up to its last checkpoint, and maintains the tree over these heads (LOG-27). Heads grow when a
 * checkpoint is signed, from the same stored bytes, at no cost to writers.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { GROUP_BITS, groupOf, groupSubtree, pathFrom, rootOfGroups } from '../../merkle/grouped-streams.ts'
import {
  grownDigest,
  NO_EVENTS,
  provesHead,
  type StreamHead,
  type StreamPath,
  type Subtree,
  streamKey,
} from '../../merkle/stream-tree.ts'
import type { SizedCache } from '../../resources/sized-cache.ts'
import type { LogStore } from '../../store/log-store.ts'

/** Maximum number of leaves (and of their streams) held before their heads are saved: about ten milliseconds of work. */
const LEAVES_AT_ONCE = 4_096
const STREAMS_AT_ONCE = 256
/** Number of groups hashed (and of rows listed) before the event loop gets a turn. */
const GROUPS_AT_ONCE = 16
const ROWS_AT_ONCE = 512
/** Size in bytes of a group's hash with its entry in the map. */
const GROUP_BYTES = 160
const BITS_OF_BYTE = 8
const ALL = 2 ** 31 - 1

/** The groups of the tree that have been hashed so far. */
export interface HashedGroups {
  readonly groups: Map<number, Subtree>
  /** Groups that have to be hashed again. */
  readonly dirty: Set<number>
}

interface HeadsDeps {
  readonly logStore: LogStore
  readonly cache: SizedCache<HashedGroups>
}

export class StreamHeads {
  readonly #logStore: LogStore
  readonly #cache: SizedCache<HashedGroups>
  /** Trees being hashed. An entry that is removed in the meantime, because its heads were dropped, is useless to the task that is hashing it. */
  readonly #hashing = new Map<string, { readonly hashed: HashedGroups; readonly listed: Promise<void> }>()

  constructor({ logStore, cache }: HeadsDeps) {
    this.#logStore = logStore
    this.#cache = cache
    logStore.onRenewed(() => {
      cache.clear()
      this.#hashing.clear()
    })
  }

  /** Number of leaves that the heads cover. */
  size(tenant: string): number {
    return this.#logStore.headsSize(tenant)
  }

  /** Continues after the last leaf covered. */
  grow(tenant: string): GrowingHeads {
    return new GrowingHeads(tenant, this.#logStore, (keys) => this.#touched(tenant, keys))
  }

  /** Drops heads that turned out not to belong to the log. */
  drop(tenant: string): void {
    this.#cache.delete(tenant)
    this.#hashing.delete(tenant)
    this.#logStore.dropHeads(tenant)
  }

  /** Root of the tree of `size` leaves; undefined if the heads cover another size, or were dropped by the time the root is computed. */
  async root(tenant: string, size: number): Promise<Uint8Array | undefined> {
    const hashed = await this.#hashed(tenant)
    return this.#isOf(hashed, tenant, size) ? rootOfGroups(hashed.groups) : undefined
  }

  /** Head and path of a stream in the tree of `size` leaves; undefined if that is not the current tree, or if the path does not lead to `root`. */
  async path(tenant: string, stream: string, size: number, root: Uint8Array): Promise<StreamPath | undefined> {
    const hashed = await this.#hashed(tenant)
    if (!this.#isOf(hashed, tenant, size)) return undefined
    const key = streamKey(stream)
    const heads = this.#group(tenant, groupOf(key))
    const head = heads.find((each) => Buffer.compare(each.key, key) === 0)
    if (head === undefined) return undefined
    const found = { head, path: pathFrom(hashed.groups, heads, key), root }
    return provesHead(found) ? found : undefined
  }

  #touched(tenant: string, keys: Iterable<Uint8Array>): void {
    const known = [this.#cache.get(tenant), this.#hashing.get(tenant)?.hashed]
    for (const key of keys) for (const hashed of known) hashed?.dirty.add(groupOf(key))
  }

  /** Checked when the groups are used, because the heads may have grown while they were hashed. */
  #isOf(hashed: HashedGroups | undefined, tenant: string, size: number): hashed is HashedGroups {
    return hashed?.dirty.size === 0 && this.size(tenant) === size
  }

  async #hashed(tenant: string): Promise<HashedGroups | undefined> {
    const own = this.#hashing.get(tenant) ?? this.#begin(tenant)
    const { hashed, listed } = own
    try {
      await listed
      let done = 0
      for (const group of hashed.dirty) {
        const subtree = groupSubtree(this.#group(tenant, group))
        hashed.dirty.delete(group)
        if (subtree.streams === 'none') hashed.groups.delete(group)
        else hashed.groups.set(group, subtree)
        done += 1
        if (done % GROUPS_AT_ONCE === 0) await nextTurn()
      }
      if (this.#hashing.get(tenant) === own) this.#cache.set(tenant, hashed, GROUP_BYTES * (1 + hashed.groups.size))
      else if (this.#cache.get(tenant) !== hashed) return undefined
      return hashed
    } finally {
      if (this.#hashing.get(tenant) === own) this.#hashing.delete(tenant)
    }
  }

  #begin(tenant: string): { readonly hashed: HashedGroups; readonly listed: Promise<void> } {
    const known = this.#cache.get(tenant)
    const hashed = known ?? { groups: new Map(), dirty: new Set() }
    const begun = { hashed, listed: known === undefined ? this.#listInto(hashed, tenant) : Promise.resolve() }
    this.#hashing.set(tenant, begun)
    return begun
  }

  async #listInto({ dirty }: HashedGroups, tenant: string): Promise<void> {
    let from: Uint8Array = new Uint8Array(0)
    for (;;) {
      const rows = this.#logStore.heads(tenant, from, undefined, ROWS_AT_ONCE)
      for (const { key } of rows) dirty.add(groupOf(key))
      const last = rows.at(-1)
      if (last === undefined) return
      from = Buffer.concat([last.key, Uint8Array.of(0)])
      await nextTurn()
    }
  }

  #group(tenant: string, group: number): readonly StreamHead[] {
    const below = group + 1 < 2 ** GROUP_BITS ? borderOf(group + 1) : undefined
    return this.#logStore.heads(tenant, borderOf(group), below, ALL)
  }
}

/** The common prefix of all keys of a group: a lower bound of its keys. */
function borderOf(group: number): Uint8Array {
  const bits = group << (2 * BITS_OF_BYTE - GROUP_BITS)
  return Uint8Array.of(bits >> BITS_OF_BYTE, bits & 0xff)
}

/** The heads of one log while its leaves are added in their order. */
export class GrowingHeads {
  readonly #tenant: string
  readonly #logStore: LogStore
  readonly #saved: (keys: Iterable<Uint8Array>) => void
  readonly #waiting = new Map<string, Uint8Array[]>()
  #savedSize: number
  #size: number

  constructor(tenant: string, logStore: LogStore, saved: (keys: Iterable<Uint8Array>) => void) {
    this.#tenant = tenant
    this.#logStore = logStore
    this.#saved = saved
    this.#savedSize = logStore.headsSize(tenant)
    this.#size = this.#savedSize
  }

  get size(): number {
    return this.#size
  }

  /** False if another writer changed the heads in the meantime, or the file was rebuilt: the next pass starts over. */
  add(stream: string, leaf: Uint8Array): boolean {
    const leaves = this.#waiting.get(stream)
    if (leaves === undefined) this.#waiting.set(stream, [leaf])
    else leaves.push(leaf)
    this.#size += 1
    const isFull = this.#waiting.size >= STREAMS_AT_ONCE || this.#size - this.#savedSize >= LEAVES_AT_ONCE
    return !isFull || this.save()
  }

  save(): boolean {
    if (this.#size === this.#savedSize) return true
    const heads = [...this.#waiting].map(([stream, leaves]) => this.#head(streamKey(stream), leaves))
    if (!this.#logStore.saveHeads({ tenant: this.#tenant, size: this.#size, heads }, this.#savedSize)) return false
    this.#saved(heads.map(({ key }) => key))
    this.#waiting.clear()
    this.#savedSize = this.#size
    return true
  }

  #head(key: Uint8Array, leaves: readonly Uint8Array[]): StreamHead {
    const known = this.#logStore.head(this.#tenant, key)
    return {
      key,
      events: (known?.events ?? 0) + leaves.length,
      digest: leaves.reduce(grownDigest, known?.digest ?? NO_EVENTS),
    }
  }
}
