/** @module Finds members of a policy that would have no effect because another member takes precedence (JUD-72). Pure. */
import { parsePointer } from './json-pointer.ts'
import type { Move, PlacePolicy } from './place-policy.ts'
import { DEFAULT_CRITICAL_KEYS } from './value-forms.ts'

interface Declared extends PlacePolicy {
  readonly moves?: readonly Move[] | undefined
  readonly free?: readonly string[] | undefined
  readonly freeOnly?: readonly string[] | undefined
  readonly protect?: '*' | readonly string[] | undefined
  readonly criticalKeys?: readonly string[] | undefined
}

interface Fault {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** Members without effect in one policy, as written. */
export function withoutEffect(policy: Declared): readonly Fault[] {
  return [...twiceDeclared(policy), ...movesThatStay(policy), ...keysNotFreed(policy), ...ungoverned(policy)]
}

/** A place may have only one member that declares how it changes. */
function twiceDeclared({ moves = [], monotonic = {}, tolerance = {} }: Declared): readonly Fault[] {
  const faults: Fault[] = []
  const kinds = new Map<string, string>()
  for (const [i, { path, as }] of moves.entries()) {
    const known = kinds.get(path)
    if (known !== undefined)
      faults.push({ path: ['moves', i], message: `has no effect: moves declares ${path} as ${known} before; keep one` })
    else kinds.set(path, as)
  }
  for (const [member, places] of Object.entries({ monotonic, tolerance })) {
    for (const path of Object.keys(places)) {
      const other = kinds.has(path) ? `moves declares it as ${kinds.get(path)}` : undefined
      const first = member === 'tolerance' && Object.hasOwn(monotonic, path) ? 'monotonic speaks of it' : other
      if (first === undefined) continue
      faults.push({ path: [member, path], message: `has no effect at ${path}: ${first}; keep one of the two` })
    }
  }
  return faults
}

function movesThatStay({ moves = [], immutable = [], supersede, invariants = [] }: Declared): readonly Fault[] {
  const stays = [...immutable, ...(supersede?.never ?? [])]
  return moves.flatMap(({ path, as, by }, i): Fault[] => {
    const above = stays.find((each) => leadsTo(each, path))
    if (above !== undefined) {
      const message = `has no effect: immutable, or supersede.never, says that ${above} stays; take one of the two out`
      return [{ path: ['moves', i], message }]
    }
    if (as !== 'derived' || invariants.some(({ name }) => name === by)) return []
    const message = `names no invariant of this policy: nothing would hold ${path}; write one called ${by} under invariants`
    return [{ path: ['moves', i, 'by'], message }]
  })
}

function leadsTo(above: string, path: string): boolean {
  const [first, second] = [parsePointer(above) ?? [], parsePointer(path) ?? []]
  return first.length <= second.length && first.every((token, i) => token === '*' || token === second[i])
}

function keysNotFreed({ free = [], freeOnly, protect, criticalKeys }: Declared): readonly Fault[] {
  if (freeOnly !== undefined && free.length > 0)
    return [{ path: ['free'], message: 'has no effect beside freeOnly, which replaces it; name the keys there' }]
  const member = freeOnly === undefined ? 'free' : 'freeOnly'
  return (freeOnly ?? free).flatMap((key, i): Fault[] => {
    const isCritical = (criticalKeys ?? DEFAULT_CRITICAL_KEYS).includes(key)
    if (!isCritical && !(Array.isArray(protect) && protect.includes(key))) return []
    const why = isCritical
      ? `${key} is a critical key${criticalKeys === undefined ? ' by default; name the critical ones in criticalKeys, without it' : '; take it out of one'}`
      : 'protect names it as well; take it out of one'
    return [{ path: [member, i], message: `has no effect: ${why}` }]
  })
}

/** Finds places that a policy declares below a key that is exempt from judgement. Also applied to the merge of a run's and its tenant's policy. */
export function ungoverned(policy: Declared): readonly Fault[] {
  const { free = [], freeOnly, protect, criticalKeys = DEFAULT_CRITICAL_KEYS } = policy
  const member = freeOnly === undefined ? 'free' : 'freeOnly'
  const freed = (freeOnly ?? free).map(folded)
  return placesIn(policy).flatMap(([name, path]): Fault[] => {
    const key = (parsePointer(path) ?? [])[0] ?? '*'
    if (key === '*' || criticalKeys.includes(key) || (Array.isArray(protect) && protect.includes(key))) return []
    const at = freed.indexOf(folded(key))
    if (at < 0) return []
    const message = `frees ${key}, so that ${name} has no effect at ${path}; take one of the two out`
    return [{ path: [member, at], message }]
  })
}

function placesIn(policy: Declared): readonly (readonly [member: string, path: string])[] {
  const { immutable = [], supersede, moves = [], monotonic = {}, tolerance = {}, lists = {} } = policy
  return [
    ...immutable.map((path) => ['immutable', path] as const),
    ...(supersede?.never ?? []).map((path) => ['supersede.never', path] as const),
    ...moves.map(({ path }) => ['moves', path] as const),
    ...Object.entries({ monotonic, tolerance, lists }).flatMap(([member, places]) =>
      Object.keys(places).map((path) => [member, path] as const),
    ),
  ]
}

/** The form in which free keys are compared. */
function folded(key: string): string {
  return key.toLowerCase().replace(/[\s_-]+/g, '')
}
