/** @module The rules that a policy declares for places: its pointers as a tree that is walked along with a context, `*` for any key or member. */

import { parsePointer, type Token } from '../../../../schemas/json-pointer.ts'
import type { ListRule, Move, PlacePolicy } from '../../../../schemas/place-policy.ts'
import type { ResolvedPolicy } from '../../../../schemas/policy.ts'

export interface Tolerance {
  readonly absolute?: number | undefined
  readonly relative?: number | undefined
}

/** The rules of one place. `immutable` and `never` apply to everything below it, too. */
export interface PlaceRules {
  readonly nodes: readonly Node[]
  readonly immutable: boolean
  readonly never: boolean
  readonly list: ListRule | undefined
  readonly monotonic: 'up' | 'down' | undefined
  readonly tolerance: Tolerance | undefined
  /** How the place moves. For `free` and `log` the declaration also applies to everything below. */
  readonly move: Move | undefined
}

interface Node {
  readonly children: Map<string, Node>
  list?: ListRule
  monotonic?: 'up' | 'down'
  tolerance?: Tolerance
  move?: Move
  immutable?: true
  never?: true
}

const NOTHING: PlaceRules = {
  nodes: [],
  immutable: false,
  never: false,
  list: undefined,
  monotonic: undefined,
  tolerance: undefined,
  move: undefined,
}

type Declared = PlacePolicy & { readonly moves?: readonly Move[] | undefined }

/** Rules by policy; a policy object lives as long as its run. */
const known = new WeakMap<Declared, PlaceRules>()

/** The rules of the whole context, from which `rulesBelow` derives those of each place. */
export function rootRules(policy: Declared): PlaceRules {
  const made = known.get(policy)
  if (made !== undefined) return made
  const rules = readRules(policy)
  known.set(policy, rules)
  return rules
}

function readRules(policy: Declared): PlaceRules {
  const root: Node = { children: new Map() }
  for (const [path, list] of Object.entries(policy.lists ?? {})) nodeAt(root, path).list = list
  for (const [path, direction] of Object.entries(policy.monotonic ?? {})) nodeAt(root, path).monotonic = direction
  for (const [path, tolerance] of Object.entries(policy.tolerance ?? {})) nodeAt(root, path).tolerance = tolerance
  // The first declaration of a place counts; those of the policy precede those of agents.
  for (const move of policy.moves ?? []) nodeAt(root, move.path).move ??= move
  for (const path of policy.immutable ?? []) nodeAt(root, path).immutable = true
  for (const path of policy.supersede?.never ?? []) nodeAt(root, path).never = true
  return root.children.size === 0 ? NOTHING : { ...NOTHING, nodes: [root] }
}

function nodeAt(root: Node, path: string): Node {
  let node = root
  for (const token of parsePointer(path) ?? []) {
    let child = node.children.get(token)
    if (child === undefined) {
      child = { children: new Map() }
      node.children.set(token, child)
    }
    node = child
  }
  return node
}

/** Cache of derived rules. All places that a policy does not name share one object, because a context may have tens of thousands. */
const below = new WeakMap<PlaceRules, Map<string, PlaceRules>>()
const UNNAMED = '*'

export function rulesBelow(rules: PlaceRules, token: Token): PlaceRules {
  if (rules.nodes.length === 0) {
    if (
      rules.list === undefined &&
      rules.monotonic === undefined &&
      rules.tolerance === undefined &&
      inherited(rules.move) === rules.move
    )
      return rules
    return { ...NOTHING, immutable: rules.immutable, never: rules.never, move: inherited(rules.move) }
  }
  let made = below.get(rules)
  if (made === undefined) {
    made = new Map([[UNNAMED, makeRulesBelow(rules, UNNAMED)]])
    for (const { children } of rules.nodes) {
      for (const name of children.keys()) if (!made.has(name)) made.set(name, makeRulesBelow(rules, name))
    }
    below.set(rules, made)
  }
  return made.get(`${token}`) ?? (made.get(UNNAMED) as PlaceRules)
}

/** Whether the policy declares rules for places. */
export function declaresPlaces({ immutable, monotonic, moves, lists, tolerance }: ResolvedPolicy): boolean {
  return [immutable, monotonic, moves, lists, tolerance].some((declared) => declared !== undefined)
}

function inherited(move: Move | undefined): Move | undefined {
  return move?.as === 'free' || move?.as === 'log' ? move : undefined
}

function isOwn(nodes: readonly Node[], as: Move['as']): boolean {
  return nodes.some((node) => node.move?.as === as)
}

function makeRulesBelow(rules: PlaceRules, name: string): PlaceRules {
  const nodes: Node[] = []
  for (const { children } of rules.nodes) {
    for (const child of [children.get(name), name === UNNAMED ? undefined : children.get(UNNAMED)]) {
      if (child !== undefined) nodes.push(child)
    }
  }
  const [immutable, never] = [
    rules.immutable || nodes.some((node) => node.immutable),
    rules.never || nodes.some((node) => node.never),
  ]
  const move = nodes.find((node) => node.move !== undefined)?.move ?? inherited(rules.move)
  const list = nodes.find((node) => node.list !== undefined)?.list
  const monotonic = nodes.find((node) => node.monotonic !== undefined)?.monotonic
  const tolerance = nodes.find((node) => node.tolerance !== undefined)?.tolerance
  // A rule for exactly this place takes precedence over `free`.
  const isNamed = [list, monotonic, tolerance].some((each) => each !== undefined)
  return {
    move: isNamed && move?.as === 'free' ? undefined : move,
    nodes: nodes.filter(({ children }) => children.size > 0),
    immutable,
    never,
    list: list ?? (isOwn(nodes, 'log') ? 'sequence' : undefined),
    monotonic,
    tolerance,
  }
}
