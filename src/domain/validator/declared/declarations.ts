/** @module Declarations of moving places that an agent makes with its handoff: which are in force, and why the others are not (JUD-45). */
import { keyWords } from '../../../../projections/key-words.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { parsePointer, valueAt } from '../../../../schemas/json-pointer.ts'
import type { Declaration, Move } from '../../../../schemas/place-policy.ts'
import type { ResolvedPolicy } from '../../../../schemas/policy.ts'
import { isPlacePointer, MOVE_KINDS } from '../../../../schemas/value-forms.ts'
import { type PlaceRules, rootRules, rulesBelow } from '../established/place-rules.ts'
import type { IsEvident } from '../grounding/evident.ts'
import { isSentence } from '../lists/match-scalars.ts'
import { readTime } from '../meaning/dates.ts'
import { isClockKey, isCounterKey, isCountingKey } from '../meaning/rising.ts'
import { addFinding, type Report } from '../report.ts'
import { isPlainReason } from '../supersedes.ts'
import { isWholeContext, type Trunk, topKey } from '../trunk.ts'

/** Maximum number of places of a context that one declaration may match. */
const PLACES_MAX = 1000

/** The inputs that decide whether an agent may declare a place. */
export interface DeclarationRights {
  /** The start of the context. */
  readonly trunk: Trunk
  readonly before: JsonObject
  readonly policy: ResolvedPolicy
  readonly agent: string | undefined
  /** Whether a tool answered the established value of a place. */
  readonly isEvident: IsEvident
  /** Returns the agent that established the value of a place. */
  readonly establishedBy: (place: readonly string[]) => string | undefined
}

/** Declarations of an agent's manifest: they apply to that agent's own handoffs, each time by the rights it has at that moment (JUD-71). */
export interface ManifestMoves {
  readonly agent: string
  readonly moves: readonly Declaration[]
}

/** All declarations for a handoff: its own, those in force already, and those of manifests (its agent's; for a join, those of its branches' agents). */
export interface Declared {
  readonly moves: readonly Declaration[]
  readonly inForce: readonly Move[]
  readonly ofManifests: readonly ManifestMoves[]
}

/** The policy of a handoff including valid declarations, the indexes of its own declarations that are refused, and the rights they were judged by. */
export interface UnderDeclarations {
  readonly policy: ResolvedPolicy
  readonly movesRefused: number[]
  readonly rights: DeclarationRights
}

/**
 * Adds to the policy the declarations in force in this run and the agent's own valid ones. The invalid ones become findings, which refuse
 * the handoff if the policy refuses suspects.
 */
export function underDeclarations(
  asked: DeclarationRights,
  { moves, inForce, ofManifests }: Declared,
  report: Report,
): UnderDeclarations {
  const recorded = withMoves(asked.policy, inForce)
  const standing = ofManifests.flatMap(({ agent, moves: declared }) =>
    holding(declared, { ...asked, agent, policy: recorded }, (i, fault, path) => {
      const message = `moves/${i} of the manifest of ${agent}: is not in force: ${fault}`
      addFinding(report, { rule: 'declaration-refused', severity: 'warning', path, message })
    }),
  )
  const policy = withMoves(recorded, standing)
  const rights = { ...asked, policy }
  const movesRefused: number[] = []
  const held = holding(moves, rights, (i, fault, path) => {
    movesRefused.push(i)
    const severity = policy.suspect === 'record' || policy.suspect === 'hold' ? 'warning' : 'error'
    const message = `moves/${i}: is not in force: ${fault}`
    addFinding(report, { rule: 'declaration-refused', severity, path, message })
  })
  return { policy: withMoves(policy, held), movesRefused, rights }
}

/** Returns the declarations that the agent may make, and reports the reason for each other one. */
function holding(
  moves: readonly Declaration[],
  rights: DeclarationRights,
  refuse: (index: number, fault: string, path: string) => void,
): readonly (Declaration & Move)[] {
  return moves.filter((move, i): move is Declaration & Move => {
    const fault = declarationFault(move, rights)
    if (fault !== undefined) refuse(i, fault, move.path)
    return fault === undefined
  })
}

/** The fault of a manifest's declaration that is invalid for every context. */
export function manifestMoveFault(move: Declaration, agent: string, policy: ResolvedPolicy): string | undefined {
  // `declare` is ignored: under a policy that lets no agent declare, the manifest is accepted and each handoff reports the refusal.
  const { declare: _, ...declaring } = policy
  const [isEvident, establishedBy] = [() => false, () => agent]
  return declarationFault(move, { trunk: [], before: {}, policy: declaring, agent, isEvident, establishedBy })
}

/** Cache of joined policies: the list of declarations in force changes only with a handoff that declares something, or with a rollback. */
const known = new WeakMap<readonly Move[], { readonly policy: ResolvedPolicy; readonly joined: ResolvedPolicy }>()

function withMoves(policy: ResolvedPolicy, moves: readonly Move[]): ResolvedPolicy {
  if (moves.length === 0) return policy
  const made = known.get(moves)
  // The manifest of another agent leads to another policy within the same run.
  if (made?.policy === policy) return made.joined
  const joined = { ...policy, moves: [...(policy.moves ?? []), ...moves] }
  known.set(moves, { policy, joined })
  return joined
}

/** Why this agent may not make this declaration; undefined if it may. */
function declarationFault({ path, as, by, reason }: Declaration, rights: DeclarationRights): string | undefined {
  const { policy } = rights
  const tokens = parsePointer(path)
  if (tokens === undefined || !isPlacePointer(path))
    return 'the path is no JSON Pointer (RFC 6901) below the whole context'
  if (!isKind(as)) return `a place moves as ${MOVE_KINDS.join(', ')}, not as ${as}`
  if (policy.declare === 'none') return 'the policy lets no agent declare what moves'
  if (!isPlainReason(reason)) return 'the reason must not be blank'
  if (as === 'free' || as === 'state') return `only a policy declares a place as ${as}`
  if (by !== undefined && as !== 'gauge' && as !== 'derived') return 'only a gauge and a derived place have by'
  if (as === 'gauge' && by !== undefined && !isPlacePointer(by)) return 'of a gauge, by is a JSON Pointer'
  if (as === 'derived' && policy.invariants?.some(({ name }) => name === by) !== true)
    return `the policy has no invariant called ${by}`
  return placeFault(tokens, as, rights)
}

/** Why this agent may not declare the places that a parsed path names as this kind; undefined if it may. */
export function placeFault(tokens: readonly string[], as: Move['as'], rights: DeclarationRights): string | undefined {
  if (tokens.includes('**')) return 'a declaration names its places one level at a time: ** is for policies'
  return keyFault(tokens, rights) ?? rulesFault(tokens, as, rights.policy) ?? placesFault(tokens, as, rights)
}

function isKind(as: string): as is Move['as'] {
  return (MOVE_KINDS as readonly string[]).includes(as)
}

function keyFault(tokens: readonly string[], { policy, trunk }: DeclarationRights): string | undefined {
  const { criticalKeys, protect } = policy
  const key = topKey(tokens, trunk)
  if (isWholeContext(tokens, trunk)) return 'it is the whole context; name what moves'
  const isNamed = criticalKeys.includes(key) || (Array.isArray(protect) && protect.includes(key))
  return isNamed || key === '*' ? 'it lies below a critical key, of which only a policy says what moves' : undefined
}

/** A declaration of the policy takes precedence. */
function rulesFault(tokens: readonly string[], as: Move['as'], policy: ResolvedPolicy): string | undefined {
  const { immutable, never, monotonic, tolerance, move } = tokens.reduce<PlaceRules>(rulesBelow, rootRules(policy))
  if (immutable) return 'the policy says that this does not change'
  if (never) return 'the policy does not let this be superseded'
  if (monotonic !== undefined || tolerance !== undefined) return 'the policy says already how this changes'
  return move === undefined || move.as === as ? undefined : `the policy declares it as ${move.as}`
}

function placesFault(tokens: readonly string[], as: Move['as'], rights: DeclarationRights): string | undefined {
  const places = tokens.includes('*') ? placesAt(rights.before, tokens) : [tokens]
  if (places === undefined) return `it names more than ${PLACES_MAX} places`
  for (const place of places) {
    const value = valueAt(rights.before, place) ?? null
    if (value === null) continue
    const fault = formFault(value, as) ?? rightFault(place, value, as, rights)
    if (fault !== undefined) return `${fault} (/${place.join('/')})`
  }
  return undefined
}

/** Why a value cannot move as this kind, whichever agent declares it; undefined if it can. */
export function formFault(value: Json, as: Move['as']): string | undefined {
  if ((as === 'log') !== Array.isArray(value))
    return as === 'log' ? 'a log is a list' : 'it holds a list, and no single value'
  if (typeof value === 'object' && as !== 'log') return 'it holds an object, and no single value'
  if (as === 'done' && typeof value !== 'boolean') return 'what gets done is false before, and true then'
  if (as === 'text' && typeof value !== 'string') return 'it is no text'
  if (as === 'counter' && !isMeasure(value)) return 'a counter is a number'
  if (as === 'clock' && typeof value !== 'number' && (typeof value !== 'string' || readTime(value) === undefined))
    return 'a clock is a time'
  return undefined
}

function isMeasure(value: Json): boolean {
  return typeof value === 'number' || (typeof value === 'string' && /\d/.test(value))
}

/** An agent may declare most kinds only for values it established itself, and what remains only if no tool answered the value. */
function rightFault(
  place: readonly string[],
  value: Json,
  as: Move['as'],
  { isEvident, establishedBy, agent }: DeclarationRights,
): string | undefined {
  const owner = establishedBy(place)
  if (owner !== agent && !isSharedBook(place, value, as))
    return `it was established by ${owner === '' ? 'the start of the run' : owner}, not by this agent`
  if (as === 'gauge' || as === 'cursor' || as === 'done') return undefined
  return leavesBelow(place, value).some(([at, before]) =>
    isEvident({ kind: 'removed', place: at, before, after: undefined }),
  )
    ? 'a recorded result has this value'
    : undefined
}

/** Whether a value is bookkeeping that agents continue for one another: a log, prose, or a number or time whose key says that it counts or is a clock. */
function isSharedBook(place: readonly string[], value: Json, as: Move['as']): boolean {
  const words = keyWords(place.at(-1) ?? '')
  if (as === 'counter') return isCounterKey(words) || isCountingKey(words)
  if (as === 'clock') return isClockKey(words)
  if (as === 'text') return typeof value === 'string' && isSentence(value)
  return as === 'log' || as === 'derived'
}

function leavesBelow(place: readonly string[], value: Json): (readonly [readonly string[], Json])[] {
  if (typeof value !== 'object' || value === null) return [[place, value]]
  return Object.entries(value).flatMap(([key, member]) => leavesBelow([...place, key], member as Json))
}

/** The places of a document that a pointer matches, with `*` for any member; undefined if there are too many. */
export function placesAt(document: Json, tokens: readonly string[]): readonly (readonly string[])[] | undefined {
  let places: (readonly string[])[] = [[]]
  for (const token of tokens) {
    places = places.flatMap((place) => {
      const value = valueAt(document, place) ?? null
      if (typeof value !== 'object' || value === null) return []
      const keys = token === '*' ? Object.keys(value) : Object.hasOwn(value, token) ? [token] : []
      return keys.map((key) => [...place, key])
    })
    if (places.length > PLACES_MAX) return undefined
  }
  return places
}
