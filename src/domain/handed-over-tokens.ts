/** @module The tokens of a handoff under a policy that says `overshoot: "refuse"`: what would pass a limit is refused, and charged to nobody (RUN-80). */
import { envelopeCharge } from '../../projections/run-budget.ts'
import type { ManifestState, RunState } from '../../projections/run-state.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { PostEnvelope } from '../../schemas/requests.ts'
import type { Failure } from '../../schemas/values.ts'
import { exceededRefusal, expiredDraft, expiredReservations } from './budget.ts'
import type { Env, Refused } from './decision.ts'
import { budgetExceeded, type Exceeded, findExceeded } from './limits.ts'

type HandedOver = Pick<PostEnvelope, 'agent' | 'tokens'>
type Placed = HandedOver &
  Pick<PostEnvelope, 'payload' | 'add' | 'mode' | 'supersedes' | 'manifestHash' | 'scope' | 'occurrence'>

interface Judged {
  readonly manifest: ManifestState | undefined
  readonly env: Env
}

/** The limit that these tokens would pass; undefined where they fit, or where overshoot is only recorded. */
function tokensOverLimit(state: RunState, handed: HandedOver, { manifest, env }: Judged): Exceeded | undefined {
  const refuses = [state.policy, manifest?.manifest.policy].some((policy) => policy?.overshoot === 'refuse')
  if (!refuses) return undefined
  const { agent } = handed
  return findExceeded(
    state,
    { agent, tokens: envelopeCharge(state, handed), cost: '0' },
    expiredReservations(state, env),
  )
}

/** Why the output of a branch is refused for its tokens. */
export function tokensFault(state: RunState, handed: HandedOver, inputs: Judged): Failure | undefined {
  const exceeded = tokensOverLimit(state, handed, inputs)
  if (exceeded === undefined) return undefined
  const { code, detail, evidence } = budgetExceeded(exceeded)
  return { code, message: detail, details: evidence as JsonObject }
}

/** On record with the place that the handoff was requested at, so that a resume is served the refusal. */
export function refusedTokens(state: RunState, envelope: Placed, inputs: Judged): Refused | undefined {
  const { env } = inputs
  const exceeded = tokensOverLimit(state, envelope, inputs)
  if (exceeded === undefined) return undefined
  const ended = expiredReservations(state, env).map(expiredDraft)
  return exceededRefusal(state, env, { exceeded, ended, of: { handoff: placeOf(envelope, env) } })
}

function placeOf(envelope: Placed, env: Env): NonNullable<EventBody<'BudgetExceeded'>['handoff']> {
  const { mode = 'replace', payload, add = null, supersedes = null, manifestHash = null, scope, occurrence } = envelope
  return {
    content: env.digestOf({ mode, payload, add, supersedes, manifestHash } as JsonObject),
    ...(scope === undefined ? {} : { scope }),
    ...(occurrence === undefined ? {} : { occurrence }),
  }
}
