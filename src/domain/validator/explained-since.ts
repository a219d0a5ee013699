/** @module Finds the open suspects that a handoff explains: by a supersession, by a declaration, or by a tool result received since (JUD-62). Pure. */
import { placeKey } from '../../../projections/place-key.ts'
import { heldMoves } from '../../../projections/run.ts'
import type { RunState } from '../../../projections/run-state.ts'
import { openSuspects, type SuspectState } from '../../../projections/suspect-state.ts'
import type { EventBody } from '../../../schemas/events.ts'
import type { Finding } from '../../../schemas/finding.ts'
import { isEqual, isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { parsePointer, valueAt } from '../../../schemas/json-pointer.ts'
import type { ResolvedPolicy } from '../../../schemas/policy.ts'
import type { PostEnvelope } from '../../../schemas/requests.ts'
import type { Yielding } from '../yielding.ts'
import type { Evidence } from './evidence.ts'
import { isCovered } from './supersedes.ts'
import { judgeHandoff } from './validate.ts'

export type SuspectsClosed = NonNullable<EventBody<'EnvelopeAccepted'>['suspectsClosed']>

export interface Explaining {
  readonly envelope: Pick<PostEnvelope, 'agent' | 'supersedes' | 'moves'>
  /** Findings of the verdict on the handoff. */
  readonly findings: readonly Finding[]
  readonly movesRefused?: readonly number[] | undefined
  readonly policy: ResolvedPolicy
  readonly evidence: Evidence
}

interface Named {
  readonly suspect: SuspectState
  readonly tokens: readonly string[]
}

export function* explainedSince(state: RunState, handoff: Explaining): Yielding<SuspectsClosed> {
  const named = openSuspects(state).flatMap((suspect): Named[] => {
    const tokens = suspect.path === '' ? undefined : parsePointer(suspect.path)
    // By now, another member may be at the same index.
    return tokens === undefined || placeKey(state.context, tokens) !== suspect.place ? [] : [{ suspect, tokens }]
  })
  const superseded = supersededOf(named, handoff)
  const left = named.filter((each) => !superseded.includes(each))
  return [
    ...superseded.map(({ suspect: { id } }) => ({ id, by: 'supersession' as const })),
    ...(yield* judgedAgain(state, left, handoff)),
  ]
}

/** One entry explains one suspect: if several are open below its path, each needs its own entry, as for changes (JUD-27). */
function supersededOf(named: readonly Named[], { envelope, findings }: Explaining): readonly Named[] {
  const wrong = new Set(findings.flatMap(({ rule, path }) => (rule === 'supersedes-invalid' ? [path] : [])))
  const entries = (envelope.supersedes ?? []).filter(({ path }) => !wrong.has(path) || isAbsent(named, path))
  return entries.flatMap(({ path }) => {
    const tokens = parsePointer(path) ?? []
    const exact = named.filter(({ suspect }) => suspect.path === path)
    if (exact.length > 0) return exact
    const below = named.filter((each) => tokens.length > 0 && isCovered([tokens], each.tokens))
    return new Set(below.map(({ suspect }) => suspect.path)).size === 1 ? below : []
  })
}

/** Whether the path is of a suspect whose value was removed: no context contains it, but it can still be superseded. */
function isAbsent(named: readonly Named[], path: string): boolean {
  return named.some(({ suspect }) => suspect.path === path && suspect.after === undefined)
}

/** Judges the same changes again with current evidence and declarations. Suspects that these do not explain stay open. */
function* judgedAgain(
  state: RunState,
  named: readonly Named[],
  { envelope, movesRefused = [], policy, evidence }: Explaining,
): Yielding<SuspectsClosed> {
  const moves = heldMoves({ moves: envelope.moves, movesRefused: [...movesRefused] })
  if (moves.length === 0 && (evidence.results.index?.size ?? 0) === 0 && evidence.results.waiting.length === 0)
    return []
  const again = named.filter(({ suspect, tokens }) => isAsItCame(state.context, suspect, tokens))
  if (again.length === 0) return []
  const before = again.reduce<Json>(
    (context, { suspect, tokens }) => withValue(context, tokens, suspect.before as Json),
    state.context,
  ) as JsonObject
  const inForce = [...state.declared, ...moves]
  const judged = yield* judgeHandoff({ before, after: state.context, policy, evidence, inForce, agent: envelope.agent })
  if (judged.findingsTotal > judged.findings.length) return []
  return again.flatMap(({ suspect: { id, path }, tokens }): SuspectsClosed => {
    const found = judged.findings.filter((finding) => finding.path === path)
    if (found.some(({ rule }) => rule === 'moved-by-tool')) return [{ id, by: 'tool' }]
    const isUnexplained = found.some(({ severity }) => severity !== 'info')
    return !isUnexplained && moves.some((move) => names(move, tokens)) ? [{ id, by: 'declaration' }] : []
  })
}

/** Whether the place still has the suspect value, and its earlier value is known. */
function isAsItCame(context: JsonObject, { before, after }: SuspectState, tokens: readonly string[]): boolean {
  if (before === undefined) return false
  const now = valueAt(context, tokens)
  if (after === undefined) return now === undefined && isJsonObject(valueAt(context, tokens.slice(0, -1)) ?? null)
  return now !== undefined && isEqual(now, after)
}

function withValue(holder: Json, [token, ...below]: readonly string[], value: Json): Json {
  if (token === undefined) return value
  if (Array.isArray(holder)) return holder.map((each, i) => (`${i}` === token ? withValue(each, below, value) : each))
  if (!isJsonObject(holder)) return holder
  return { ...holder, [token]: withValue(holder[token] ?? null, below, value) }
}

function names({ path, as }: { readonly path: string; readonly as: string }, place: readonly string[]): boolean {
  const tokens = parsePointer(path) ?? []
  const fits = as === 'log' ? tokens.length <= place.length : tokens.length === place.length
  return fits && tokens.every((token, i) => token === '*' || token === place[i])
}
