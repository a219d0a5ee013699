/** @module The decision on a handoff: accept it, or reject it and keep the context that was established last. */
import { applyMode } from '../../projections/merge.ts'
import { establishedDigest, type ManifestState, type RunState, safeKey } from '../../projections/run-state.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { JsonObject } from '../../schemas/json.ts'
import type { PostEnvelope } from '../../schemas/requests.ts'
import { RULES_NOW } from '../../schemas/value-forms.ts'
import { refusedTokens } from './budget.ts'
import {
  append,
  type Decision,
  type Env,
  mustBeOpen,
  mustNotBeForked,
  mustNotCompensate,
  type Refused,
  refuse,
  refuseOnRecord,
} from './decision.ts'
import { withHandedPlaces } from './handed-place.ts'
import { withJudgement } from './judgement.ts'
import { type Refusal, refusal } from './refusal.ts'
import type { Evidence } from './validator/evidence.ts'
import { explainedSince, type SuspectsClosed } from './validator/explained-since.ts'
import { type Judgement, judgedAtOnce } from './validator/judge-at-once.ts'
import { handoffInput, type Judging, judge } from './validator/judge-handoff.ts'
import { refusesOvershoot, withManifestPolicy } from './validator/policy/with-manifest.ts'
import { isYielding, type Yielding } from './yielding.ts'

/** Maximum size of the established context, in canonical bytes; equal to the maximum size of a payload (REC-15). */
export const CONTEXT_MAX_BYTES = 512 * 1024
/** Size in canonical bytes from which building and serialising a context takes at least a millisecond. */
export const LARGE_BYTES = 64 * 1024

export interface HandoffEnv extends Env {
  readonly evidence: Evidence
  /** Checks the agent's detached JWS; undefined if it is valid. */
  readonly signatureFault: (envelope: SignedEnvelope, manifest: ManifestState | undefined) => string | undefined
  /** Digest of the content that the agent signs. */
  readonly signedDigest: (envelope: SignedEnvelope) => string
  /** The encodings of this signature that older events, which hold no digest of the signed content, may have recorded. */
  readonly signatureSpellings: (signature: string) => readonly string[]
}

export type SignedEnvelope = PostEnvelope & {
  readonly parent: string
  readonly mode: 'replace' | 'merge' | 'extend'
  readonly signed?: string
}

function withDefaults(posted: PostEnvelope, established: string): SignedEnvelope {
  return { ...posted, mode: posted.mode ?? 'replace', parent: posted.parent ?? established }
}

/** Adds the digest of the signed content, if the envelope is signed. */
export function withDigest(envelope: SignedEnvelope, env: HandoffEnv): SignedEnvelope {
  return envelope.signature === undefined ? envelope : { ...envelope, signed: env.signedDigest(envelope) }
}

/** Returns the decision directly if it is cheap, as for most handoffs, because work that yields allocates a generator for each of its functions. */
export function decideHandoff(state: RunState, posted: PostEnvelope, env: HandoffEnv): Decision | Yielding<Decision> {
  const closed = mustBeOpen(state, posted.runFence) ?? mustNotCompensate(state) ?? mustNotBeForked(state)
  if (closed !== undefined) return refuse(closed)

  const established = establishedDigest(state, env.headDigest ?? '')
  const manifest = state.manifests[safeKey(posted.agent)]
  const envelope = withDigest(withDefaults(posted, established), env)
  const wrong = preconditionFault(state, envelope, { posted, established, manifest, env })
  if (wrong !== undefined) return refusedEnvelope(state, env, { wrong, signature: posted.signature })

  const over = refusesOvershoot(state, manifest) ? refusedTokens(state, envelope, env) : undefined
  if (over !== undefined) return over

  const context = applyMode({
    context: state.context,
    payload: posted.payload,
    mode: envelope.mode,
    policy: state.policy,
    add: posted.add,
  })
  const bytes = env.sizeOf(context)
  if (bytes > CONTEXT_MAX_BYTES) return refuse(contextTooLarge(bytes))
  const judging: Judging = { context, manifest, evidence: env.evidence, sent: env.sent }
  if (bytes > LARGE_BYTES || env.sent !== undefined) return judgedHandoff(state, envelope, { bytes, judging, env })
  const verdict = judgedAtOnce(handoffInput(state, envelope, judging))
  return verdict === undefined
    ? judgedHandoff(state, envelope, { bytes, judging, env })
    : asJudged(state, envelope, { judged: verdict, judging, env })
}

function* judgedHandoff(
  state: RunState,
  envelope: SignedEnvelope,
  { bytes, judging, env }: { readonly bytes: number; readonly judging: Judging; readonly env: Env },
): Yielding<Decision> {
  if (bytes > LARGE_BYTES) yield
  const made = asJudged(state, envelope, { judged: yield* judge(state, envelope, judging), judging, env })
  return isYielding(made) ? yield* made : made
}

function asJudged(
  state: RunState,
  envelope: SignedEnvelope,
  { judged, judging, env }: { readonly judged: Judgement; readonly judging: Judging; readonly env: Env },
): Decision | Yielding<Decision> {
  const { context, manifest } = judging
  const policy = withManifestPolicy(state.policy, manifest?.manifest.policy)
  const next = { after: context, supersedes: envelope.supersedes }
  const verdict = policy.judge === 'reject' ? withJudgement(state, next, judged) : judged
  const found = { verdict, judging, policy, env }
  return verdict.findings.length === 0 ? decided(state, envelope, found) : withPlaces(state, envelope, found)
}

interface Found {
  readonly verdict: Judgement
  readonly judging: Judging
  readonly policy: RunState['policy']
  readonly env: Env
}

function* withPlaces(state: RunState, envelope: SignedEnvelope, found: Found): Yielding<Decision> {
  const { payload, add } = envelope
  const handed = { before: state.context, after: found.judging.context, payload, add }
  const made = decided(state, envelope, { ...found, verdict: yield* withHandedPlaces(found.verdict, handed) })
  return isYielding(made) ? yield* made : made
}

function decided(state: RunState, envelope: SignedEnvelope, found: Found): Decision | Yielding<Decision> {
  const { verdict, judging, env } = found
  if (verdict.verdict === 'reject') return rejected(state, envelope, verdict)
  if (state.suspects.length > 0) return whileSuspect(state, envelope, found)
  return accepted(state, envelope, { context: judging.context, verdict, suspectsClosed: [], env })
}

/** Accepts the handoff, and closes the open suspects of earlier handoffs that it explains. */
function* whileSuspect(state: RunState, envelope: SignedEnvelope, found: Found): Yielding<Decision> {
  const { verdict, judging, policy, env } = found
  const { context, evidence } = judging
  const { findings, movesRefused } = verdict
  const suspectsClosed = yield* explainedSince(state, { envelope, findings, movesRefused, policy, evidence })
  return accepted(state, envelope, { context, verdict, suspectsClosed, env })
}

/** Records the refusal of an invalid or reused signature, as evidence; other refusals are not recorded. */
export function refusedEnvelope(
  state: RunState,
  env: Env,
  { wrong, signature }: { wrong: Refusal; signature: string | undefined },
): Refused {
  const recorded = wrong.code === 'signature-invalid' || wrong.code === 'signature-reused'
  return recorded ? refuseOnRecord(state, env, { refusal: wrong, fingerprint: signature ?? '' }) : refuse(wrong)
}

export function preconditionFault(
  state: RunState,
  envelope: SignedEnvelope,
  inputs: {
    posted: Pick<PostEnvelope, 'parent' | 'signature' | 'manifestHash' | 'agent'>
    established: string
    manifest: ManifestState | undefined
    env: HandoffEnv
  },
): Refusal | undefined {
  const { posted, established, manifest, env } = inputs
  if (posted.signature !== undefined && posted.parent === undefined) {
    return refusal('parent-required', 'a signed envelope names the event it builds on: set parent', {
      pointer: '/parent',
    })
  }
  if (envelope.parent !== established) {
    return refusal('stale-parent', 'another handoff was established since; read the context and build on that', {
      pointer: '/parent',
      evidence: { expected: envelope.parent, actual: established, signed: posted.signature !== undefined },
    })
  }
  if (posted.manifestHash !== undefined && posted.manifestHash !== manifest?.hash) {
    return refusal('manifest-mismatch', `the manifest registered for ${posted.agent} has another hash`, {
      pointer: '/manifestHash',
      evidence: { expected: posted.manifestHash, actual: manifest?.hash ?? null },
    })
  }
  if (posted.signature === undefined && manifest?.manifest.requireSignature !== true) return undefined
  if (posted.signature !== undefined && isUsed(state, envelope, env)) {
    return refusal(
      'signature-reused',
      'what this signature is over was handed over in this run before: a signed handoff is used once',
      {
        pointer: '/signature',
      },
    )
  }
  const fault = env.signatureFault(envelope, manifest)
  return fault === undefined ? undefined : refusal('signature-invalid', fault, { pointer: '/signature' })
}

function isUsed(state: RunState, { signature = '', signed = '' }: SignedEnvelope, env: HandoffEnv): boolean {
  return [signed, ...env.signatureSpellings(signature)].some((name) => state.signatures[safeKey(name)] !== undefined)
}

function contextTooLarge(bytes: number): Refusal {
  return refusal('context-too-large', 'the context would outgrow its limit: hand over less, or by reference', {
    pointer: '/payload',
    evidence: { limit: CONTEXT_MAX_BYTES, actual: bytes },
  })
}

/** The number of the rule set behind a verdict; absent under `relay`, whose rules have no number. Verdicts recorded by 0.1.0 have 1 or none. */
export function ruleSet({ base }: RunState['policy']): { rules?: number } {
  return base === 'relay' ? {} : { rules: RULES_NOW }
}

type HandoffBody = Omit<EventBody<'EnvelopeRejected'>, 'findings' | 'findingsTotal'>

function handoffBody(envelope: SignedEnvelope, policy: RunState['policy'], { confidence }: Judgement): HandoffBody {
  const { agent, mode, payload, add, parent, tokens, manifestHash, supersedes, moves, signature, signed } = envelope
  return {
    ...{ v: 1, agent, mode, payload, parent },
    ...(add !== undefined && { add }),
    ...(tokens !== undefined && { tokens }),
    ...(manifestHash !== undefined && { manifestHash }),
    ...(supersedes !== undefined && { supersedes }),
    ...(moves !== undefined && { moves }),
    ...(signature !== undefined && { signature }),
    ...(signed !== undefined && { signed }),
    ...placeOf(envelope),
    ...ruleSet(policy),
    ...(confidence !== undefined && { confidence }),
  }
}

/** The place in the caller's code, if the caller names it. */
export function placeOf({ scope, occurrence }: Pick<PostEnvelope, 'scope' | 'occurrence'>): {
  scope?: string
  occurrence?: number
} {
  return { ...(scope !== undefined && { scope }), ...(occurrence !== undefined && { occurrence }) }
}

function accepted(
  state: RunState,
  envelope: SignedEnvelope,
  inputs: { context: JsonObject; verdict: Judgement; suspectsClosed: SuspectsClosed; env: Env },
): Decision {
  const { context, verdict, suspectsClosed, env } = inputs
  const { findings, movesRefused, suspectsTotal } = verdict
  const data = {
    ...handoffBody(envelope, state.policy, verdict),
    ...{ v: 2 as const, step: state.step + 1, context: env.digestOf(context) },
    ...(movesRefused !== undefined && { movesRefused }),
    ...(findings.length > 0 && { findings }),
    ...(suspectsTotal !== undefined && { suspectsTotal }),
    ...(suspectsClosed.length > 0 && { suspectsClosed }),
  }
  return append({ type: 'EnvelopeAccepted', data })
}

function rejected(state: RunState, envelope: SignedEnvelope, verdict: Judgement): Decision {
  const now = state.lineage.at(-1) ?? state.snapshot
  return append(
    {
      type: 'EnvelopeRejected',
      data: {
        ...handoffBody(envelope, state.policy, verdict),
        findings: verdict.findings,
        findingsTotal: verdict.findingsTotal,
      },
    },
    {
      type: 'RunRewound',
      data: {
        v: 1,
        fromStep: now.step,
        toStep: now.step,
        snapshot: now.revision,
        cause: 'contradiction',
        context: state.contextDigest,
        callsSince: callsSince(state, now.revision),
      },
    },
  )
}

/** Calls claimed after a revision; their effects remain when the run is rewound to it. */
export function callsSince(state: RunState, revision: number): string[] {
  return Object.values(state.calls)
    .filter((call) => call.claimRevision > revision)
    .map((call) => call.callId)
}
