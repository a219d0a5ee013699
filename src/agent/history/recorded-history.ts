/** @module The record of an earlier execution of the run, served in place of live calls with strict matching (RUN-22). */
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { requestMark } from '../../../schemas/refused-request.ts'
import { blindCallKey } from '../../signing/blind.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { isChildCall } from '../calls/child-run.ts'
import type { ToolRegistry, ToolSpec } from '../calls/tool-spec.ts'
import type { DivergenceCode, ResumeDiverged } from '../errors.ts'
import { RecordedRequests } from '../models/conversation.ts'
import type { Problem } from '../runtime/connection.ts'
import type { Expected } from '../runtime/held-requests.ts'
import { isCovered } from '../saga/outcome.ts'
import { absenceOf, divergenceOf, stackHere } from './divergence.ts'
import { isLost, type NewWork } from './lost-names.ts'
import type { RecordedOutcome } from './recorded-outcome.ts'
import {
  type RecordedApproval,
  type RecordedAttempt,
  type RecordedCall,
  type RecordedRefusal,
  type RecordedRollback,
  type RecordedRun,
  slotOf,
} from './recorded-run.ts'

/** A call that the code requests now, with the properties by which the record is searched. */
export interface RequestedCall {
  readonly spec: Pick<ToolSpec, 'name' | 'alias' | 'unreachable'>
  /** The tool name under which the record holds the call. */
  readonly tool: string
  readonly execution: { readonly scope?: string }
  readonly phase: 'forward' | 'model'
  readonly key: string
  readonly args: Json
  readonly occurrence: number
}

/** The answer of the record to a call that is requested now. */
export type HistoryMatch =
  | {
      readonly kind: 'outcome'
      readonly call: RecordedCall
      readonly attempt: RecordedAttempt
      readonly outcome: Extract<RecordedOutcome, { kind: 'succeeded' | 'failed' }>
      /** Attempts that this outcome covers, including earlier ones whose end the code never saw. */
      readonly attempts: number
    }
  /** Claimed, with an unknown outcome; `seen`: the process that made the call reported the outcome as unknown. */
  | {
      readonly kind: 'open'
      readonly call: RecordedCall
      readonly attempt: RecordedAttempt | undefined
      readonly seen: boolean
      readonly after?: number
      /** Number of attempts that the record has of the call. */
      readonly attempts: number
    }
  /** The budget or an approver refused the call; `after`: how many events the record held with the refusal. */
  | { readonly kind: 'refused'; readonly refusal: Problem; readonly after: number }
  | { readonly kind: 'nothing' }

/** What the code does instead of what the record holds, and what becomes of the run. */
export interface Outrunning {
  readonly does: string
  readonly so: string
  readonly actual: JsonObject
  readonly stack?: string | undefined
  /** Scope of the code; default: the run. */
  readonly within?: string | undefined
}

type Requested = Parameters<typeof requestMark>[0]
type Refused = Pick<RecordedRefusal, 'refusal' | 'after'>

const SHOWN_MAX = 10
/** How the name of a step's call begins, and the scope inside a call (`in:` and its id). */
const STEP = 'agent:'
const INSIDE = 'in:'

export class RecordedHistory {
  readonly run: RecordedRun
  readonly #code: DivergenceCode
  readonly #callKey: Uint8Array | undefined
  /** Calls that the current code has not requested, and whose ancestors have not ended. */
  readonly #unserved: Map<string, RecordedCall>
  readonly #byPlace = new Map<string, Set<RecordedCall>>()
  readonly #children = new Map<string, RecordedCall[]>()
  /** Scopes of recorded steps: what lies below one is made by the code of its agent. */
  readonly #steps = new Set<string>()
  readonly #servedAttempts = new Map<string, number>()
  /** Number of served refusals, by call. */
  readonly #servedRefusals = new Map<string, number>()
  /** Scopes that the current code has rolled back as well. */
  readonly #rolledBack = new Set<string>()
  /** Calls undone by such a rollback. */
  readonly #undone = new Set<string>()

  /** `callKey` finds calls whose arguments were left out of the record. */
  constructor(run: RecordedRun, code: DivergenceCode, callKey?: Uint8Array) {
    this.run = run
    this.#callKey = callKey
    this.#code = code
    const waiting = [...run.approvals.values()].map(({ call }) => call)
    const forward = [...run.calls.values(), ...run.waits.values(), ...waiting].filter(
      ({ phase }) => phase !== 'compensation',
    )
    forward.sort((a, b) => a.requestedAfter - b.requestedAfter)
    const isAfterDoubt = ({ requestedAfter }: RecordedCall): boolean =>
      run.doubts.some(({ from, until }) => from <= requestedAfter && requestedAfter < until)
    this.#unserved = new Map(forward.filter((call) => !isAfterDoubt(call)).map((call) => [call.callId, call]))
    for (const call of forward) {
      addTo(this.#byPlace, placeOf(call), call)
      if (call.tool.startsWith(STEP)) this.#steps.add(call.scope ?? '')
      if (call.parentCall !== undefined) {
        this.#children.set(call.parentCall, [...(this.#children.get(call.parentCall) ?? []), call])
      }
    }
  }

  /** Marks the call as requested if the record holds it. */
  expect(identity: RequestedCall): Expected {
    const call = this.#callOf(identity) ?? this.#approvalOf(identity)?.call
    const mayBeHad = identity.spec.unreachable === 'run'
    if (call !== undefined) {
      this.#unserved.delete(call.callId)
      return { isHeld: true, isHad: mayBeHad && call.isLate === true }
    }
    if (this.#refusalOf(identity, 0) !== undefined) return { isHeld: true }
    if (!this.isBehind) return { isHeld: false }
    // The stack must be captured now, while the line that asks is on it.
    const stack = stackHere()
    const { spec, phase, execution } = identity
    const places = [spec.name, ...spec.alias].map((tool) => placeOf({ tool, phase, scope: execution.scope }))
    const expected = places
      .flatMap((place) => [...(this.#byPlace.get(place) ?? [])])
      .filter(({ callId }) => this.#unserved.has(callId))
    // What may have run without the ledger precedes, or follows, any other call of its tool.
    if (expected.length === 0 || mayBeHad) return { isHeld: false, isHad: mayBeHad, stack }
    const isUnmade = (): boolean => expected.some(({ callId }) => this.#unserved.has(callId))
    return {
      isHeld: false,
      stack,
      first: { isUnmade, fault: () => this.#diverged(identity, expected, stack) },
    }
  }

  /** Whether something in this scope is requested by the run's own code: the code of a call or of an agent may take another path when it runs again. */
  isOutside(scope = ''): boolean {
    if (scope.split('/').some((name) => name.startsWith(INSIDE))) return false
    return ![...this.#steps].some((step) => scope.startsWith(`${step}/`))
  }

  /** Whether calls in or below this scope, by default in the run, are unrequested that were not made within another call. */
  isOutrun(within?: string): boolean {
    for (const call of this.#unserved.values()) if (isOfCode(call, within)) return true
    return false
  }

  /** The divergence of code that does something else first; undefined if no such calls are unrequested. */
  outrun({ does, so, actual, stack, within }: Outrunning): ResumeDiverged | undefined {
    const left = [...this.#unserved.values()].filter((call) => isOfCode(call, within))
    if (left.length === 0) return undefined
    const message = `the code ${does} before it asks for what the record holds (${names(left)}): ${so}`
    const details = { expected: left.slice(0, SHOWN_MAX).map(shown), actual }
    return divergenceOf({ message, recorded: undefined, asked: actual }, details, this.#code, stack)
  }

  /** Whether the record holds calls without an outcome. */
  get holdsOpen(): boolean {
    return [...this.run.calls.values()].some(({ attempts }) => {
      const { outcome } = attempts.at(-1) ?? {}
      return outcome === undefined || outcome.kind === 'unknown'
    })
  }

  /** Rollbacks of scopes that an earlier life left unfinished and that the current code has not come to. */
  get rollbacksLeft(): readonly RecordedRollback[] {
    const { rollbacks, inherited } = this.run
    const isMet = (scope: string): boolean => inherited?.scopes.has(scope) === true || this.#rolledBack.has(scope)
    return rollbacks.filter(({ scope }) => scope !== undefined && !isMet(scope) && this.isLeftUndone(scope))
  }

  /** Whether the record of the rollback of a scope may lack its end. */
  isLeftUndone(scope: string): boolean {
    for (const { phase, compensate, undone, attempts, tool, ...call } of this.run.calls.values()) {
      const ended = attempts.at(-1)?.outcome?.kind
      const mayBeUndone = isChildCall(tool) || (ended !== 'failed' && ended !== 'not-executed')
      const isLeft = phase === 'forward' && typeof compensate === 'object' && mayBeUndone
      if (isLeft && (undone === undefined || undone === 'unknown') && isCovered(scope, call.scope)) return true
    }
    return false
  }

  get endsByThrow(): boolean {
    return this.run.rollbacks.some(({ scope }) => scope === undefined)
  }

  /** Whether the code had ended by a throw before this recorded call had an outcome that it could see. */
  endsBefore(request: Pick<RequestedCall, 'phase' | 'key'>, match: HistoryMatch | undefined): boolean {
    if (!this.endsByThrow) return false
    return match?.kind === 'open' ? !match.seen : match?.kind === 'nothing' && this.#callOf(request) !== undefined
  }

  /** Whether the record holds calls in or below this scope. */
  holdsWithin(scope: string): boolean {
    return [...this.run.calls.values()].some((call) => isCovered(scope, call.scope))
  }

  /** Whether the record holds this call under this tool name. */
  holds({ tool, phase, key }: Pick<RequestedCall, 'tool' | 'phase' | 'key'>): boolean {
    return this.#callOf({ phase, key })?.tool === tool
  }

  /** The arguments with which this run claimed the call before. */
  claimedAs(request: Pick<RequestedCall, 'phase' | 'key'>): Pick<RecordedCall, 'args' | 'argsDigest'> | undefined {
    const call = this.#callOf(request)
    return this.run.inherited?.calls.has(call?.callId ?? '') === true ? call?.again : call
  }

  /** Whether the record holds a forward call of this tool in this scope. */
  hasAt({ tool, scope }: Pick<RecordedCall, 'tool' | 'scope'>): boolean {
    return this.#byPlace.has(placeOf({ tool, phase: 'forward', scope }))
  }

  /** Whether the record holds calls that the current code has not requested. */
  get isBehind(): boolean {
    return this.#unserved.size > 0
  }

  /** Recorded calls that are not requested yet and never will be, because the current code no longer has their names. */
  lostNames(registry: Pick<ToolRegistry, 'get'>, work: NewWork): readonly RecordedCall[] {
    if (this.#unserved.size === 0) return []
    return [...this.#unserved.values()].filter((call) => isLost(call, registry, work))
  }

  /** The next outcome that has not been served for this request; a success is served to every request. */
  next(request: RequestedCall): HistoryMatch {
    const call = this.#callOf(request)
    if (call !== undefined) this.#unserved.delete(call.callId)
    const first = this.#servedAttempts.get(call?.callId ?? '') ?? 0
    const refusal = this.#refusalOf(request, first)
    if (refusal !== undefined) {
      const { place, ...served } = refusal
      this.#servedRefusals.set(this.#slot(request.phase, request.key), place + 1)
      return { kind: 'refused', ...served }
    }
    if (call === undefined) {
      const { refusal: denied, refusedAfter: after = 0 } = this.#approvalOf(request) ?? {}
      return denied === undefined ? { kind: 'nothing' } : { kind: 'refused', refusal: denied, after }
    }
    for (let index = first; index < call.attempts.length; index += 1) {
      const attempt = call.attempts[index]
      const recorded = attempt?.outcome
      const last = index === call.attempts.length - 1
      const open = { kind: 'open', call, attempt, attempts: index + 1 - first } as const
      if (attempt === undefined || recorded === undefined) return { ...open, seen: false }
      if (recorded.kind === 'unknown' && last)
        return { ...open, seen: recorded.seen, ...(attempt.endedAfter && { after: attempt.endedAfter }) }
      const outcome = servedAs(recorded)
      if (recorded.kind !== 'succeeded') this.#servedAttempts.set(call.callId, index + 1)
      if (outcome !== undefined) return { kind: 'outcome', call, attempt, outcome, attempts: index + 1 - first }
    }
    return { kind: 'nothing' }
  }

  /** The call has ended: the calls it made count as requested, and their failures up to then are not served again. */
  ended(callId: string, after = 0): void {
    for (const child of this.#children.get(callId) ?? []) {
      this.#unserved.delete(child.callId)
      const over = child.attempts.filter(
        ({ endedAfter, outcome }) => outcome?.kind !== 'succeeded' && (endedAfter ?? after) < after,
      )
      this.#servedAttempts.set(child.callId, Math.max(over.length, this.#servedAttempts.get(child.callId) ?? 0))
      this.ended(child.callId, after)
    }
  }

  /** The calls in a scope that is served as a whole count as requested. */
  passedOver(covers: (scope: string) => boolean): void {
    for (const [callId, { scope }] of this.#unserved)
      if (scope !== undefined && covers(scope)) this.#unserved.delete(callId)
  }

  /**
   * The first call that was requested before this place and that the current code has not requested. Calls made within another call do not count: the code of a
   * tool may take another path when it runs again.
   */
  unmadeBefore(place: number): string | undefined {
    for (const { callId, requestedAfter, parentCall } of this.#unserved.values()) {
      if (requestedAfter >= place) return undefined
      if (parentCall === undefined) return callId
    }
    return undefined
  }

  /** The error for code that waits for something recorded after a request that the code does not make. */
  neverRequested(callId: string): ResumeDiverged {
    const unmade = [...this.#unserved.values()].filter((each) => each.callId === callId)
    const message = `the record holds calls that were requested before what the code waits for now, and the code does not ask for them: ${names(unmade)}; nothing was run`
    return absenceOf(message, { expected: unmade.map(shown), actual: null }, this.#code)
  }

  /** Calls inherited from the run that this run branched from, which the current code has not requested. */
  inheritedLeft(): readonly RecordedCall[] {
    const { inherited } = this.run
    return inherited === undefined
      ? []
      : [...this.#unserved.values()].filter(({ callId }) => inherited.calls.has(callId))
  }

  /** The current code has rolled this scope back as well: equal calls are new calls from here on. */
  rolledBack(scope: string | undefined): void {
    if (scope !== undefined) this.#rolledBack.add(scope)
    for (const call of this.run.calls.values()) {
      if (isCovered(scope, call.scope) && call.undone === 'compensated') this.#undone.add(call.callId)
    }
  }

  /** Number of events that had been recorded by the end of the rollback of this scope; undefined if there was none. */
  rolledBackAfter(scope: string): number | undefined {
    const inherited = this.run.inherited?.scopes.has(scope) === true ? 0 : undefined
    const begun = this.run.rollbacks.find((each) => each.scope === scope)?.after ?? inherited
    if (begun === undefined) return undefined
    let last = begun
    for (const call of this.run.calls.values())
      if (isCovered(scope, call.scope)) last = Math.max(last, call.undoneAfter ?? 0)
    return last
  }

  /** Throws if recorded calls were never requested. */
  mustBeSpent(): void {
    this.#mustBeEmpty([...this.#unserved.values()])
  }

  /** Throws if the code starts new work before it has requested all calls that it inherits. */
  mustHaveInherited(): void {
    this.#mustBeEmpty(this.inheritedLeft())
  }

  #mustBeEmpty(remaining: readonly RecordedCall[]): void {
    if (remaining.length === 0) return
    const message = `the record holds calls that the code did not ask for: ${names(remaining)}`
    throw absenceOf(message, { expected: remaining.slice(0, SHOWN_MAX).map(shown), actual: null }, this.#code)
  }

  /** The error for a call that the record does not hold. */
  unknown(query: RequestedCall): ResumeDiverged {
    const { scope } = query.execution
    const there = [...this.#unserved.values()].find((call) => call.scope === scope && call.parentCall === undefined)
    return this.#diverged(query, there === undefined ? [] : [there])
  }

  #callOf({ phase, key }: Pick<RequestedCall, 'phase' | 'key'>): RecordedCall | undefined {
    return this.run.byKey.get(this.#slot(phase, key))?.find(({ callId }) => !this.#undone.has(callId))
  }

  /** The key under which the record holds a call: its plain key, or the blind key of a call whose arguments were left out. */
  #slot(phase: string, key: string): string {
    const slot = slotOf(phase, key)
    const { byKey, approvals, refusals } = this.run
    if (this.#callKey === undefined || byKey.has(slot) || approvals.has(slot) || refusals.has(slot)) return slot
    return slotOf(phase, blindCallKey(this.#callKey, key))
  }

  /** The approval of a call that was not made, or that is to be made again after it was undone. */
  #approvalOf({ phase, key }: Pick<RequestedCall, 'phase' | 'key'>): RecordedApproval | undefined {
    return this.run.approvals.get(this.#slot(phase, key))
  }

  /** The refusal that was answered at this point in place of an outcome. Each refusal is served once. */
  #refusalOf(
    { phase, key }: RequestedCall,
    attempts: number,
  ): (RecordedRefusal & { readonly place: number }) | undefined {
    const slot = this.#slot(phase, key)
    const all = this.#refusalsOf(slot, { phase, key })
    const place = all.findIndex(
      (each, i) => i >= (this.#servedRefusals.get(slot) ?? 0) && attempts <= each.afterAttempts,
    )
    const recorded = all[place]
    if (recorded === undefined) return undefined
    const before = this.run.byKey.get(slot)?.at(-1)?.attempts.slice(attempts, recorded.afterAttempts) ?? []
    // As in `next`, attempts whose end the code never saw are skipped.
    return before.every(isUnseen) ? { ...recorded, place } : undefined
  }

  /** Refusals by the budget and for other reasons, in recorded order. */
  #refusalsOf(slot: string, claim: Pick<RequestedCall, 'phase' | 'key'>): readonly RecordedRefusal[] {
    const { refusals, byKey } = this.run
    const others = this.#refused({ kind: 'claim', body: { ...claim, runFence: 0 } })
    const byBudget = refusals.get(slot) ?? []
    if (others.length === 0) return byBudget
    const attempts = byKey.get(slot)?.at(-1)?.attempts ?? []
    const afterAttempts = (after: number): number =>
      attempts.filter(({ endedAfter = Number.POSITIVE_INFINITY }) => endedAfter <= after).length
    return [...byBudget, ...others.map((each) => ({ ...each, afterAttempts: afterAttempts(each.after) }))].toSorted(
      (a, b) => a.after - b.after,
    )
  }

  /** The recorded refusal of this request, which the code may have caught at that time. */
  refused(requested: Requested): Refused | undefined {
    return this.#refused(requested)[0]
  }

  #refused(requested: Requested): readonly Refused[] {
    if (this.run.refused.size === 0) return []
    const mark = requestMark(requested)
    return mark === undefined ? [] : (this.run.refused.get(jsonDigest(mark)) ?? [])
  }

  #diverged(identity: RequestedCall, expected: readonly RecordedCall[], stack = stackHere()): ResumeDiverged {
    const { spec, args, execution, occurrence } = identity
    const actual = { tool: spec.name, args, scope: execution.scope ?? null, occurrence }
    const details: JsonObject = { expected: expected.slice(0, SHOWN_MAX).map(shown), actual }
    const [first] = expected
    const isOther = first !== undefined && ![spec.name, ...spec.alias].includes(first.tool)
    const expectedText = first === undefined ? 'no such call' : names(expected)
    const than = isOther ? 'where the record holds' : 'with other arguments than the record holds'
    const message = `the code asks for ${spec.name} ${than} ${isOther ? expectedText : `(${expectedText})`}: nothing was run`
    const recorded = first === undefined ? undefined : this.#wholeArgs(first)
    const differing = isOther
      ? { message, recorded: { tool: first.tool }, asked: { tool: spec.name } }
      : { message, recorded: withoutDigest(recorded), asked: withoutDigest(args) ?? null }
    return divergenceOf(differing, details, this.#code, stack)
  }

  /** The arguments as requested; undefined if the record stores them separately, or not at all. */
  #wholeArgs({ callId, args, phase }: RecordedCall): Json | undefined {
    if (!isJsonObject(args)) return args
    if ('argsRef' in args) return undefined
    if (phase !== 'model' || args.change === undefined) return args
    const requests = new RecordedRequests()
    for (const call of new Set(this.run.calls.values())) {
      const request = call.phase === 'model' ? requests.whole(call.args) : undefined
      if (call.callId !== callId) continue
      const { change: _, ...identity } = args
      return request === undefined ? undefined : { ...identity, request }
    }
    return undefined
  }
}

const isOfCode = ({ parentCall, scope }: RecordedCall, within: string | undefined): boolean =>
  parentCall === undefined && isCovered(within, scope)

/** Omits the fingerprint of a request that is present in full. */
function withoutDigest(args: Json | undefined): Json | undefined {
  if (!isJsonObject(args ?? null) || (args as JsonObject).request === undefined) return args
  const { fingerprint: _, ...rest } = args as JsonObject
  return rest
}

function isUnseen({ outcome }: RecordedAttempt): boolean {
  return outcome === undefined || ((outcome.kind === 'unknown' || outcome.kind === 'not-executed') && !outcome.seen)
}

/** A failure that the code saw at that time is served as a failure; an attempt that died with its process is not served. */
function servedAs(recorded: RecordedOutcome): Extract<RecordedOutcome, { kind: 'succeeded' | 'failed' }> | undefined {
  if (recorded.kind === 'succeeded' || recorded.kind === 'failed') return recorded
  return recorded.seen ? { kind: 'failed', error: { message: recorded.reason, code: 'outcome-unknown' } } : undefined
}

function placeOf({ tool, phase, scope }: Pick<RecordedCall, 'tool' | 'phase' | 'scope'>): string {
  return `${phase}\n${tool}\n${scope ?? ''}`
}

function shown({ callId, tool, args, scope, occurrence }: RecordedCall): JsonObject {
  return { callId, tool, args, scope: scope ?? null, occurrence }
}

function names(calls: readonly RecordedCall[]): string {
  return calls
    .slice(0, SHOWN_MAX)
    .map(({ tool, callId }) => `${tool} (${callId})`)
    .join(', ')
}

function addTo<K, V>(sets: Map<K, Set<V>>, key: K, value: V): void {
  const set = sets.get(key) ?? new Set<V>()
  sets.set(key, set.add(value))
}
