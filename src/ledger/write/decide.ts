/** @module Decides a pending command: looks up what earlier attempts read, and calls the domain for the rest. */
import { withSharedParts } from '../../../projections/merge.ts'
import type { ManifestState, RunState } from '../../../projections/run-state.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { type Loss, lossText } from '../../../schemas/loss.ts'
import type { RedactionInForce } from '../../../schemas/redaction.ts'
import type { PostEnvelope } from '../../../schemas/requests.ts'
import type { ValueRef } from '../../../schemas/values.ts'
import { othersWork } from '../../access/check-access.ts'
import { decideDenial, decideGrant, decideWithdrawal } from '../../domain/approvals.ts'
import { decideReservation } from '../../domain/budget.ts'
import { decideCapture } from '../../domain/capture.ts'
import { decideChildStarted } from '../../domain/child-run.ts'
import { decideCompensation } from '../../domain/compensation.ts'
import { type Decision, type Env, refuse } from '../../domain/decision.ts'
import { decideDisclosure } from '../../domain/disclosure.ts'
import { decideBranch, decideFork } from '../../domain/fork.ts'
import { decideHandoff, type HandoffEnv, type SignedEnvelope } from '../../domain/handoff.ts'
import { decideJoin } from '../../domain/join.ts'
import { decideJudgement } from '../../domain/judgement.ts'
import { decideManifest } from '../../domain/manifest.ts'
import type { Sent } from '../../domain/redaction/sent.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import { decideRollback } from '../../domain/rewind.ts'
import type { RunCommand } from '../../domain/run-command.ts'
import { decideBranched, decideComplete, decideFail, decideStart } from '../../domain/run-life.ts'
import { decideRenew, decideResolve, decideSettle } from '../../domain/settle.ts'
import { decideClaimOrStep } from '../../domain/step.ts'
import { decideReview } from '../../domain/suspects.ts'
import { decideRelease, decideSettleReservation, decideUsage } from '../../domain/usage.ts'
import { settle } from '../../domain/validator/evidence.ts'
import { isOverdue } from '../../domain/validator/grounding/recorded-results.ts'
import { decideSignal, decideWait } from '../../domain/waits.ts'
import { decideCarried, decideLeave } from '../../domain/worker.ts'
import { isYielding, Pauses, type Yielding } from '../../domain/yielding.ts'
import {
  checkAgentSignature,
  ENVELOPE_TYP,
  ENVELOPE_WITH_MOVES_TYP,
  envelopeSigningInput,
  isLowS,
  signatureSpellings,
} from '../../signing/agent-signature.ts'
import type { CanonicalTexts } from '../../signing/canonical-json.ts'
import { digestText, sha256 } from '../../signing/digests.ts'
import { requestId } from '../../signing/request-mark.ts'
import type { Caller, RequestInfo } from '../ledger.ts'
import type { TenantPolicies } from '../ports.ts'
import type { AnsweredEvent } from '../responses/response-parts.ts'
import type { Keeping } from '../subjects/kept-values.ts'
import type { RunAggregate } from './run-aggregate.ts'

/** Long, because an operator has to repair the store. */
const STOPPED_RETRY_MS = 30_000

/** A command being processed, with what earlier attempts read. */
export interface PendingCommand {
  readonly caller: Caller
  readonly runId: string
  /** Without the values that the run's policy redacts, once that is known. */
  command: RunCommand
  readonly info: RequestInfo
  readonly requestId: string | undefined
  /** Contexts that were read for a rollback, by revision. */
  contexts?: Map<number, JsonObject>
  /** Events that were read for a join or a signal, by revision. */
  events?: Map<number, AnsweredEvent>
  /** The large values that were stored for the command, and the references to them. */
  stored?: readonly { readonly value: Json; readonly ref: ValueRef }[]
  /** The command as it was sent, if redaction rules are in force. */
  asSent?: RunCommand
  redactedBy?: RedactionInForce
  /** The original command, and the places of the values that were left out of it. */
  sent?: Sent | undefined
  /** The left-out values that are encrypted in the events. */
  kept?: Keeping | undefined
  /** The idempotency key was used with a different request before. */
  reusedKey?: boolean
}

export function pendingCommand(
  caller: Caller,
  runId: string,
  item: { command: RunCommand; info: RequestInfo },
): PendingCommand {
  const { command, info } = item
  const scope = { tenant: caller.tenant, run: runId, actor: caller.actor }
  const id = info.idempotency === undefined ? undefined : requestId(scope, info.idempotency.key)
  return { caller, runId, command, info, requestId: id }
}

export interface DecideInput {
  readonly run: RunAggregate
  readonly pending: PendingCommand
  readonly env: Env
  readonly texts: CanonicalTexts
  readonly tenantPolicy: TenantPolicies | undefined
  /** The loss because of which nothing recorded for a tenant now can be proven; undefined while its log continues. */
  readonly stoppedLog: ((tenant: string) => Loss | undefined) | undefined
}

/** Judging a handoff may take long; the decision then pauses. Until it has ended, nothing else may be decided on the run. */
export function decide(input: DecideInput): Decision | Yielding<Decision> {
  const { run, pending, env } = input
  const { caller, command } = pending
  if (run.state === undefined) {
    if (command.kind === 'start') {
      const stopped = input.stoppedLog?.(run.tenant)
      if (stopped !== undefined) return refuse(logStopped(stopped))
      return decideStart(undefined, { ...command, tenantPolicy: input.tenantPolicy?.(run.tenant) }, env)
    }
    return refuse(refusal('run-not-found', `there is no run ${run.runId}`))
  }
  // It is not known which runs lost events: the next event of any of them could take the place of an acknowledged one.
  const lost = input.stoppedLog?.(run.tenant)
  if (lost?.scope === 'store') return refuse(logStopped(lost))
  const foreign = othersWork(run.state, { caller, command, env })
  if (foreign !== undefined) return refuse(foreign)
  return isOverdue(run.evidence.results) ? decideOnSettled(run.state, input) : decideOnRun(run.state, input)
}

/** Open runs of a tenant whose log stopped continue; a new run would never be in a log. */
function logStopped(loss: Loss): Refusal {
  const what = loss.scope === 'store' ? 'nothing is written' : 'no run is started'
  const detail = `${what}: ${lossText(loss)}; run "countersign verify", and put back what is gone from a copy of the store`
  return refusal('log-stopped', detail, {
    retryAfterMs: STOPPED_RETRY_MS,
    evidence: { losses: [{ ...loss } as JsonObject] },
  })
}

function* decideOnSettled(state: RunState, input: DecideInput): Yielding<Decision> {
  yield* settle(input.run.evidence, new Pauses())
  const made = decideOnRun(state, input)
  return isYielding(made) ? yield* made : made
}

/** The decision, or work that yields that results in one. Not itself a generator, because each generator frame is an object as large as its function. */
function decideOnRun(state: RunState, { run, pending, env, texts }: DecideInput): Decision | Yielding<Decision> {
  const { command, contexts, events } = pending
  switch (command.kind) {
    case 'start':
      return decideStart(state, command, env)
    case 'envelope':
      return decideHandoff(state, withKnownParts(state, command.body, texts), handoffEnv(run, env))
    case 'judgement':
      return decideJudgement(state, command.body)
    case 'review':
      return decideReview(state, { ...command.body, contextAt: (revision) => contexts?.get(revision) }, env)
    case 'rollback':
      return decideRollback(state, { ...command.body, contextAt: (revision) => contexts?.get(revision) })
    case 'manifest':
      return decideManifest(state, command.body, env)
    case 'claim':
      return decideClaimOrStep(state, command.body, { ...env, eventAt: (at) => events?.get(at) })
    case 'settle':
      return decideSettle(state, command, env)
    case 'renew':
      return decideRenew(state, command, env)
    case 'resolve':
      return decideResolve(state, command, env)
    case 'grant':
      return decideGrant(state, command, env)
    case 'deny':
      return decideDenial(state, command, env)
    case 'withdraw':
      return decideWithdrawal(state, command, env)
    case 'wait':
      return decideWait(state, { ...command.body, eventAt: (at) => events?.get(at) }, env)
    case 'signal':
      return decideSignal(state, { ...command, eventAt: (at) => events?.get(at) }, env)
    case 'compensate':
      return decideCompensation(state, command.body, env)
    case 'reserve':
      return decideReservation(state, command.body, env)
    case 'settle-reservation':
      return decideSettleReservation(state, command)
    case 'release':
      return decideRelease(state, command)
    case 'usage':
      return decideUsage(state, command.body)
    case 'fork':
      return decideFork(state, command.body, env)
    case 'branch':
      return decideBranch(state, command, handoffEnv(run, env))
    case 'join':
      return decideJoin(state, { ...command, eventAt: (at) => events?.get(at) }, handoffEnv(run, env))
    case 'capture':
      return decideCapture(state, command.body)
    default:
      return decideOnLife(state, command, env)
  }
}

type LifeCommand = Extract<
  RunCommand,
  { kind: 'child-started' | 'branched' | 'leave' | 'carry' | 'complete' | 'fail' | 'disclose' }
>

/** What becomes of the run as a whole. */
function decideOnLife(state: RunState, command: LifeCommand, env: Env): Decision {
  switch (command.kind) {
    case 'child-started':
      return decideChildStarted(state, command.body)
    case 'branched':
      return decideBranched(state, command.body)
    case 'leave':
      return decideLeave(state, command.body, env)
    case 'carry':
      return decideCarried(state, command.body)
    case 'complete':
      return decideComplete(state, command.body, env)
    case 'fail':
      return decideFail(state, command.body, env)
    case 'disclose':
      return decideDisclosure(state)
  }
}

/**
 * Replaces parts of a payload that equal the established context by the established objects: they are stored once, and comparing the two contexts is
 * fast.
 */
function withKnownParts({ context }: RunState, body: PostEnvelope, texts: CanonicalTexts): PostEnvelope {
  // Merging and growing reuse the established parts anyway.
  if (body.mode !== undefined && body.mode !== 'replace') return body
  const payload = withSharedParts(context, body.payload) as JsonObject
  if (payload === body.payload) return body
  texts.areOne(body.payload, payload)
  return { ...body, payload }
}

function handoffEnv(run: RunAggregate, env: Env): HandoffEnv {
  return {
    ...env,
    evidence: run.evidence,
    signatureFault: (envelope, manifest) => signatureFault(run, env, { envelope, manifest }),
    signedDigest: (envelope) => digestText(sha256(signedText(run, env, envelope))),
    signatureSpellings,
  }
}

function signedText(run: RunAggregate, { ledgerId }: Env, envelope: SignedEnvelope): Uint8Array {
  return envelopeSigningInput({ ledgerId, ...envelope, tenant: run.tenant, run: run.runId })
}

function signatureFault(
  run: RunAggregate,
  env: Env,
  { envelope, manifest }: { envelope: SignedEnvelope; manifest: ManifestState | undefined },
): string | undefined {
  if (envelope.signature === undefined) return `the manifest of ${envelope.agent} requires a signature`
  const jwk = manifest?.manifest.jwk
  if (jwk === undefined) return `no key is registered for ${envelope.agent}; register its manifest with a jwk`
  const { signature } = envelope
  if (!isLowS(signature, jwk)) return HIGH_S
  const typ = envelope.moves === undefined ? ENVELOPE_TYP : ENVELOPE_WITH_MOVES_TYP
  const checked = checkAgentSignature(signature, signedText(run, env, envelope), { jwk, typ })
  return checked.ok ? undefined : `the signature does not hold (${checked.reason})`
}

const HIGH_S = 'the s of an ES256 signature must be the lower of the two that verify: send n - s where s is over n / 2'
