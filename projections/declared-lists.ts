/**
 * @module A policy's declarations of lists as a tree that is walked in parallel with a context: each place costs one look-up, whatever the
 * number of declared pointers. Recorded runs are folded with it, so its results must not change.
 */
import { pointerStep } from '../schemas/json-pointer.ts'
import type { ResolvedPolicy } from '../schemas/policy.ts'

type Lists = NonNullable<ResolvedPolicy['lists']>

export interface DeclaredLists {
  /** The rule of the exact pointer to the place, or of the first pattern that matches the place. */
  readonly rule: Lists[string] | undefined
  /** The nodes reached by the literal tokens of the place, and by patterns. */
  readonly exact: Node | undefined
  readonly patterns: readonly Node[]
  /** Declarations by the next token; `*` for tokens that no pointer names. */
  below: ReadonlyMap<string, DeclaredLists> | undefined
}

interface Node {
  readonly children: Map<string, Node>
  ends?: { readonly rule: Lists[string]; readonly order: number }
}

const ANY = '*'
const NOTHING: DeclaredLists = { rule: undefined, exact: undefined, patterns: [], below: undefined }

/** Cached by policy, which lives as long as its run. */
const known = new WeakMap<Lists, DeclaredLists>()

/** The declarations for the whole context; descend with `declaredBelow`. */
export function declaredLists(lists: Lists | undefined): DeclaredLists {
  if (lists === undefined) return NOTHING
  const made = known.get(lists)
  if (made !== undefined) return made
  const root: Node = { children: new Map() }
  for (const [order, path] of Object.keys(lists).entries()) {
    nodeAt(root, path).ends = { rule: lists[path] as Lists[string], order }
  }
  const declared = declaredAt(root, [])
  known.set(lists, declared)
  return declared
}

function nodeAt(root: Node, path: string): Node {
  let node = root
  for (const token of path.split('/').slice(1)) {
    const child: Node = node.children.get(token) ?? { children: new Map() }
    node.children.set(token, child)
    node = child
  }
  return node
}

/** The declarations below, at a key; `*` for the members of a list. */
export function declaredBelow(declared: DeclaredLists, key: string): DeclaredLists {
  const { exact, patterns } = declared
  if (exact === undefined && patterns.length === 0) return NOTHING
  declared.below ??= allBelow(exact, patterns)
  return declared.below.get(pointerStep(key).slice(1)) ?? declared.below.get(ANY) ?? NOTHING
}

function allBelow(exact: Node | undefined, patterns: readonly Node[]): ReadonlyMap<string, DeclaredLists> {
  const nodes = exact === undefined ? patterns : [exact, ...patterns]
  const any = nodes.flatMap((node) => node.children.get(ANY) ?? [])
  const below = new Map([[ANY, declaredAt(exact?.children.get(ANY), any)]])
  for (const { children } of nodes) {
    for (const name of children.keys()) {
      if (below.has(name)) continue
      const named = patterns.flatMap((node) => node.children.get(name) ?? [])
      below.set(name, declaredAt(exact?.children.get(name), [...named, ...any]))
    }
  }
  return below
}

function declaredAt(exact: Node | undefined, patterns: readonly Node[]): DeclaredLists {
  let first: Node['ends']
  for (const { ends } of patterns) {
    if (ends !== undefined && ends.order < (first?.order ?? Number.POSITIVE_INFINITY)) first = ends
  }
  return { rule: (exact?.ends ?? first)?.rule, exact, patterns, below: undefined }
}
