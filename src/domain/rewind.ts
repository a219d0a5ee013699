/** @module Manual rollback to an earlier step on the lineage of the current context. Pure. */
import type { RunState } from '../../projections/run-state.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { Rollback } from '../../schemas/requests.ts'
import { append, type Decision, mustBeOpen, mustNotBeForked, refuse } from './decision.ts'
import { callsSince, placeOf } from './handoff.ts'
import { type Refusal, refusal } from './refusal.ts'

/** Rolls back to `toStep`; the default is the accepted step before the current one. */
export function decideRollback(
  state: RunState,
  command: Rollback & { readonly contextAt: (revision: number) => JsonObject | undefined },
): Decision {
  const closed = mustBeOpen(state, command.runFence) ?? mustNotBeForked(state)
  if (closed !== undefined) return refuse(closed)

  const now = state.lineage.at(-1)
  const target =
    command.toStep === undefined ? state.lineage.at(-2) : state.lineage.find((each) => each.step === command.toStep)
  if (now === undefined || target === undefined) return refuse(noSuchStep(state, command.toStep))
  if (target.step === now.step) return refuse(noSuchStep(state, command.toStep))

  const restored = command.contextAt(target.revision)
  if (restored === undefined) return { kind: 'needs-context', revision: target.revision }
  return append({
    type: 'RunRewound',
    data: {
      v: 1,
      fromStep: now.step,
      toStep: target.step,
      snapshot: target.revision,
      cause: 'rollback',
      reason: command.reason,
      ...placeOf(command),
      context: target.context,
      restored,
      callsSince: callsSince(state, target.revision),
    },
  })
}

function noSuchStep(state: RunState, toStep: number | undefined): Refusal {
  const steps = state.lineage.slice(0, -1).map((each) => each.step)
  if (steps.length === 0) return refusal('nothing-to-roll-back', 'no step was accepted before the one established now')
  return refusal('unknown-step', `step ${toStep} is not one that leads to the context now`, {
    pointer: '/toStep',
    evidence: { steps: steps.slice(-20) },
  })
}
