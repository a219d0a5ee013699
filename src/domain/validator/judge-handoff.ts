/** @module Judges a handoff: the resulting context as sent, under the run's policy and the agent's manifest. */
import { addToContext } from '../../../projections/extend.ts'
import type { ManifestState, RunState } from '../../../projections/run-state.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Move } from '../../../schemas/place-policy.ts'
import type { PostEnvelope } from '../../../schemas/requests.ts'
import { withRedacted } from '../redaction/judge-redacted.ts'
import { type Sent, sentBody } from '../redaction/sent.ts'
import type { Yielding } from '../yielding.ts'
import type { ManifestMoves } from './declared/declarations.ts'
import { placesOfSchema } from './declared/schema-places.ts'
import type { Evidence } from './evidence.ts'
import { agentAt, withEstablishingStep } from './grounding/established-since.ts'
import type { Judgement } from './judge-at-once.ts'
import { withManifestPolicy } from './policy/with-manifest.ts'
import { type HandoffInput, judgeHandoff } from './validate.ts'

export interface Judging {
  readonly context: JsonObject
  readonly manifest: ManifestState | undefined
  readonly evidence: Evidence
  /** The declarations in force, if they are more than those in the run's state. */
  readonly granted?: readonly Move[] | undefined
  /** The manifests that declare moving places, if they are not only that of the handing-over agent. */
  readonly declaring?: readonly ManifestState[] | undefined
  /** The command as sent, if a part of it was redacted. */
  readonly sent?: Sent | undefined
}

type Judged = Pick<PostEnvelope, 'agent' | 'payload' | 'add' | 'supersedes' | 'moves' | 'tokens'>

export function* judge(state: RunState, envelope: Judged, input: Judging): Yielding<Judgement> {
  const sent = sentHandoff(input.sent)
  const verdict = yield* judgeHandoff(handoffInput(state, envelope, input, sent))
  const judged = sent === undefined ? verdict : withRedacted(verdict, { context: state.context, ...sent })
  if (state.policy.base === 'relay') return judged
  return { ...judged, findings: withEstablishingStep(judged.findings, state, input.evidence.results.since) }
}

/** `output` is the payload as sent, if it differs from the recorded one. */
export function handoffInput(
  state: RunState,
  envelope: Judged,
  input: Judging,
  output: Pick<PostEnvelope, 'payload' | 'add'> = envelope,
): HandoffInput {
  const { manifest } = input.manifest ?? {}
  return {
    before: state.context,
    after: input.context,
    policy: policyOf(state, manifest),
    agent: envelope.agent,
    evidence: input.evidence,
    first: state.step === 0,
    payload: manifest?.schema === undefined ? undefined : delegated(output, state.policy),
    supersedes: envelope.supersedes,
    moves: envelope.moves,
    inForce: input.granted ?? state.declared,
    ofManifests: (input.declaring ?? [input.manifest]).flatMap(movesOf),
    establishedBy: (place) => agentAt(state, place, input.evidence.results.since),
    writes: manifest?.writes,
    schema: manifest?.schema,
    maxTokens: manifest?.maxTokens,
    tokens: envelope.tokens,
  }
}

function policyOf({ policy }: RunState, manifest: ManifestState['manifest'] | undefined): RunState['policy'] {
  const declared = withManifestPolicy(policy, manifest?.policy)
  return manifest?.schema === undefined
    ? declared
    : withManifestPolicy(declared, placesOfSchema(manifest.schema).policy)
}

function movesOf(manifest: ManifestState | undefined): readonly ManifestMoves[] {
  const { moves = [], schema } = manifest?.manifest ?? {}
  const all = schema === undefined ? moves : [...moves, ...placesOfSchema(schema).moves]
  return manifest === undefined || all.length === 0 ? [] : [{ agent: manifest.agent, moves: all }]
}

/** The payload as sent: the agent's schema applies to it, and an unredacted value that is equal to the recorded one is no contradiction. */
function sentHandoff(
  sent: Sent | undefined,
): (Pick<PostEnvelope, 'payload' | 'add'> & Pick<Sent, 'leftOut'>) | undefined {
  if (sent === undefined) return undefined
  const envelope = sentBody(sent, 'envelope')?.body
  if (envelope !== undefined) return { payload: envelope.payload, add: envelope.add, leftOut: sent.leftOut }
  const branch = sentBody(sent, 'branch')?.body
  return branch?.output === undefined ? undefined : { payload: branch.output, add: branch.add, leftOut: sent.leftOut }
}

/** The value that the schema of the agent's payloads applies to; `add` counts as a part of the payload. */
function delegated({ payload, add }: Pick<PostEnvelope, 'payload' | 'add'>, policy: RunState['policy']): JsonObject {
  return add === undefined ? payload : addToContext(payload, add, policy)
}
