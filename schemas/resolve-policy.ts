/** @module The defaults of a run's policy. Needs no schema library, because the client package resolves policies too. */
import type { PlacePolicy } from './place-policy.ts'
import type { Policy, PolicyObject, ResolvedPolicy } from './policy.ts'
import { presetMoves } from './presets.ts'
import { DEFAULT_CRITICAL_KEYS, RULES_NOW } from './value-forms.ts'

/** Top-level keys for work in progress, whose texts may change freely. Case, `_` and `-` are ignored. */
export const DEFAULT_FREE_KEYS: readonly string[] = (
  'summary notes note draft drafts outline plan next_step next_steps message messages analysis recommendation recommendations progress scratch ' +
  'scratchpad thoughts thinking reasoning comment comments memo log todo todos checklist runbook agenda open_questions answer reply response text output content'
).split(' ')

/** Fills in the defaults. `relay` leaves `ungrounded` off, because the library that it follows has no such rule. */
export function resolvePolicy(input: Policy = 'default'): ResolvedPolicy {
  const inputs: PolicyObject = typeof input === 'string' ? { base: input } : input
  const base = inputs.base ?? 'default'
  const first = {
    base,
    criticalKeys: [...new Set(inputs.criticalKeys ?? DEFAULT_CRITICAL_KEYS)],
    ungrounded: inputs.ungrounded ?? (base === 'relay' ? 'off' : 'warn'),
    ...(inputs.approve === undefined ? {} : { approve: inputs.approve }),
    ...(inputs.overshoot === undefined ? {} : { overshoot: inputs.overshoot }),
    ...(inputs.signals === undefined ? {} : { signals: inputs.signals }),
    ...(inputs.claimFirst === undefined ? {} : { claimFirst: inputs.claimFirst }),
    ...(inputs.redaction === undefined ? {} : { redaction: inputs.redaction }),
  }
  if (base === 'relay') return first
  return {
    ...first,
    rules: RULES_NOW,
    protect: inputs.protect ?? '*',
    ...freeKeysOf(inputs),
    restated: inputs.restated ?? 'sure',
    suspect: inputs.suspect ?? 'record',
    ...movesOf(inputs),
    ...declaredPlaces(inputs),
  }
}

/** Keys that are free with everything below them (`free`), and keys whose texts are free (`prose`). */
export function freeKeysOf({ free, freeOnly, prose }: PolicyObject): {
  readonly free: readonly string[]
  readonly prose: readonly string[]
} {
  return {
    free: [...new Set(freeOnly ?? free ?? [])],
    prose: [...new Set(prose ?? (freeOnly === undefined ? DEFAULT_FREE_KEYS : []))],
  }
}

/** The policy's own declarations of a place come first. */
function movesOf(inputs: PolicyObject): Pick<ResolvedPolicy, 'moves'> {
  if (inputs.preset === undefined) return inputs.moves === undefined ? {} : { moves: inputs.moves }
  return { moves: [...(inputs.moves ?? []), ...presetMoves(inputs)] }
}

function declaredPlaces(
  inputs: PolicyObject,
): Omit<PlacePolicy, 'ungrounded' | 'restated' | 'suspect' | 'approve' | 'overshoot'> {
  const {
    lists,
    monotonic,
    tolerance,
    immutable,
    invariants,
    supersede,
    minConfidence,
    judge,
    enforce,
    declare,
    evidence,
  } = inputs
  return {
    ...(lists === undefined ? {} : { lists }),
    ...(monotonic === undefined ? {} : { monotonic }),
    ...(tolerance === undefined ? {} : { tolerance }),
    ...(immutable === undefined ? {} : { immutable }),
    ...(invariants === undefined ? {} : { invariants }),
    ...(supersede === undefined ? {} : { supersede }),
    ...(minConfidence === undefined ? {} : { minConfidence }),
    ...(judge === undefined ? {} : { judge }),
    ...(enforce === undefined ? {} : { enforce }),
    ...(declare === undefined ? {} : { declare }),
    ...(evidence === undefined ? {} : { evidence }),
  }
}
