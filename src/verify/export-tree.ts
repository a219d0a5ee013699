/** @module The tree over a whole tenant's export: checks the claims of its trailer and of a saved checkpoint about the log. */
import { placeText } from '../../schemas/acknowledged-loss.ts'
import type { PartHead } from '../../schemas/export-trailer.ts'
import type { Checkpoint } from '../merkle/checkpoint.ts'
import { CompactTree } from '../merkle/compact-tree.ts'
import { leafHash, sameHash } from '../merkle/hashes.ts'
import { digestBytes, digestText } from '../signing/digests.ts'
import { logTenant } from '../signing/stream-tenant.ts'
import type { AcknowledgedLosses } from './acknowledged-losses.ts'
import { isForkOf, isLeaf } from './checkpoint-check.ts'
import type { PlacedRecord } from './source-item.ts'

interface SaidTree {
  readonly treeSize?: number | null | undefined
  readonly root?: string | null | undefined
}

export class ExportTree {
  #tree = new CompactTree()
  #from: number | undefined
  readonly #streams = new Set<string>()
  readonly #checkpoint: Checkpoint | undefined
  #keptFits: boolean | undefined
  #isForked = false
  readonly #acknowledged: AcknowledgedLosses | undefined
  /** Acknowledged events whose leaves were appended before a record in their places. */
  readonly #passed = new Set<string>()

  /** `current`: the checkpoint that the events are compared with. */
  constructor(current?: Checkpoint, acknowledged?: AcknowledgedLosses) {
    this.#checkpoint = current
    this.#acknowledged = acknowledged
    this.#holdKept()
  }

  /** To be called before the first record: continues the tree before a part. Returns false if the hashes do not yield the root. */
  goOnFrom({ from, root, edge }: PartHead): boolean {
    const hashes = edge.map((digest) => Buffer.from(digest.slice('sha256:'.length), 'hex'))
    const tree = CompactTree.ofHashes(from, hashes)
    if (tree === undefined || digestText(tree.root()) !== root) return false
    this.#tree = tree
    this.#from = from
    this.#holdKept()
    return true
  }

  /** For a part: the number of leaves before it. */
  get from(): number | undefined {
    return this.#from
  }

  get size(): number {
    return this.#tree.size
  }

  get root(): string {
    return digestText(this.#tree.root())
  }

  /** Appends the leaves of events that are acknowledged as lost and come before `next`; at the end without it. */
  passLost(tenant: string, next?: PlacedRecord): void {
    for (;;) {
      const lost = this.#acknowledged?.leaf(tenant, this.size)
      if (lost === undefined || (lost.stream === next?.stream && lost.revision === next.revision)) return
      this.#streams.add(lost.stream)
      this.#passed.add(placeText(lost))
      this.#tree.append(digestBytes(lost.digest))
      this.#holdKept()
    }
  }

  take(record: PlacedRecord): void {
    const tenant = logTenant(record.stream)
    if (tenant !== undefined) this.passLost(tenant, record)
    // In the place of a lost event whose leaf has been passed.
    if (this.#passed.has(placeText(record))) return
    // In a part, most streams began earlier; the tree before the part vouches that their first events are leaves.
    if (tenant === undefined || (this.#from === undefined && !isLeaf(record, tenant, this.#streams))) return
    const lost = this.#acknowledged?.at(record)
    this.#tree.append(lost === undefined ? leafHash(record.header) : digestBytes(lost.digest))
    this.#holdKept()
    if (this.#checkpoint !== undefined && isForkOf(this.#checkpoint, record, tenant)) this.#isForked = true
  }

  /** Undefined if the trailer names no tree: such an export makes no claim about it. */
  fits({ treeSize, root }: SaidTree): boolean | undefined {
    if (typeof treeSize !== 'number' || typeof root !== 'string') return undefined
    return treeSize === this.#tree.size && root === this.root
  }

  /** Whether the first events are those that the saved checkpoint signed; undefined if there are fewer, or if the part begins after them. */
  get keptFits(): boolean | undefined {
    return this.#keptFits
  }

  /** Whether a different checkpoint of the same size as the saved one is recorded here. */
  get isForked(): boolean {
    return this.#isForked
  }

  #holdKept(): void {
    if (this.#checkpoint?.size === this.#tree.size) this.#keptFits = sameHash(this.#tree.root(), this.#checkpoint.root)
  }
}
