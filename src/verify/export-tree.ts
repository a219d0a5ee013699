/** @module The tree that a whole tenant's export must make: what its trailer says of the log is checked, not believed. */
import { CompactTree } from '../merkle/compact-tree.ts'
import { leafHash } from '../merkle/hashes.ts'
import { digestText } from '../signing/digests.ts'
import { streamTenant } from '../signing/stream-tenant.ts'
import { isLeaf } from './checkpoint-check.ts'
import type { PlacedRecord } from './stream-check.ts'

interface SaidTree {
  readonly treeSize?: number | null | undefined
  readonly root?: string | null | undefined
}

export class ExportTree {
  readonly #tree = new CompactTree()
  readonly #streams = new Set<string>()

  take(record: PlacedRecord): void {
    const tenant = streamTenant(record.stream)
    if (tenant !== undefined && isLeaf(record, tenant, this.#streams)) this.#tree.append(leafHash(record.header))
  }

  /** Undefined where the trailer names no tree: such an export says nothing of it. */
  fits({ treeSize, root }: SaidTree): boolean | undefined {
    if (typeof treeSize !== 'number' || typeof root !== 'string') return undefined
    return treeSize === this.#tree.size && root === digestText(this.#tree.root())
  }
}
