/** @module Redaction of commands: which rules are in force, what they leave out of a command, and what the events record about it (RUN-94 to RUN-99). */
import type { Command } from '../../../schemas/commands.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { parsePointer, valueAt } from '../../../schemas/json-pointer.ts'
import type { PolicyObject } from '../../../schemas/policy.ts'
import { MARKER_BEGINS } from '../../../schemas/redacted-parts.ts'
import {
  type Keep,
  REDACTED_LISTED_MAX,
  REDACTED_POINTER_MAX_CHARS,
  REDACTION_RULES_IN_FORCE_MAX,
  type Redacted,
  type RedactionInForce,
} from '../../../schemas/redaction.ts'
import { type Decision, type Draft, refuse } from '../../domain/decision.ts'
import { joinedRules } from '../../domain/redaction/joined-rules.ts'
import {
  declaredFault,
  type RedactionEnv,
  redactCommand,
  redactRecorded,
} from '../../domain/redaction/redact-command.ts'
import type { RedactedPlace } from '../../domain/redaction/redact-value.ts'
import type { Sent } from '../../domain/redaction/sent.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import type { RunCommand } from '../../domain/run-command.ts'
import { isYielding, type Yielding } from '../../domain/yielding.ts'
import { type BlindKey, blindCallKey, blindValue, deriveBlindKey } from '../../signing/blind.ts'
import { canonicalJson } from '../../signing/canonical-json.ts'
import { jsonDigest } from '../../signing/digests.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Outcome } from '../ledger.ts'
import { Keeping } from '../subjects/kept-values.ts'
import type { SubjectKeys } from '../subjects/subject-keys.ts'
import type { PendingCommand } from './decide.ts'
import type { RunAggregate } from './run-aggregate.ts'

interface InForce {
  readonly rules: RedactionInForce
  /** Digest of the rules. */
  readonly policy: string
  /** Whether the rules differ from the recorded ones, so that the next event of the run has to record them. */
  readonly isNew: boolean
}

const NO_RULES: RedactionInForce = []
const joined = new WeakMap<RedactionInForce, WeakMap<RedactionInForce, InForce>>()

interface Redacting {
  readonly run: RunAggregate
  readonly pending: PendingCommand
  /** The policy that the operator declares now. */
  readonly tenant: PolicyObject | undefined
  readonly sealer: Sealer
  /** Absent if this ledger cannot store the keys of data subjects. */
  readonly subjects: SubjectKeys | undefined
}

/** Redacts the command according to the rules, has it decided, and marks the events accordingly. */
export function* decideRedacted(redacting: Redacting, decide: () => Decision | Yielding<Decision>): Yielding<Decision> {
  const { run, pending, tenant, sealer, subjects } = redacting
  const inForce = rulesInForce(run.state?.policy.redaction, tenant, pending)
  const key = blindKeyOf(sealer, run.tenant, run.stream)
  const fault = ownFault(run, pending) ?? (yield* leaveOut(pending, inForce.rules, { key, run, subjects }))
  if (fault !== undefined) return refuse(fault)
  // A run records the rules in force when it starts.
  const isNew = run.state !== undefined && inForce.isNew
  const decided = decide()
  const decision = isYielding(decided) ? yield* decided : decided
  return yield* markedDecision(decision, { ...inForce, isNew }, { sent: pending.sent, kept: pending.kept, key })
}

/** Validates the rules that a new run declares itself; rules of its tenant were validated when they were read. */
function ownFault({ state }: RunAggregate, { command }: PendingCommand): Refusal | undefined {
  if (state !== undefined || command.kind !== 'start') return undefined
  const { policy } = command.body
  return typeof policy === 'object' ? redactionFault(policy) : undefined
}

/** Adds the call key to the answer to the start or resumption of a run: calls with redacted arguments are found by it. The key is not recorded. */
export function withCallKey(sealer: Sealer, run: RunAggregate, outcome: Extract<Outcome, { ok: true }>): Outcome {
  const { calls } = blindKeyOf(sealer, run.tenant, run.stream)
  return { ...outcome, body: { ...outcome.body, callKey: Buffer.from(calls).toString('base64url') } }
}

function rulesInForce(
  recorded: RedactionInForce | undefined,
  tenant: PolicyObject | undefined,
  { command }: PendingCommand,
): InForce {
  const policy = command.kind === 'start' ? command.body.policy : undefined
  const own = recorded ?? (typeof policy === 'object' ? policy.redaction : undefined)
  const ofTenant = tenant?.redaction
  const before = joined.get(own ?? NO_RULES)?.get(ofTenant ?? NO_RULES)
  if (before !== undefined) return before
  const together = unionOf(own, ofTenant)
  const isNew = textOf(together) !== textOf(own ?? NO_RULES)
  const rules = isNew || own === undefined ? together : own
  const found: InForce = { rules, policy: jsonDigest(rules as unknown as Json), isNew }
  const byTenant = joined.get(own ?? NO_RULES) ?? new WeakMap<RedactionInForce, InForce>()
  joined.set(own ?? NO_RULES, byTenant.set(ofTenant ?? NO_RULES, found))
  return found
}

const textOf = (rules: RedactionInForce): string => canonicalJson(rules as unknown as Json)

/** A rule that was in force stays in force. If there are too many, rules that are no longer declared are dropped first. */
function unionOf(own: RedactionInForce | undefined, tenant: RedactionInForce | undefined): RedactionInForce {
  const all = joinedRules(own, tenant)
  if (all.length <= REDACTION_RULES_IN_FORCE_MAX) return all
  return joinedRules(tenant, own).slice(0, REDACTION_RULES_IN_FORCE_MAX)
}

/** Why the redaction rules of a policy cannot be used; undefined if they can. */
export function redactionFault({ redaction = [] }: PolicyObject): Refusal | undefined {
  return declaredFault(redaction)
}

/** Redacts the command according to the rules. The original command is kept only while the command is being processed. */
function* leaveOut(
  pending: PendingCommand,
  rules: RedactionInForce,
  { key, run, subjects }: { key: BlindKey; run: RunAggregate; subjects: SubjectKeys | undefined },
): Yielding<Refusal | undefined> {
  // If the command is decided again, the stored large value has to be the same object.
  if (pending.redactedBy === rules) return undefined
  pending.asSent ??= pending.command
  const command = pending.asSent
  const keeping = rules.some(({ keep }) => keep !== undefined) ? keepingOf(command, run, subjects) : undefined
  if (keeping !== undefined && 'refusal' in keeping) return keeping.refusal
  const redacted = yield* redactCommand(command, rules, envUnder(key, keeping))
  if (!redacted.ok) return redacted.refusal
  pending.redactedBy = rules
  pending.command = redacted.command
  pending.kept = keeping
  pending.sent =
    redacted.leftOut.length === 0
      ? undefined
      : {
          command: command as Command,
          leftOut: redacted.leftOut,
          rules,
          blind: (digest) => blindValue(key.values, keeping?.blindAll(digest) ?? digest),
          blindKey: (callKey) => {
            const blinded = blindCallKey(key.calls, callKey)
            keeping?.noteCallKey(callKey, blinded)
            return blinded
          },
        }
  return undefined
}

/** Texts that are only left out, such as findings, have their digests under the key of the run. */
function envUnder(key: BlindKey, keeping?: Keeping): RedactionEnv {
  const blind = (text: string, keep?: Keep): string =>
    keep === undefined || keeping === undefined ? blindValue(key.values, text) : keeping.blind(text, keep)
  return { blind, textOf: canonicalJson }
}

function keepingOf(
  command: RunCommand,
  { tenant, stream, runId }: RunAggregate,
  subjects: SubjectKeys | undefined,
): Keeping | { readonly refusal: Refusal } {
  if (subjects === undefined) {
    const detail = 'a rule of redaction says keep, and this ledger has no place for the keys of subjects'
    return { refusal: refusal('keep-unavailable', `${detail}: use a store in a file (SQLite), or drop the values`) }
  }
  const body = 'body' in command ? (command.body as unknown as JsonObject) : {}
  return new Keeping(subjects, { tenant, stream, run: runId }, body)
}

export function blindKeyOf({ ring }: Sealer, tenant: string, stream: string): BlindKey {
  const [oldest] = ring.keys
  if (oldest === undefined) throw new TypeError('the key ring is empty')
  return deriveBlindKey(oldest.secret, tenant, stream)
}

/** The decision with its events marked as redacted, preceded once by an event with the rules in force from here on. */
function* markedDecision(
  decision: Decision,
  { rules, policy, isNew }: InForce,
  of: Omit<Marking, 'policy' | 'rules'>,
): Yielding<Decision> {
  const before: Draft[] = isNew ? [{ type: 'RedactionChanged', data: { v: 1, rules, policy } }] : []
  const mark = function* (drafts: readonly Draft[]): Yielding<Draft[]> {
    const marked: Draft[] = []
    for (const draft of drafts) marked.push(yield* markedDraft(draft, { policy, rules, ...of }))
    return marked
  }
  if (decision.kind === 'append') return { kind: 'append', drafts: [...before, ...(yield* mark(decision.drafts))] }
  if (decision.kind !== 'refuse' || (decision.record === undefined && decision.before === undefined)) return decision
  const { refusal, record } = decision
  const first = [...before, ...(yield* mark(decision.before ?? []))]
  const [last] = record === undefined ? [] : yield* mark([record])
  return {
    kind: 'refuse',
    refusal,
    ...(last !== undefined && { record: last }),
    ...(first.length > 0 && { before: first }),
  }
}

interface Marking {
  readonly policy: string
  readonly rules: RedactionInForce
  readonly sent: Sent | undefined
  readonly kept: Keeping | undefined
  readonly key: BlindKey
}

function* markedDraft(draft: Draft, { policy, rules, sent, kept: keeping, key }: Marking): Yielding<Draft> {
  let data = draft.data as unknown as { readonly [member: string]: Json }
  if (data.findings !== undefined) {
    const findings = yield* redactRecorded(data.findings, rules, envUnder(key))
    if (findings !== data.findings) data = { ...data, findings }
  }
  if (sent?.leftOut.some((each) => isIn(data, each))) {
    const kept = keeping?.kept(draft.type, data as JsonObject, sent.leftOut) ?? []
    const redacted = { ...redactedOf(sent.leftOut, policy), ...(kept.length > 0 && { kept }) }
    data = { ...data, redacted: redacted as unknown as Json }
  }
  return data === (draft.data as unknown) ? draft : ({ type: draft.type, data } as unknown as Draft)
}

function isIn(data: { readonly [member: string]: Json }, { at, member }: RedactedPlace): boolean {
  if (at.length > 4 * REDACTED_POINTER_MAX_CHARS) return Object.hasOwn(data, parsePointer(at)?.[0] ?? '')
  const value = valueAt(data, parsePointer(at) ?? [])
  return member === true ? value !== undefined : typeof value === 'string' && value.includes(MARKER_BEGINS)
}

function redactedOf(all: readonly RedactedPlace[], policy: string): Redacted {
  const leftOut = all.filter(({ kept }) => kept === undefined)
  const counts: Record<string, number> = {}
  for (const { rule } of leftOut) counts[rule] = (counts[rule] ?? 0) + 1
  const values = leftOut.filter(({ at }) => at.length <= REDACTED_POINTER_MAX_CHARS).slice(0, REDACTED_LISTED_MAX)
  return { policy, counts, values }
}
