/** @module A whole tree of streams in memory, grown leaf by leaf, for readers that check a log's checkpoints from its start. */
import { groupOf, groupSubtree, rootOfGroups } from './grouped-streams.ts'
import { grownDigest, NO_EVENTS, type StreamHead, type Subtree, streamKey } from './stream-tree.ts'

interface GrowingHead extends StreamHead {
  events: number
  digest: Uint8Array
}

export class StreamTreeBuilder {
  readonly #heads = new Map<string, GrowingHead>()
  readonly #members = new Map<number, GrowingHead[]>()
  readonly #groups = new Map<number, Subtree>()
  readonly #dirty = new Set<number>()

  get streams(): number {
    return this.#heads.size
  }

  /** Adds the next leaf of the log, which belongs to `stream`. */
  take(stream: string, leaf: Uint8Array): void {
    const head = this.#heads.get(stream) ?? this.#begin(stream)
    head.events += 1
    head.digest = grownDigest(head.digest, leaf)
    this.#dirty.add(groupOf(head.key))
  }

  /** The root; hashes again only the groups that changed since the last call. */
  root(): Uint8Array {
    for (const group of this.#dirty) this.#groups.set(group, groupSubtree(this.#members.get(group) ?? []))
    this.#dirty.clear()
    return rootOfGroups(this.#groups)
  }

  #begin(stream: string): GrowingHead {
    const head: GrowingHead = { key: streamKey(stream), events: 0, digest: NO_EVENTS }
    this.#heads.set(stream, head)
    const group = groupOf(head.key)
    const members = this.#members.get(group)
    if (members === undefined) this.#members.set(group, [head])
    else members.push(head)
    return head
  }
}
