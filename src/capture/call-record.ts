/**
 * @module Records calls with the ledger's own commands: claimed before they are forwarded, settled before they are answered. A request is never sent to the
 * tool a second time; only commands of the ledger are repeated, with their idempotency keys.
 */
import { randomUUID } from 'node:crypto'
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { ClaimCall } from '../../schemas/requests.ts'
import type { Client } from '../client/client.ts'
import { LedgerError } from '../client/errors.ts'
import { jsonDigest } from '../signing/digests.ts'
import { type ClaimDebt, Debts, isAway } from './debts.ts'
import { type Effects, ruleOf } from './effects.ts'
import type { ToolCall } from './json-rpc.ts'
import { isReduced, recordedForm, type Secrets, withoutSecrets } from './recorded-form.ts'
import type { RecordedRun } from './session-run.ts'
import { type Desk, ledgerAway, notRecorded, openElsewhere, reasonOfError, refusalText } from './texts.ts'
import type { Claimed, EntranceName, Outcome, Ticket } from './ticket.ts'

export interface CallRecordOptions {
  /** Client whose timeout is shorter than the host's, so that a claim fails before the host gives up. */
  readonly client: Client
  readonly run: RecordedRun
  /** Default `mcp`. */
  readonly entrance?: EntranceName
  readonly server: string
  readonly agent: string | undefined
  readonly effects: Effects
  readonly secrets: Secrets
  /** Identifies the process that executes the calls, if its death can be proved. */
  readonly owner: string | undefined
  /** Default: 60,000, renewed while the call runs. */
  readonly leaseMs?: number
  readonly whenAway: 'refuse' | 'pass'
  readonly desk: Desk
}

export type Admission =
  | { readonly kind: 'forward'; readonly ticket: Ticket }
  /** `code`: the code of the ledger's refusal. `isAway`: the ledger did not answer, so the claim may have been recorded. */
  | {
      readonly kind: 'refused'
      readonly text: string
      readonly code?: string
      readonly isAway?: true
      /** The approval that the call waits for. */
      readonly approval?: string
    }
  /** A repeated call with the host's own call key: the recorded answer. */
  | { readonly kind: 'recorded'; readonly result: Json }

export type Joined =
  | Exclude<Admission, { kind: 'recorded' }>
  | { readonly kind: 'claimed'; readonly ticket: Ticket }
  | { readonly kind: 'open'; readonly ticket: Ticket; readonly isInDoubt: boolean }
  | { readonly kind: 'over'; readonly callId: string }

export type Settled = { readonly recorded: true } | { readonly recorded: false; readonly text: string }

const LEASE_MS = 60_000

export class CallRecord {
  readonly #options: CallRecordOptions
  readonly #debts: Debts
  readonly #equal = new EqualCalls()

  constructor(options: CallRecordOptions) {
    this.#options = options
    const { client, run, server, entrance = 'mcp' } = options
    this.#debts = new Debts({
      client,
      run,
      entrance,
      server,
      onClaimed: (ticket, claimed) => this.#claimed(ticket, claimed),
    })
  }

  /** Decides whether the call may be forwarded: its claim is recorded, or it is let through while the ledger is unavailable. */
  async admit(call: ToolCall): Promise<Admission> {
    const body = this.#claimOf(call)
    try {
      await this.#debts.pay()
      await this.#options.run.ready()
      return call.callKey === undefined ? await this.#counted(body) : await this.#keyed(body, call.callKey)
    } catch (error) {
      return this.#notClaimed(body, error)
    }
  }

  #notClaimed(body: ClaimCall, error: unknown): Exclude<Admission, { kind: 'recorded' }> {
    const { run, whenAway, desk } = this.#options
    const { tool } = body
    const [cause, lost] = error instanceof ClaimLost ? [error.cause, error.claim] : [error, undefined]
    if (isAway(cause)) {
      const late = lost ?? {
        body: { ...body, key: `${this.#entrance}-late:${randomUUID()}` },
        idempotencyKey: randomUUID(),
      }
      if (whenAway === 'pass') return { kind: 'forward', ticket: this.#debts.passed(tool, late) }
      if (lost !== undefined) this.#debts.notForwarded(lost)
      return { kind: 'refused', text: ledgerAway(tool, this.#clean(reasonOfError(cause))), isAway: true }
    }
    if (!(cause instanceof LedgerError)) throw cause
    const text = this.#clean(refusalText(cause, { tool, runId: run.id }, desk))
    const { approvalId } = cause.problem
    const waits = cause.code === 'approval-pending' && typeof approvalId === 'string'
    return { kind: 'refused', text, code: cause.code, ...(waits && { approval: approvalId }) }
  }

  /**
   * Joins the call of this key, regardless of which process claimed it: `open` with the existing claim, `claimed` with a new one, `over` if its outcome is
   * recorded. This does not decide whether the call may run; an entrance that only observes calls uses `unlessEqual` for that.
   */
  async join(call: ToolCall & { readonly callKey: string }): Promise<Joined> {
    const body = this.#claimOf(call)
    const { run } = this.#options
    try {
      await run.ready()
      const key = `${this.#entrance}:${this.#clean(call.callKey)}`
      const answer = await this.#claim({ ...body, key })
      if (!answer.created) return { kind: 'over', callId: String(answer.body.callId) }
      return { kind: 'claimed', ticket: ticketOf(body, answer.body) }
    } catch (error) {
      const { code, problem } = error instanceof LedgerError ? error : { code: '', problem: {} }
      if (code === 'call-in-progress' || code === 'call-in-doubt')
        return { kind: 'open', ticket: ticketOf(body, problem), isInDoubt: code === 'call-in-doubt' }
      return this.#notClaimed(body, error)
    }
  }

  /** Admits a joined call, unless its tool must not run concurrently with an equal call and there is one. */
  async unlessEqual({ tool }: ToolCall, ticket: Ticket): Promise<Admission> {
    const { claim } = ticket
    if (claim === undefined || ruleOf(this.#options.effects, tool).effect !== 'once') return { kind: 'forward', ticket }
    const refused = await this.#refusedElsewhere(tool, claim)
    return refused ?? { kind: 'forward', ticket }
  }

  /** Records the outcome; if that fails, returns the text for the host in place of the answer. */
  async settle(ticket: Ticket, outcome: Outcome): Promise<Settled> {
    const recorded = { ...this.#recordedOutcome(outcome), ...spending(ticket, outcome) }
    if (ticket.claim === undefined) {
      ticket.outcome = recorded
      return { recorded: true }
    }
    const { callId, fence } = ticket.claim
    try {
      await this.#debts.settle({ callId, body: { fence, ...recorded } })
      ticket.ended?.(isAnswered(outcome))
      return { recorded: true }
    } catch (error) {
      ticket.ended?.(false)
      if (this.#options.whenAway === 'pass' && isAway(error)) return { recorded: true }
      return { recorded: false, text: notRecorded(ticket.tool, this.#clean(reasonOfError(error))) }
    }
  }

  /** Records everything that is still owed, as far as the ledger answers. */
  async close(): Promise<{ readonly owed: number }> {
    await this.#debts.pay().catch(() => undefined)
    return { owed: this.#debts.owed }
  }

  get desk(): Desk {
    return this.#options.desk
  }

  get #entrance(): EntranceName {
    return this.#options.entrance ?? 'mcp'
  }

  placeOf({ tool, claim }: Ticket): { readonly runId: string; readonly callId: string; readonly tool: string } {
    return { runId: this.#options.run.id, callId: claim?.callId ?? 'not recorded', tool }
  }

  #claimOf({ tool, args }: ToolCall): ClaimCall {
    const { agent, effects, owner, secrets, leaseMs = LEASE_MS } = this.#options
    const { effect, price } = ruleOf(effects, tool)
    return {
      tool: this.#clean(tool),
      args: recordedForm(args, secrets),
      leaseMs,
      onUnknown: effect === 'once' ? 'in-doubt' : 'retry',
      ...(agent !== undefined && { agent }),
      ...(owner !== undefined && { owner }),
      ...(price !== undefined && { reserve: price }),
    }
  }

  /** The host identifies the call by its key: a repeated call gets the recorded answer. */
  async #keyed(body: ClaimCall, callKey: string): Promise<Admission> {
    const answer = await this.#claim({ ...body, key: `mcp-key:${this.#clean(callKey)}` })
    if (answer.created) return this.#admitted(body, answer.body)
    return this.#repeated(body.tool, answer.body)
  }

  async #repeated(tool: string, { callId, result, resultRef }: JsonObject): Promise<Admission> {
    const { client, run } = this.#options
    const digest = (resultRef as JsonObject | undefined)?.digest
    const recorded = typeof digest === 'string' ? await client.value(run.id, digest) : (result ?? null)
    if (recorded !== null && !isReduced(recorded)) return { kind: 'recorded', result: recorded }
    const text = `${tool} was executed before under this call key (call ${String(callId)} of run ${run.id}), and is not run again. Only part of its answer is recorded.`
    return { kind: 'refused', text }
  }

  /**
   * Each request is a separate call: equal calls are counted, and the key contains the first count without a final outcome. The ledger thus refuses an equal
   * call while one is open or in doubt, whichever process made it, and treats a retry of a call in doubt as an attempt of that call.
   */
  async #counted(body: ClaimCall): Promise<Admission> {
    const digest = jsonDigest({ server: this.#options.server, tool: body.tool, args: body.args })
    const isOnce = body.onUnknown === 'in-doubt'
    for (let count = this.#equal.first(digest); ; count += 1) {
      if (!isOnce && !this.#equal.take(digest, count)) continue
      const answer = await this.#claim({ ...body, key: `mcp:${digest}:${count}` }).catch((error: unknown) => {
        this.#equal.release(digest, count)
        return this.#orNext(error, { digest, count, isOnce })
      })
      if (answer === 'next') continue
      if (answer.created) {
        const ended = (isFinal: boolean): void =>
          isFinal ? this.#equal.done(digest, count) : this.#equal.release(digest, count)
        return isOnce ? this.#unlessElsewhere(body, answer.body, ended) : this.#admitted(body, answer.body, ended)
      }
      this.#equal.done(digest, count)
    }
  }

  /** An equal call that may run concurrently takes the next count; after an expired approval, the next request asks for a new one. */
  #orNext(
    error: unknown,
    { digest, count, isOnce }: { readonly digest: string; readonly count: number; readonly isOnce: boolean },
  ): 'next' {
    if (!(error instanceof LedgerError)) throw error
    if (error.code === 'call-in-progress' && !isOnce) return 'next'
    if (error.code === 'approval-expired') this.#equal.done(digest, count)
    throw error
  }

  async #claim(body: ClaimCall): Promise<{ readonly created: boolean; readonly body: JsonObject }> {
    const { client, run } = this.#options
    const idempotencyKey = randomUUID()
    try {
      return await client.execute(run.id, { kind: 'claim', body }, { idempotencyKey })
    } catch (error) {
      throw isAway(error) ? new ClaimLost({ body, idempotencyKey }, error) : error
    }
  }

  /**
   * For a call that must not run concurrently with an equal one, the claim is recorded before others are checked: of two concurrent checks, at least one sees
   * the other.
   */
  async #unlessElsewhere(body: ClaimCall, claimed: JsonObject, ended: Ended): Promise<Admission> {
    const { callId, fence } = claimed
    const refused = await this.#refusedElsewhere(body.tool, { callId: String(callId), fence: Number(fence) })
    return refused ?? this.#admitted(body, claimed, ended)
  }

  async #refusedElsewhere(
    tool: string,
    { callId, fence }: Pick<Claimed, 'callId' | 'fence'>,
  ): Promise<Admission | undefined> {
    const { desk } = this.#options
    const found = await this.#openElsewhere(callId)
    if (found.kind === 'none') return undefined
    const why =
      found.kind === 'call' ? `an equal call is open: ${found.place.callId} of run ${found.place.runId}` : found.why
    const error = { message: `not forwarded: ${this.#clean(why)}`.slice(0, REASON_MAX_CHARS), code: 'not-forwarded' }
    // If this cannot be recorded now, it is kept as a debt.
    await this.#debts.settle({ callId, body: { fence, error } }).catch(() => undefined)
    const text = found.kind === 'call' ? openElsewhere({ ...found.place, tool }, desk) : ledgerAway(tool, error.message)
    return { kind: 'refused', text }
  }

  async #openElsewhere(own: string): Promise<Elsewhere> {
    const calls: JsonObject[] = []
    try {
      for await (const call of this.#options.client.openCalls({ equalTo: own })) calls.push(call)
    } catch (error) {
      // Within the same run, the claim itself has already refused an equal call (CAP-5).
      if (error instanceof LedgerError && error.code === 'run-mismatch') return { kind: 'none' }
      return { kind: 'unseen', why: `the open calls of other runs could not be looked at: ${reasonOfError(error)}` }
    }
    if (!calls.some(({ callId }) => callId === own))
      return { kind: 'unseen', why: 'the list of open calls lacks this one' }
    const other = calls.find(({ callId }) => callId !== own)
    return other === undefined
      ? { kind: 'none' }
      : { kind: 'call', place: { runId: String(other.runId), callId: String(other.callId) } }
  }

  #admitted({ tool, reserve }: ClaimCall, body: JsonObject, ended?: Ended): Admission {
    const ticket: Ticket = { tool, reserve }
    this.#claimed(ticket, body, ended)
    return { kind: 'forward', ticket }
  }

  #claimed(ticket: Ticket, { callId, fence, leaseMs }: JsonObject, ended?: Ended): void {
    const { client, run } = this.#options
    ticket.claim = { callId: String(callId), fence: Number(fence), leaseMs: Number(leaseMs) }
    const stop = keepLease(client, run.id, ticket.claim)
    ticket.ended = (isFinal) => {
      stop()
      ended?.(isFinal)
    }
  }

  #recordedOutcome({ result, error, unknown, unrecorded }: Outcome): Outcome {
    const { secrets } = this.#options
    if (unrecorded !== undefined) return { unrecorded }
    if (result !== undefined) return { result: recordedForm(result, secrets) }
    if (error !== undefined)
      return {
        error: recordedForm(error as unknown as JsonObject, secrets) as unknown as NonNullable<Outcome['error']>,
      }
    return unknown === undefined ? {} : { unknown: { reason: this.#clean(unknown.reason).slice(0, REASON_MAX_CHARS) } }
  }

  #clean(text: string): string {
    return withoutSecrets(text, this.#options.secrets)
  }
}

const REASON_MAX_CHARS = 1_024

function ticketOf({ tool, reserve, leaseMs = LEASE_MS }: ClaimCall, { callId, fence }: JsonObject): Ticket {
  return { tool, reserve, claim: { callId: String(callId), fence: Number(fence), leaseMs } }
}

function isAnswered({ result, unrecorded }: Outcome): boolean {
  return result !== undefined || unrecorded !== undefined
}

/** An answered call is charged its price; the reservation is released after a failure, and kept while the outcome is unknown. */
function spending({ reserve }: Ticket, outcome: Outcome): Pick<Outcome, 'usage'> {
  if (reserve === undefined || !isAnswered(outcome)) return {}
  const { cost, currency } = reserve
  return { usage: { tokens: 0, cost, currency } }
}

type Ended = (isFinal: boolean) => void

type Elsewhere =
  | { readonly kind: 'none' }
  | { readonly kind: 'call'; readonly place: { readonly runId: string; readonly callId: string } }
  | { readonly kind: 'unseen'; readonly why: string }

/** The ledger did not answer, so it is unknown whether the claim is recorded. */
class ClaimLost extends Error {
  readonly claim: ClaimDebt

  constructor(claim: ClaimDebt, cause: unknown) {
    super('the claim got no answer', { cause })
    this.name = 'ClaimLost'
    this.claim = claim
  }
}

// Keeps the lease of a call while its tool runs, by renewing it after a third of its duration.

const PART = 3

/** Returns a function that stops renewal. An unreachable ledger does not stop it, because a settlement after the deadline is accepted as well. */
function keepLease(client: Client, runId: string, { callId, fence, leaseMs }: Claimed): () => void {
  let isOver = false
  let timer: NodeJS.Timeout | undefined
  const plan = (length: number): void => {
    timer = setTimeout(() => void renew(length), length / PART)
    timer.unref()
  }
  const renew = async (length: number): Promise<void> => {
    try {
      const { body } = await client.execute(runId, { kind: 'renew', callId, body: { fence } })
      if (!isOver) plan(Number(body.leaseMs ?? length))
    } catch (error) {
      if (!isOver && !(error instanceof LedgerError)) plan(length)
    }
  }
  plan(leaseMs)
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}

/** For equal calls of a session: the first count without a final outcome, and the counts held by calls of this process. */
class EqualCalls {
  readonly #first = new Map<string, number>()
  readonly #held = new Map<string, Set<number>>()

  /** The lowest count without a known final outcome. */
  first(digest: string): number {
    return this.#first.get(digest) ?? 0
  }

  /** Returns false if a call of this process holds the count. */
  take(digest: string, count: number): boolean {
    const held = this.#held.get(digest) ?? new Set()
    if (held.has(count)) return false
    this.#held.set(digest, held.add(count))
    return true
  }

  release(digest: string, count: number): void {
    const held = this.#held.get(digest)
    held?.delete(count)
    if (held?.size === 0) this.#held.delete(digest)
  }

  /** The call of this count has a final outcome. */
  done(digest: string, count: number): void {
    this.release(digest, count)
    if (count === this.first(digest)) this.#first.set(digest, count + 1)
  }
}
