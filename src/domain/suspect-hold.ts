/** @module Calls that wait for a person while their run has an open suspect, and the suspects that the approval shows (JUD-65, JUD-66). Pure. */
import type { ApprovalState } from '../../projections/approval-state.ts'
import { type RunState, safeKey } from '../../projections/run-state.ts'
import { countSuspects, openSuspects, type SuspectState } from '../../projections/suspect-state.ts'
import type { ApprovalNeed } from '../../schemas/approval.ts'
import type { ClaimCall } from '../../schemas/requests.ts'
import type { Phase } from '../../schemas/values.ts'
import { withManifestPolicy } from './validator/policy/with-manifest.ts'

/** Maximum number of suspects listed in the reason of an approval, and maximum length of each path in it, in characters. */
const TOLD_MAX = 10
const TOLD_PATH_MAX_CHARS = 60

interface HeldClaim {
  readonly claim: ClaimCall
  readonly phase: Phase
  readonly actor: string
}

/** The suspects that a call waits for under `suspect: "hold"`. Calls without effects, model calls and compensations wait for none. */
export function holdingSuspects(state: RunState, { claim, phase, actor }: HeldClaim): readonly SuspectState[] {
  if (state.suspects.length === 0 || phase !== 'forward' || claim.effects === 'none') return []
  const { manifest } = state.manifests[safeKey(claim.agent ?? actor)] ?? {}
  return withManifestPolicy(state.policy, manifest?.policy).suspect === 'hold' ? openSuspects(state) : []
}

/** Whether a pending or granted approval does not show one of these suspects to the people who decide on it. */
export function hidesOf({ status, needs }: ApprovalState, suspects: readonly SuspectState[]): boolean {
  if (status !== 'pending' && status !== 'granted') return false
  const shown = new Set(needs.flatMap((need) => need.suspects ?? []))
  return suspects.some(({ id }) => !shown.has(id))
}

/** Whether an approval has become moot: only suspects required it, and each of them was explained or confirmed since. */
export function isMoot({ suspects }: RunState, { status, needs }: ApprovalState): boolean {
  if (status !== 'pending' && status !== 'expired') return false
  const closed = new Set(suspects.flatMap((each) => (each.closed === undefined ? [] : [each.id])))
  return needs.every(({ source, suspects: shown = [] }) => source === 'suspect' && shown.every((id) => closed.has(id)))
}

export function suspectNeed(suspects: readonly SuspectState[]): ApprovalNeed {
  const total = countSuspects(suspects)
  const told = suspects.slice(0, TOLD_MAX).map(toldOf).join('; ')
  const more = suspects.length > TOLD_MAX ? '; and more' : ''
  return {
    source: 'suspect',
    reason: `the run has ${total === 1 ? 'an open suspect' : `${total} open suspects`}: ${told}${more}`,
    quorum: 1,
    suspects: suspects.map(({ id }) => id),
  }
}

/** One suspect as text. A missing `after` means that the value was removed or is too long to show; the list of suspects has it. */
function toldOf({ id, path, agent, count, before, after }: SuspectState): string {
  if (count > 1 || path === '') return `${id} (${count} places of ${agent} that are not named)`
  const place = path.length <= TOLD_PATH_MAX_CHARS ? path : `${path.slice(0, TOLD_PATH_MAX_CHARS)}…`
  const change =
    before === undefined ? '' : ` ${JSON.stringify(before)} -> ${JSON.stringify(after) ?? '(gone or long)'}`
  return `${id} ${place}${change} (${agent})`
}
