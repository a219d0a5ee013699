/** @module Merges two declarations so that the stricter one applies; used to combine the policies of tenant, run and manifest. */
import type { PlacePolicy } from '../../../../schemas/place-policy.ts'

/** Whichever of the two is later in `order`; undefined if both are. */
function later<T extends string>(order: readonly T[], a: T | undefined, b: T | undefined): T | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return order.indexOf(b) > order.indexOf(a) ? b : a
}

type Declared = Pick<
  PlacePolicy,
  | 'lists'
  | 'monotonic'
  | 'tolerance'
  | 'immutable'
  | 'invariants'
  | 'supersede'
  | 'minConfidence'
  | 'ungrounded'
  | 'restated'
  | 'judge'
  | 'suspect'
  | 'enforce'
  | 'declare'
  | 'approve'
  | 'evidence'
  | 'overshoot'
>

/** For the rule of a single place, `first` takes precedence; bounds and rights are the stricter of both. */
export function stricter(first: Declared, second: Declared): Declared {
  const merged = {
    ungrounded: later(['off', 'warn', 'reject'], first.ungrounded, second.ungrounded),
    restated: later(['off', 'warn', 'sure', 'reject'], first.restated, second.restated),
    judge: later(['warn', 'reject'], first.judge, second.judge),
    suspect: later(['record', 'hold', 'refuse'], first.suspect, second.suspect),
    enforce: later(['record', 'refuse'], first.enforce, second.enforce),
    declare: later(['reasoned', 'none'], first.declare, second.declare),
    overshoot: later(['record', 'refuse'], first.overshoot, second.overshoot),
    lists: both(second.lists, first.lists),
    monotonic: both(second.monotonic, first.monotonic),
    tolerance: both(second.tolerance, first.tolerance),
    immutable: joined(first.immutable, second.immutable),
    invariants: joined(first.invariants, second.invariants),
    approve: joined(first.approve, second.approve),
    evidence: joined(first.evidence, second.evidence),
    supersede: bothSupersede(first.supersede, second.supersede),
    minConfidence: highest(first.minConfidence, second.minConfidence),
  }
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined)) as Declared
}

function both<T>(under: Record<string, T> | undefined, over: Record<string, T> | undefined): typeof over {
  return under === undefined || over === undefined ? (over ?? under) : { ...under, ...over }
}

function joined<T>(a: readonly T[] | undefined, b: readonly T[] | undefined): T[] | undefined {
  if (a === undefined && b === undefined) return undefined
  const byText = new Map([...(a ?? []), ...(b ?? [])].map((each) => [JSON.stringify(each), each]))
  return [...byText.values()]
}

function highest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b)
}

type Rights = PlacePolicy['supersede']

function bothSupersede(first: Rights, second: Rights): Rights {
  if (first === undefined || second === undefined) return first ?? second
  const roles =
    first.roles === undefined ? second.roles : first.roles.filter((role) => second.roles?.includes(role) ?? true)
  return {
    ...(roles === undefined ? {} : { roles }),
    reasonMinChars: Math.max(first.reasonMinChars ?? 1, second.reasonMinChars ?? 1),
    never: joined(first.never, second.never) ?? [],
  }
}
