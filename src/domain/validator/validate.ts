/** @module The validator: judges a handoff against the established context (JUD-1 to JUD-29). Pure. */
import type { Diff, Finding } from '../../../schemas/finding.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { formatPointer, valueAt } from '../../../schemas/json-pointer.ts'
import type { Declaration, Move } from '../../../schemas/place-policy.ts'
import type { ResolvedPolicy } from '../../../schemas/policy.ts'
import { isPlacePointer } from '../../../schemas/value-forms.ts'
import { type CheckedPayload, compileSchema } from '../json-schema/compile-schema.ts'
import type { SchemaFault } from '../json-schema/evaluation.ts'
import { finish, Pauses, type Yielding } from '../yielding.ts'
import {
  type DeclarationRights,
  type ManifestMoves,
  placeFault,
  type UnderDeclarations,
  underDeclarations,
} from './declared/declarations.ts'
import { hasLikeMembers } from './declared/learn.ts'
import type { Change } from './established/changes.ts'
import * as established from './established/check-established.ts'
import { isLater } from './established/moves.ts'
import { declaresPlaces } from './established/place-rules.ts'
import { type Evidence, settle } from './evidence.ts'
import { checkRecorded } from './grounding/check-recorded.ts'
import { evidentIn } from './grounding/evident.ts'
import { movedByTool, recordedGain } from './grounding/moved-by-tool.ts'
import { ALL_TOOLS, type Tools, toolsUnder } from './grounding/trusted-tools.ts'
import { enforced } from './outcome.ts'
import { checkConfidence, checkEffects, checkInvariants } from './policy/check-invariants.ts'
import { relayFindings } from './relay.ts'
import { addFinding, emptyReport, type Report, reportedFindings } from './report.ts'
import type { Supersession } from './supersedes.ts'
import { type Trunk, trunkOf } from './trunk.ts'

/** Steps charged per payload checked against a schema, in addition to the check's own limit. */
const SCHEMA_STEPS = 10_000

export interface HandoffInput {
  /** The established context. */
  readonly before: JsonObject
  /** The context that results from the handoff, after `applyMode`. */
  readonly after: JsonObject
  readonly policy: ResolvedPolicy
  readonly supersedes?: readonly Supersession[] | undefined
  /** The places that the agent declares as moving, and the earlier declarations in force in this run. */
  readonly moves?: readonly Declaration[] | undefined
  readonly inForce?: readonly Move[] | undefined
  /** The places that manifests declare as moving in the handoffs of their agents. */
  readonly ofManifests?: readonly ManifestMoves[] | undefined
  /** Returns the agent that established the value of a place; if absent, each value counts as another agent's. */
  readonly establishedBy?: ((place: readonly string[]) => string | undefined) | undefined
  /** The records of this run so far; without them no value can be ungrounded. */
  readonly evidence?: Evidence
  /** Top-level keys that the agent's manifest lets it change; undefined: all. */
  readonly writes?: readonly string[] | undefined
  /** JSON Schema (2020-12) registered for the agent's payloads. */
  readonly schema?: JsonObject | undefined
  /** Maximum tokens that the agent's manifest lets it hand over, and the number that the agent reports. */
  readonly maxTokens?: number | undefined
  readonly tokens?: number | undefined
  /** The agent's payload, if it differs from `after`; the schema applies to the payload. */
  readonly payload?: JsonObject | undefined
  /** The agent that hands over; a policy may name the agents that may supersede. */
  readonly agent?: string
  /** The run's first handoff: policy `relay` does not judge it. */
  readonly first?: boolean
}

export interface Verdict {
  readonly verdict: 'accept' | 'reject'
  /** Share of established leaves that were kept; under `relay`, by its rules. Absent if no established key is protected, so that nothing could be lost. */
  readonly confidence?: number
  readonly diff: Diff
  /** Indexes, from 0, of the `moves` that are not in force. */
  readonly movesRefused?: number[]
  /** At most `FINDINGS_MAX`. */
  readonly findings: Finding[]
  readonly findingsTotal: number
  /** Number of suspect changes, if `findings` does not list them all. */
  readonly suspectsTotal?: number
}

/** Judges without pausing; use `judgeHandoff` where other work must be interleaved. */
export function validateHandoff(input: HandoffInput): Verdict {
  return finish(judgeHandoff(input))
}

/** Neither the documents nor the evidence may change until the generator has finished. */
export function* judgeHandoff(posted: HandoffInput, pauses: Pauses = new Pauses()): Yielding<Verdict> {
  const report = emptyReport()
  const { evidence } = posted
  const tools = posted.policy.evidence === undefined ? ALL_TOOLS : toolsUnder(posted.policy.evidence)
  if (evidence !== undefined) yield* settle(evidence, pauses)
  const isEvident = evidence ? evidentIn(evidence, { before: posted.before, tools }, pauses) : () => false
  const trunk = posted.policy.base === 'relay' ? [] : trunkOf(posted.before, posted.after, posted.policy)
  const { agent, moves = [], inForce = [], ofManifests = [], establishedBy = () => undefined } = posted
  const asked = { trunk, before: posted.before, policy: posted.policy, agent, isEvident, establishedBy }
  const declaresNone = [moves, inForce, ofManifests].every((each) => each.length === 0)
  const { rights, policy, movesRefused } = declaresNone
    ? plainly(asked)
    : underDeclarations(asked, { moves, inForce, ofManifests }, report)
  const input = { ...posted, policy, trunk, tools }
  const judged = yield* judgeEstablished(input, rights, { report, pauses })

  if (input.writes !== undefined) checkWrites(input, judged.changedKeys, report)
  checkTokens(input, report)
  if (input.schema !== undefined) {
    if (pauses.due()) yield
    checkSchema(input.schema, input.payload ?? input.after, report)
    pauses.count(SCHEMA_STEPS)
    if (pauses.due()) yield
  }
  if (evidence !== undefined && policy.ungrounded !== 'off') {
    yield* checkRecorded(input, { evidence, mode: policy.ungrounded, pauses }, report)
  }
  const findings = reportedFindings(report)
  const listed = findings.filter(({ suspect }) => suspect === true).length
  const verdict: Verdict = {
    verdict: report.errors > 0 ? 'reject' : 'accept',
    ...(judged.confidence === undefined ? {} : { confidence: judged.confidence }),
    ...(movesRefused.length > 0 && { movesRefused }),
    diff: report.diff,
    findings,
    findingsTotal: report.findingsTotal,
    ...(report.suspects > listed && { suspectsTotal: report.suspects }),
  }
  return enforced(verdict, policy)
}

const plainly = (rights: DeclarationRights): UnderDeclarations => ({ policy: rights.policy, movesRefused: [], rights })

interface Judged {
  /** Top-level keys that differ, as far as the validator distinguishes values. */
  readonly changedKeys: readonly string[]
  readonly confidence: number | undefined
}

/** Judges the new context against the established one. */
function* judgeEstablished(
  input: HandoffInput & { readonly trunk: Trunk; readonly tools: Tools },
  rights: DeclarationRights,
  { report, pauses }: { readonly report: Report; readonly pauses: Pauses },
): Yielding<Judged> {
  const { policy } = input
  if (policy.base === 'relay') return relayFindings(input, report)
  const { before, after, supersedes, agent, evidence, trunk, tools } = input
  const excuses =
    evidence && ((changes: readonly Change[]) => movedByTool(evidence, { before, after, changes, tools }, pauses))
  const isRecorded = evidence && recordedGain(evidence, tools, pauses)
  const left = evidence?.results.left
  const { isEvident } = rights
  const offer = policy.declare !== 'none' && agent !== undefined ? offersBy(rights) : undefined
  const documents = { before, after, policy, trunk, supersedes, agent, excuses, isEvident, offer, isRecorded, left }
  const changedKeys = yield* established.checkEstablished(documents, report, pauses)
  const confidence = established.keptShare(input, report)
  if (changedKeys.length > 0 && declaresPlaces(policy)) checkEffects(policy, input, report)
  if (policy.invariants !== undefined) yield* checkInvariants(policy.invariants, input, { report, pauses })
  checkConfidence(confidence, policy.minConfidence, report)
  return { changedKeys, confidence }
}

/** RUN-35: a violation is a value that differs from the parent context, not a key that is carried along unchanged. */
function checkWrites(input: HandoffInput, changedKeys: readonly string[], report: Report): void {
  const { before, after, writes = [] } = input
  for (const key of changedKeys) {
    if (writes.includes(key)) continue
    addFinding(report, {
      rule: 'manifest-violation',
      severity: 'error',
      path: formatPointer([key]),
      ...(Object.hasOwn(before, key) ? { before: before[key] as Json } : {}),
      ...(Object.hasOwn(after, key) ? { after: after[key] as Json } : {}),
      message: "the agent's manifest does not let it change this key",
    })
  }
}

function checkTokens({ tokens = 0, maxTokens = Number.POSITIVE_INFINITY }: HandoffInput, report: Report): void {
  if (tokens <= maxTokens) return
  addFinding(report, {
    rule: 'manifest-violation',
    severity: 'error',
    path: '',
    before: maxTokens,
    after: tokens,
    message: `the agent's manifest lets it hand over ${maxTokens} tokens, not ${tokens}: say it shorter`,
  })
}

// Rules `schema-violation` and `schema-too-expensive`: checks the payload against the JSON Schema (2020-12) registered for the agent.

/** A schema that does not compile is refused when it is registered; should one occur here, it lets no payload pass. */
function checkSchema(schema: JsonObject, payload: JsonObject, report: Report): void {
  const compiled = compileSchema(schema)
  const checked = compiled.ok ? compiled.check(payload) : notCompiled(compiled.message)
  if (checked.kind === 'checked') addFaults(report, checked.faults, checked.faultsTotal)
  else addFinding(report, { rule: 'schema-too-expensive', severity: 'error', path: '', message: TOO_EXPENSIVE })
}

const TOO_EXPENSIVE =
  "checking the payload against the agent's schema takes more work than one handoff may: hand over less, or register a simpler schema"

function notCompiled(message: string): CheckedPayload {
  return { kind: 'checked', faults: [{ path: '', message }], faultsTotal: 1, steps: 0 }
}

/** Adds the listed faults as findings; the others are only counted. */
function addFaults(report: Report, faults: readonly SchemaFault[], total: number): void {
  for (const { path, message } of faults) {
    addFinding(report, { rule: 'schema-violation', severity: 'error', path, message })
  }
  report.findingsTotal += total - faults.length
  report.errors += total - faults.length
}

// The declaration offered with the finding on a refused or suspect place, as an entry for `moves` (JUD-46).

/** The entry for all similar members if the agent may declare that, else for this place alone; undefined if the agent may declare neither. */
function offersBy(rights: DeclarationRights): (change: Change) => Finding['declare'] {
  const known = new Map<string, boolean>()
  const collections = new Map<Json, boolean>()
  const isPermitted = (place: readonly string[], as: Move['as']): boolean => placeFault(place, as, rights) === undefined
  return ({ kind, place, before, after }) => {
    if (kind !== 'changed' || after === undefined) return undefined
    const here = place.map(String)
    // What may not be declared of this place may not be declared of a path that names others as well.
    const as = kindsOf(before, after).find((each) => isPermitted(here, each))
    if (as === undefined) return undefined
    const general = generalPlace(rights.before, here, collections)
    const path = formatPointer(general)
    const name = `${as} ${path}`
    const isGeneral = known.get(name) ?? (isPlacePointer(path) && isPermitted(general, as))
    known.set(name, isGeneral)
    const offered = isGeneral ? path : formatPointer(here)
    return isPlacePointer(offered) ? { path: offered, as, reason: '' } : undefined
  }
}

/** The kinds that the change fits, the narrowest first. */
function kindsOf(before: Json, after: Json): readonly Move['as'][] {
  if (before === false && after === true) return ['done']
  if (typeof before === 'number' && typeof after === 'number')
    return after > before ? ['counter', 'gauge', 'cursor'] : ['gauge', 'cursor']
  if (typeof before === 'string' && typeof after === 'string')
    return isLater(before, after) ? ['clock', 'cursor'] : ['cursor']
  return typeof before === 'object' || typeof after === 'object' ? [] : ['cursor']
}

/** The place with `*` for a member of a list, or of a map whose members all have the same keys. */
function generalPlace(
  document: JsonObject,
  place: readonly string[],
  collections: Map<Json, boolean>,
): readonly string[] {
  let value: Json | undefined = document
  return place.map((token, depth) => {
    const holder: Json | undefined = value
    if (holder === undefined) return token
    value = valueAt(holder, [token])
    if (depth === 0 || depth === place.length - 1) return token
    const isCollection =
      collections.get(holder) ?? (Array.isArray(holder) || (isJsonObject(holder) && hasLikeMembers(holder)))
    collections.set(holder, isCollection)
    return isCollection ? '*' : token
  })
}
