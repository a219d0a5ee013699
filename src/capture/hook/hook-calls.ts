/**
 * @module The work of one hook of a coding agent: claims the call that is about to run, or settles the one that ran, with the same record of calls as the MCP
 * proxy. It never exceeds the host's time limit.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject, type JsonObject } from '../../../schemas/json.ts'
import type { Client } from '../../client/client.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { type Admission, CallRecord } from '../call-record.ts'
import { type Effects, ruleOf } from '../effects.ts'
import type { Secrets } from '../recorded-form.ts'
import { type Desk, ledgerAway, openElsewhere, reasonOfError } from '../texts.ts'
import type { Outcome, Ticket } from '../ticket.ts'
import type { HookDecision } from './hook-answer.ts'
import type { HookCall, HookHost } from './hook-input.ts'
import type { HookNotes } from './hook-notes.ts'
import { HookRun } from './hook-run.ts'

export interface HookOptions {
  readonly client: Client
  readonly desk: Desk
  readonly host: HookHost
  readonly session: string
  readonly run: string | undefined
  readonly agent: string | undefined
  readonly effects: Effects
  readonly secrets: Secrets
  readonly whenAway: 'refuse' | 'pass'
  readonly notes: HookNotes
  /** Milliseconds left until the host must have its answer. */
  readonly leftMs: () => number
  /** Prints a line for people to standard error. */
  readonly say: (text: string) => void
}

/** The maximum lease, because no process renews it; an outcome that arrives later ends the doubt. */
const LEASE_MS = 10 * 60_000
const LOOK_AGAIN_MS = 500
/** Maximum number of equal calls that run at once, for calls to which the host gives no identity. */
const EQUAL_MAX = 64

export class HookCalls {
  readonly #options: HookOptions
  readonly #run: HookRun

  constructor(options: HookOptions) {
    this.#options = options
    this.#run = new HookRun({ ...options, named: options.run })
  }

  /** Decides whether the call may run: its claim is recorded, or it is let through. */
  async before(call: HookCall): Promise<HookDecision> {
    const { whenAway, notes, leftMs, say } = this.#options
    const key = this.#keyOf(call)
    let last: Admission | undefined
    const deciding = this.#decide(call, key, (admission) => {
      last = admission
    })
    const admission = await Promise.race([deciding, sleep(Math.max(0, leftMs()), undefined, { ref: false })])
    const end = admission ?? last ?? late(call.tool, whenAway)
    deciding.catch(() => undefined)
    if (end.kind === 'recorded') return { allow: false, reason: `Not run: ${call.tool} was executed before.` }
    if (end.kind === 'refused') {
      if (end.isAway === true) notes.write('kept-back', key.name, { key: key.name })
      return { allow: false, reason: end.text }
    }
    if (end.ticket.claim === undefined && !notes.write('passed', randomUUID(), { at: new Date().toISOString() }))
      say(`${call.tool} is let through unrecorded, and that cannot be noted for later`)
    return { allow: true }
  }

  /** Records the outcome of a call; a call that was not announced is recorded as observed late. */
  async after(call: HookCall, outcome: Outcome): Promise<void> {
    const { notes, say, effects, host } = this.#options
    const noted = this.#noteOf(call)
    if (noted === undefined) return this.#observed(call, outcome)
    const { runId, callId, fence, what } = noted.note
    const isOther = typeof what === 'string' && what !== whatItDoes(inBoth(call))
    const calls = this.#recordAt({ id: String(runId), ready: async () => String(runId) })
    const claim = { callId: String(callId), fence: Number(fence), leaseMs: LEASE_MS }
    const settled = await calls.settle(
      { tool: call.tool, reserve: ruleOf(effects, call.tool).price, claim },
      isOther ? RUN_OTHERWISE : outcome,
    )
    if (settled.recorded) notes.remove('call', noted.name)
    else say(`${settled.text.replace(', so the answer is held back', '')} (${host})`)
    if (isOther) await this.#observed({ ...call, id: undefined }, outcome)
  }

  /** Records the run at the start of a session. */
  async start(): Promise<void> {
    await this.#run.ready()
    await this.#recordGaps()
  }

  /** Marks calls without an outcome as in doubt, and completes the session's own run. */
  async end(): Promise<void> {
    const { notes, client, say } = this.#options
    const exists = (await this.#run.find()) !== undefined || notes.all('passed').length > 0
    if (!exists) return notes.forget()
    await this.#run.ready()
    await this.#recordGaps()
    const reason = 'the session of the coding agent ended, and no outcome came'
    for (const { callId, fence, isKeptBack } of await this.#open())
      await client
        .execute(this.#run.id, {
          kind: 'settle',
          callId,
          body: { fence, ...(isKeptBack ? { error: NOT_RUN } : { unknown: { reason } }) },
        })
        .catch((error: unknown) => say(`the call ${callId} could not be settled: ${reasonOfError(error)}`))
    notes.forget()
    if (!this.#run.isOwn) return
    await client
      .execute(this.#run.id, { kind: 'complete', body: {} })
      .catch((error: unknown) => say(`the run ${this.#run.id} stays open: ${reasonOfError(error)}`))
  }

  /** Retries until the decision is final, because an approval may be granted in the meantime. */
  async #decide(call: HookCall, key: CallKey, onEach: (admission: Admission) => void): Promise<Admission> {
    const { notes, leftMs } = this.#options
    const calls = this.#recordAt(this.#run)
    const what = whatItDoes(call)
    await this.#payBack().catch(() => undefined)
    for (;;) {
      const admission = key.isCounted
        ? await calls.admit({ id: 0, tool: call.tool, args: call.args })
        : await this.#joined(calls, call, key)
      onEach(admission)
      if (admission.kind === 'forward') this.#noted(call, key, admission.ticket)
      if (admission.kind !== 'refused') return admission
      if (admission.code === 'approval-expired') notes.remove('approval', what)
      if (admission.code !== 'approval-pending') return admission
      if (!key.isCounted) notes.write('approval', what, { key: key.name })
      if (leftMs() <= LOOK_AGAIN_MS) return admission
      await sleep(LOOK_AGAIN_MS)
    }
  }

  async #joined(calls: CallRecord, call: HookCall, key: CallKey): Promise<Admission> {
    const joined = await calls.join({ id: 0, tool: call.tool, args: call.args, callKey: key.name })
    if (joined.kind === 'refused' || joined.kind === 'forward') return joined
    if (joined.kind === 'over')
      return {
        kind: 'refused',
        text: `Not run: ${call.tool} has run under this id before (call ${joined.callId} of run ${this.#run.id}).`,
      }
    const isOther = joined.kind === 'open' && (joined.isInDoubt || !key.isItsOwn)
    if (isOther) return { kind: 'refused', text: openElsewhere(calls.placeOf(joined.ticket), calls.desk) }
    return calls.unlessEqual({ id: 0, tool: call.tool, args: call.args }, joined.ticket)
  }

  /** A call takes the key of an equal call that waited for an approval, because the approval belongs to that key. */
  #keyOf(call: HookCall): CallKey {
    const { notes } = this.#options
    const { id } = call
    if (id === undefined) return { name: randomUUID(), isCounted: true, isItsOwn: true }
    const claimed = notes.read('call', id)
    const waiting = claimed === undefined ? notes.read('approval', whatItDoes(call)) : undefined
    const other = claimed?.key ?? waiting?.key
    const name = typeof other === 'string' ? other : id
    return { name, isCounted: false, isItsOwn: waiting === undefined || name === id }
  }

  #noted(call: HookCall, key: CallKey, { claim }: Ticket): void {
    const { notes } = this.#options
    if (claim === undefined) return
    const { callId, fence } = claim
    notes.write('call', this.#freeName(call), {
      ...{ key: key.name, runId: this.#run.id, callId, fence },
      what: whatItDoes(inBoth(call)),
    })
    notes.remove('approval', whatItDoes(call))
  }

  #freeName(call: HookCall): string {
    const free = nameOf(call).find((name) => this.#options.notes.read('call', name) === undefined)
    return call.id ?? free ?? randomUUID()
  }

  #noteOf(call: HookCall): { readonly name: string; readonly note: JsonObject } | undefined {
    for (const name of nameOf(call)) {
      const note = this.#options.notes.read('call', name)
      if (note !== undefined) return { name, note }
    }
    return undefined
  }

  /** No note says that the call was announced, but the ledger may know it. */
  async #observed(call: HookCall, outcome: Outcome): Promise<void> {
    const { say } = this.#options
    const calls = this.#recordAt(this.#run)
    await this.#payBack().catch(() => undefined)
    const callKey = call.id ?? `unannounced:${randomUUID()}`
    const joined = await calls.join({ id: 0, tool: call.tool, args: call.args, callKey })
    if (joined.kind === 'over') return
    if (joined.kind === 'claimed' || joined.kind === 'open') {
      const settled = await calls.settle(joined.ticket, joined.kind === 'open' ? outcome : observedLate(outcome))
      if (!settled.recorded) say(settled.text)
      return
    }
    const why = joined.kind === 'refused' ? joined.text : 'the ledger is away'
    say(`${call.tool} ran, and is not recorded: ${why}`)
    if (joined.kind === 'refused' && joined.isAway !== true) await this.#gap([new Date().toISOString()], randomUUID())
  }

  async #payBack(): Promise<void> {
    const { notes, client } = this.#options
    await this.#run.ready()
    await this.#recordGaps()
    if (notes.all('kept-back').length === 0) return
    for (const { callId, fence, isKeptBack } of await this.#open())
      if (isKeptBack) await client.execute(this.#run.id, { kind: 'settle', callId, body: { fence, error: NOT_RUN } })
    for (const { done } of notes.taken('kept-back')) done()
  }

  async #recordGaps(): Promise<void> {
    for (const { id, notes, done } of this.#options.notes.taken('passed')) {
      const times = notes.flatMap(({ at }) => (typeof at === 'string' ? [at] : [])).sort()
      if (times.length > 0) await this.#gap(times, id)
      done()
    }
  }

  async #gap(times: readonly string[], idempotencyKey: string): Promise<void> {
    const { client, host } = this.#options
    const [from = ''] = times
    const gap = { entrance: 'hook' as const, server: host, from, to: times.at(-1) ?? from, count: times.length }
    await client.execute(this.#run.id, { kind: 'capture', body: { gap } }, { idempotencyKey })
  }

  /** Calls of this session without an outcome; in a shared run, only calls noted by this session. */
  async #open(): Promise<readonly { readonly callId: string; readonly fence: number; readonly isKeptBack: boolean }[]> {
    const { client, notes } = this.#options
    const noted = new Set(notes.all('call').map(({ callId }) => String(callId)))
    const keptBack = new Set(notes.all('kept-back').map(({ key }) => `hook:${String(key)}`))
    const { openCalls = [] } = await client.run(this.#run.id)
    const claimed = openCalls.filter(({ status }) => status === 'claimed')
    const found = await Promise.all(claimed.map(({ callId }) => client.call(this.#run.id, String(callId))))
    return found
      .map(({ callId, fence, key }) => {
        const isKeptBack = keptBack.has(String(key)) && !noted.has(String(callId))
        return { callId: String(callId), fence: Number(fence), isKeptBack }
      })
      .filter(({ callId, isKeptBack }) => this.#run.isOwn || isKeptBack || noted.has(callId))
  }

  #recordAt(run: { readonly id: string; ready(): Promise<string> }): CallRecord {
    const { client, host, agent, effects, secrets, whenAway, desk } = this.#options
    const about = { server: host, agent, effects, secrets, whenAway, desk, owner: undefined }
    return new CallRecord({ client, run, entrance: 'hook', leaseMs: LEASE_MS, ...about })
  }
}

interface CallKey {
  readonly name: string
  /** The host gives the call no identity, so equal calls are counted. */
  readonly isCounted: boolean
  /** The key was not taken over from an equal call. */
  readonly isItsOwn: boolean
}

const NOT_RUN = {
  message: 'not run: the hook denied it, since the ledger gave no answer in time',
  code: 'not-forwarded',
}

const RUN_OTHERWISE: Outcome = {
  error: {
    message: 'the host ran the call with other arguments, and that is recorded as a call of its own',
    code: 'other-arguments',
  },
}

function late(tool: string, whenAway: HookOptions['whenAway']): Admission {
  if (whenAway === 'pass') return { kind: 'forward', ticket: { tool } }
  return { kind: 'refused', text: ledgerAway(tool, 'no answer in the time that the host gives'), isAway: true }
}

function whatItDoes({ tool, args }: HookCall): string {
  return jsonDigest({ tool, args })
}

/** What both hooks of a call without an id say: Cursor's `afterShellExecution` does not name the folder. */
function inBoth(call: HookCall): HookCall {
  const { tool, args } = call
  if (tool !== 'Shell' || !isJsonObject(args)) return call
  const { cwd, ...said } = args
  return cwd === undefined ? call : { ...call, args: said }
}

function nameOf(call: HookCall): readonly string[] {
  if (call.id !== undefined) return [call.id]
  const name = `${call.turn} ${whatItDoes(inBoth(call))}`
  return Array.from({ length: EQUAL_MAX }, (_, count) => `${name} ${count}`)
}

/** The claim was made after the call, and the record must show that. */
function observedLate({ result, error, unknown }: Outcome): Outcome {
  if (error !== undefined) return { error: { ...error, code: 'observed-late' } }
  if (unknown !== undefined) return { unknown: { reason: `observed late: ${unknown.reason}`.slice(0, 1_024) } }
  return { result: { observed: 'late', answer: result ?? null } }
}
