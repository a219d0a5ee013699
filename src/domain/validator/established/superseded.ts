/** @module The superseded places as a tree, so that a look-up takes as many steps as the place has tokens. */

import type { Token } from '../../../../schemas/json-pointer.ts'
import type { Supersessions } from '../supersedes.ts'

interface Node {
  readonly children: Map<string, Node>
  /** The tokens of the entry that ends at this node, and the number of changes it has covered. */
  entry?: { readonly tokens: readonly string[]; covered: number }
}

export interface Superseded {
  readonly root: Node
}

export type Entry = NonNullable<Node['entry']>

export function supersededTree(supersedes: Supersessions): Superseded {
  const root: Node = { children: new Map() }
  for (const tokens of supersedes) {
    let node = root
    for (const token of tokens) {
      const child: Node = node.children.get(token) ?? { children: new Map() }
      node.children.set(token, child)
      node = child
    }
    node.entry ??= { tokens, covered: 0 }
  }
  return { root }
}

/** The most specific entry at or above a place. */
export function entryFor({ root }: Superseded, place: readonly Token[]): Entry | undefined {
  let node: Node | undefined = root
  let entry: Entry | undefined
  for (const token of place) {
    node = node.children.get(`${token}`)
    if (node === undefined) return entry
    entry = node.entry ?? entry
  }
  return entry
}
