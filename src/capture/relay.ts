/**
 * @module Relays lines between a host and a server without rewriting them. A `tools/call` is held until its claim is recorded, and its answer until its outcome
 * is recorded. Held answers do not block later lines.
 */
import type { Buffer } from 'node:buffer'
import { isJsonObject, type JsonObject } from '../../schemas/json.ts'
import type { Admission, CallRecord } from './call-record.ts'
import type { DefinitionsRecord } from './definitions-record.ts'
import {
  type Answer,
  errorLine,
  type HostLine,
  INVALID_REQUEST,
  idKey,
  inexactIn,
  keysOfAnswer,
  messageLine,
  type RequestId,
  readHostLine,
  readServerLine,
  requestsIn,
  resultLine,
  type ToolCall,
  textResult,
} from './json-rpc.ts'
import { LatestGiven } from './latest-given.ts'
import { type RawLine, wholeLine } from './lines.ts'
import { OwnLists, type ToServer } from './own-lists.ts'
import { outcomeUnknown } from './texts.ts'
import type { Outcome, Ticket } from './ticket.ts'
import type { UrlApprovals } from './url-approvals.ts'

/** Resolves when more may be written. Never rejects: a closed peer is noticed when its own stream ends. */
export type Write = (parts: readonly (Buffer | string)[]) => Promise<void>

/** The paths of a host's message and of its answer: one route per session, or one per request. */
export interface Route extends ToServer {
  readonly toHost: Write
  /** Asks the host something while its request is open; absent where the host cannot be asked. */
  readonly asksHost?: Write
  /** Accepts a message that gets no answer, where the transport says so. */
  readonly accepted?: () => void
}

export interface RelayParts extends Route {
  readonly calls: CallRecord
  readonly approvals: UrlApprovals
  readonly definitions: DefinitionsRecord
  /** Prints a line for people to standard error. */
  readonly say: (text: string) => void
}

/** A message with the frame in which it arrived. */
export interface Framed {
  readonly parts: readonly Buffer[]
  readonly message: Buffer
}

/** An open request that is no call. */
interface Request {
  readonly id: RequestId
  readonly list?: { readonly isFirstPage: boolean; readonly changes: number }
}

interface Answered {
  /** Of the request that is answered. */
  readonly key: string
  readonly answer: Answer
}

type Judged =
  | { readonly kind: 'passes' }
  | { readonly kind: 'own' }
  /** Hosts may not take this for what is recorded: `open` are the requests in it that wait for an answer. */
  | { readonly kind: 'withheld'; readonly why: string; readonly open: readonly Answered[] }
  | { readonly kind: 'answers'; readonly open: readonly Answered[] }

interface Decided {
  readonly key: string
  readonly held: Held
  readonly admission: Admission
  readonly before: Promise<unknown>
  readonly route: Route
}

type AskedPerson = Pick<Decided, 'key' | 'held' | 'route'> & { readonly approval: string; readonly text: string }

interface Held {
  readonly call: ToolCall
  readonly toHost: Write
  /** Ends the wait for an approval. */
  readonly over: AbortController
  /** Set once the call was forwarded. */
  ticket?: Ticket
  cancelled?: string
}

export class Relay {
  readonly #parts: RelayParts
  readonly #calls = new Map<string, Held>()
  readonly #requests = new Map<string, Request>()
  readonly #own: OwnLists
  readonly #given = new LatestGiven()
  readonly #underWay = new Set<Promise<void>>()
  /** Keeps calls to the server in the order in which the host sent them. */
  #forwarded: Promise<unknown> = Promise.resolve()
  /** The reason why nothing is forwarded any more. */
  #over: string | undefined

  constructor(parts: RelayParts) {
    this.#parts = parts
    this.#own = new OwnLists(parts.definitions)
  }

  async fromHost(line: RawLine, route: Route = this.#parts): Promise<void> {
    const whole = wholeLine(line)
    const read = readHostLine(whole)
    if (read.kind === 'refused') return this.#refuse(read, route)
    if (read.kind === 'call') return this.#hold(line, read.call, route)
    if (read.kind === 'cancelled') this.cancel(read.id, read.reason)
    if (read.kind === 'initialize') this.#parts.approvals.opensUrls = read.opensUrls
    if (read.kind === 'reply') {
      this.#parts.approvals.replied(read.id, read.said)
      return route.accepted?.()
    }
    const requests = requestsIn(whole)
    const twice = requests.find(({ id }) => this.#calls.has(idKey(id)))
    if (twice !== undefined) return this.#refuse(underWay(twice.id), route)
    const { changes } = this.#parts.definitions
    for (const { id, list } of requests)
      this.#requests.set(idKey(id), { id, ...(list !== undefined && { list: { ...list, changes } }) })
    await route.toServer(line.parts)
  }

  /** A held answer does not block later lines. */
  async fromServer(line: RawLine): Promise<void> {
    await this.#fromServer({ parts: line.parts, message: wholeLine(line) }, this.#parts.toHost)
  }

  /** Passes `parts` on, which contain the server's `message`. Resolves once the outcome is recorded and the host has received the answer. */
  async answer(framed: Framed, toHost: Write): Promise<void> {
    const { work } = await this.#fromServer(framed, toHost)
    await work?.catch(() => undefined)
  }

  /** Resolves when the next message may be read; `work`: what is held until its outcome is recorded. */
  async #fromServer(framed: Framed, toHost: Write): Promise<{ readonly work?: Promise<void> }> {
    const judged = this.#judge(framed.message)
    if (judged.kind === 'passes') await toHost(framed.parts)
    if (judged.kind === 'passes' || judged.kind === 'own') return {}
    const work =
      judged.kind === 'withheld' ? this.#withhold(judged, toHost) : this.#answered(framed, judged.open, toHost)
    this.#track(work)
    return { work }
  }

  /** An answer is passed on once, and only to a request that waits for it: what the host takes is then what is recorded. */
  #judge(message: Buffer): Judged {
    const { answers, fault, changesTools } = readServerLine(message)
    if (changesTools) this.#parts.definitions.changed()
    const [only] = answers
    if (only !== undefined && answers.length === 1 && this.#own.answered(only)) return { kind: 'own' }
    if (answers.length === 0 && fault === undefined) return { kind: 'passes' }
    const open = answers.flatMap((answer) => {
      const key = this.#keyAnswered(answer.id)
      return key === undefined ? [] : [{ key, answer }]
    })
    if (fault !== undefined) return { kind: 'withheld', why: fault, open }
    const isWhole = new Set(open.map(({ key }) => key)).size === answers.length
    if (isWhole) return { kind: 'answers', open }
    // A stream that is resumed brings again what it brought before.
    if (open.length === 0 && this.#given.has(message) && !answers.some(({ id }) => this.#calls.has(idKey(id))))
      return { kind: 'passes' }
    return { kind: 'withheld', why: `no request with its id ${JSON.stringify(only?.id)} waits for one`, open }
  }

  #keyAnswered(id: RequestId): string | undefined {
    const key = keysOfAnswer(id).find((each) => this.#calls.has(each) || this.#requests.has(each))
    const isHeld = key !== undefined && this.#calls.has(key) && this.#calls.get(key)?.ticket === undefined
    return isHeld ? undefined : key
  }

  /** Whether `message` answers the open request, and nothing else. */
  isAnswered(id: RequestId, message: Buffer): boolean {
    const { answers, fault } = readServerLine(message)
    return fault === undefined && answers.some((answer) => this.#keyAnswered(answer.id) === idKey(id))
  }

  async #withhold({ why, open }: Extract<Judged, { kind: 'withheld' }>, toHost: Write): Promise<void> {
    const reason = `the server gave an answer that is not passed on: ${why}`
    this.#parts.say(reason)
    const each = new Map(open.map(({ key, answer }) => [key, answer]))
    await Promise.all(
      [...each.keys()].map(async (key) => {
        const held = this.#calls.get(key)
        if (held !== undefined) return this.lost(held.call.id, reason, { mayCome: false })
        const request = this.#requests.get(key)
        this.#requests.delete(key)
        if (request !== undefined) await toHost([errorLine(request.id, INVALID_REQUEST, reason)])
      }),
    )
  }

  /** Whether the call waits for the server's answer, or for its claim. */
  isOpen(id: RequestId): boolean {
    return this.#calls.has(idKey(id))
  }

  /** The connection for the answer broke, so the outcome is unknown. If an answer may still arrive on another connection (`mayCome`), it ends the doubt. */
  async lost(id: RequestId, reason: string, { mayCome }: { readonly mayCome: boolean }): Promise<void> {
    const key = idKey(id)
    const held = this.#calls.get(key)
    const { ticket } = held ?? {}
    if (held === undefined || ticket === undefined) return
    if (!mayCome) this.#calls.delete(key)
    if (held.cancelled === undefined) await this.#doubt(ticket, reason)
    if (held.cancelled === undefined && !mayCome) await this.#tellDoubt(held, ticket, reason)
    if (mayCome) held.cancelled ??= reason
  }

  /** The call was not sent, which is a known outcome. */
  async unsent(id: RequestId, reason: string): Promise<void> {
    const key = idKey(id)
    const held = this.#calls.get(key)
    if (held?.ticket === undefined) return
    this.#calls.delete(key)
    await this.#notForwarded(held, held.ticket, reason)
  }

  /** The server refused the request itself, without an answer in the protocol. */
  async refusedByServer(id: RequestId, reason: string): Promise<void> {
    const key = idKey(id)
    const held = this.#calls.get(key)
    if (held?.ticket === undefined) return
    this.#calls.delete(key)
    await this.#parts.calls.settle(held.ticket, { error: { message: reason, code: 'refused-by-server' } })
  }

  /** Forwarded calls without an answer are in doubt, and the host is notified; held calls are not forwarded. */
  async serverGone(reason: string): Promise<void> {
    this.#over = reason
    this.#own.end(reason)
    for (const { over } of this.#calls.values()) over.abort()
    const open = [...this.#calls].filter(([, { ticket }]) => ticket !== undefined)
    await Promise.all(
      open.map(async ([key, held]) => {
        this.#calls.delete(key)
        const { ticket } = held
        if (ticket === undefined) return
        await this.#doubt(ticket, reason)
        if (held.cancelled === undefined) await this.#tellDoubt(held, ticket, reason)
      }),
    )
    await this.settled()
  }

  /** Resolves once all pending records are made. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** Resolves once everything from the host has reached the server or was refused. */
  async forwarded(): Promise<void> {
    await this.#forwarded
  }

  async #refuse({ ids, code, message }: Extract<HostLine, { kind: 'refused' }>, { toHost }: Route): Promise<void> {
    this.#parts.say(message)
    const lines = ids.length === 0 ? [errorLine(null, code, message)] : ids.map((id) => errorLine(id, code, message))
    await toHost(lines)
  }

  async #hold(line: RawLine, call: ToolCall, route: Route): Promise<void> {
    const key = idKey(call.id)
    if (this.#calls.has(key) || this.#requests.has(key)) return this.#refuse(underWay(call.id), route)
    const held: Held = { call, toHost: route.toHost, over: new AbortController() }
    this.#calls.set(key, held)
    const admitted = this.#admitted(call, route)
    const before = this.#forwarded
    const work = admitted.then((admission) => this.#decided(line, { key, held, admission, before, route }))
    this.#forwarded = Promise.all([before, work]).catch(() => undefined)
    this.#track(work)
  }

  async #admitted(call: ToolCall, route: Route): Promise<Admission> {
    const { calls, definitions } = this.#parts
    const unread = definitions.isUnread ? await this.#own.read(call, route) : undefined
    const fault = unread ?? definitions.fault
    return fault === undefined ? calls.admit(call) : { kind: 'refused', text: `Not run: ${fault}` }
  }

  async #decided(line: RawLine, { key, held, admission, before, route }: Decided): Promise<void> {
    if (admission.kind !== 'forward') {
      const isGated = admission.kind === 'refused' && admission.approval !== undefined
      if (isGated && this.#parts.approvals.canAsk(held.call)) {
        const { approval = '', text } = admission
        // Not awaited: later calls do not wait for a person.
        return this.#track(this.#askPerson(line, { key, held, route, approval, text }))
      }
      return this.#refuseHeld({ key, held, route }, this.#lineOf(held.call, admission))
    }
    await before
    const { definitions } = this.#parts
    const changed = definitions.fault ?? (definitions.isUnread ? TOOLS_CHANGED : undefined)
    const why = held.cancelled ?? this.#over ?? changed
    if (why !== undefined) return this.#keepBack(key, held, { ticket: admission.ticket, why })
    held.ticket = admission.ticket
    await route.toServer(line.parts)
  }

  /** The page of the approval is shown to a person; after the decision the claim is made again. */
  async #askPerson(line: RawLine, { text, approval, ...of }: AskedPerson): Promise<void> {
    const { held, route } = of
    const { asksHost } = route
    const tellHost = asksHost === undefined ? undefined : async (message: string) => asksHost([message])
    const { call, over } = held
    const asked = await this.#parts.approvals.ask({ call, approval, tellHost, over: over.signal })
    if (asked.kind === 'answer') return this.#refuseHeld(of, asked.line)
    if (asked.kind === 'waits' || over.signal.aborted) return this.#refuseHeld(of, textResult(call.id, text))
    const admission = await this.#admitted(call, route)
    if (admission.kind !== 'forward') return this.#refuseHeld(of, this.#lineOf(call, admission))
    await this.#decided(line, { ...of, admission, before: Promise.resolve() })
  }

  /** Once the session is over, its run has ended too, which is not the reason to tell. */
  #lineOf(call: ToolCall, admission: NotForwarded): string {
    if (admission.kind === 'recorded') return resultLine(call.id, admission.result)
    return textResult(call.id, this.#over === undefined ? admission.text : notForwarded(call, this.#over))
  }

  async #refuseHeld({ key, held, route }: Pick<Decided, 'key' | 'held' | 'route'>, line: string): Promise<void> {
    this.#calls.delete(key)
    if (held.cancelled === undefined) await route.toHost([line])
  }

  /** The claim is recorded and the call was not forwarded, which is a known outcome. */
  async #keepBack(
    key: string,
    held: Held,
    { ticket, why }: { readonly ticket: Ticket; readonly why: string },
  ): Promise<void> {
    this.#calls.delete(key)
    await this.#notForwarded(held, ticket, why)
  }

  async #notForwarded({ call, cancelled, toHost }: Held, ticket: Ticket, why: string): Promise<void> {
    await this.#parts.calls.settle(ticket, {
      error: { message: `not forwarded: ${why}`.slice(0, 1_024), code: 'not-forwarded' },
    })
    if (cancelled === undefined) await toHost([textResult(call.id, notForwarded(call, why))])
  }

  async #answered({ parts, message }: Framed, answered: readonly Answered[], toHost: Write): Promise<void> {
    const taken = answered.map((each) => this.#take(each, message))
    const said = await Promise.all(taken.map((work) => work()))
    if (said.some((line) => line !== undefined))
      return toHost(answered.map(({ answer }, at) => said[at] ?? messageLine(answer)))
    this.#given.add(message)
    await toHost(parts)
  }

  async #tellDoubt({ call, toHost }: Held, ticket: Ticket, reason: string): Promise<void> {
    const { calls } = this.#parts
    await toHost([textResult(call.id, outcomeUnknown(calls.placeOf(ticket), reason, calls.desk))])
  }

  /**
   * Removes the request immediately, so that a second answer with the same id is not matched. The returned function resolves to a line that replaces the
   * answer, if any.
   */
  #take({ key, answer }: Answered, message: Buffer): () => Promise<string | undefined> {
    const held = this.#calls.get(key)
    if (held?.ticket !== undefined) {
      const { ticket } = held
      this.#calls.delete(key)
      return async () => {
        const settled = await this.#parts.calls.settle(ticket, outcomeOf(answer, inexactIn(message)))
        return settled.recorded ? undefined : textResult(held.call.id, settled.text)
      }
    }
    const { list } = this.#requests.get(key) ?? {}
    this.#requests.delete(key)
    return async () => {
      const { result } = answer
      if (list === undefined || !isJsonObject(result)) return undefined
      const fault = await this.#parts.definitions.seen(result, list)
      return fault === undefined ? undefined : errorLine(answer.id, INVALID_REQUEST, fault)
    }
  }

  /** A forwarded call may have run, so it is in doubt; an answer that arrives later ends the doubt. */
  cancel(id: RequestId, reason: string): void {
    const held = this.#calls.get(idKey(id))
    if (held === undefined || held.cancelled !== undefined) return
    held.cancelled = `cancelled by the host: ${reason}`.slice(0, 1_024)
    held.over.abort()
    if (held.ticket !== undefined) this.#track(this.#doubt(held.ticket, held.cancelled))
  }

  async #doubt(ticket: Ticket, reason: string): Promise<void> {
    await this.#parts.calls.settle(ticket, { unknown: { reason } })
  }

  #track(work: Promise<void>): void {
    const tracked = work
      .catch((error: unknown) =>
        this.#parts.say(
          `a call could not be carried through: ${error instanceof Error ? error.message : String(error)}`,
        ),
      )
      .finally(() => this.#underWay.delete(tracked))
    this.#underWay.add(tracked)
  }
}

const TOOLS_CHANGED = 'the server says that its tools are others now, and they were not read yet: ask again'

function underWay(id: RequestId): Extract<HostLine, { kind: 'refused' }> {
  const message = `the id ${JSON.stringify(id)} belongs to a request that is under way: this one is not forwarded`
  return { kind: 'refused', code: INVALID_REQUEST, ids: [], message }
}

type NotForwarded = Exclude<Admission, { kind: 'forward' }>

function notForwarded({ tool }: ToolCall, why: string): string {
  return `Not run: ${why}. ${tool} was not forwarded.`
}

/** An answer with `isError` is a result: the tool ran and reports that it failed. A protocol error is a failure. */
function outcomeOf({ result, error }: Answer, inexact: string | undefined): Outcome {
  // The server asks for something first: this attempt ends without a result, and the call sent again is its next attempt.
  if (isJsonObject(result) && result.resultType === 'input_required')
    return {
      error: {
        message: 'the server asks for input first',
        code: 'input-required',
        ...(inexact === undefined && { details: result }),
      },
    }
  if (error === undefined)
    return inexact === undefined ? { result: result ?? null } : { unrecorded: { reason: inexact, answered: true } }
  const { message, code, data } = error
  const details: JsonObject = data === undefined || inexact !== undefined ? {} : { details: data }
  return {
    error: {
      message: String(message ?? '').slice(0, 16_384),
      code: `json-rpc ${String(code ?? '')}`.slice(0, 256),
      ...details,
    },
  }
}
