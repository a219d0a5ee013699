/**
 * @module The relay between a host and a server: every line passes as it came, and nothing is written anew. Only a `tools/call` is held until its claim is on
 * record, and its answer until its outcome is. Answers that are held do not hold what comes behind them.
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
  type RequestId,
  readAnswers,
  readHostLine,
  resultLine,
  type ToolCall,
  textResult,
} from './json-rpc.ts'
import { type RawLine, wholeLine } from './lines.ts'
import { outcomeUnknown } from './texts.ts'
import type { Outcome, Ticket } from './ticket.ts'

/** Resolves when more may be written; it never rejects: a side that is gone is noticed by its own end. */
export type Write = (parts: readonly (Buffer | string)[]) => Promise<void>

/** The way that a message of the host goes, and its answer: one for a session, or one for each request. */
export interface Route {
  readonly toHost: Write
  readonly toServer: Write
}

export interface RelayParts extends Route {
  readonly calls: CallRecord
  readonly definitions: DefinitionsRecord
  /** A line for people, on standard error. */
  readonly say: (text: string) => void
}

/** A message in the frame in which it came. */
export interface Framed {
  readonly parts: readonly Buffer[]
  readonly message: Buffer
}

interface Decided {
  readonly key: string
  readonly held: Held
  readonly admission: Admission
  readonly before: Promise<unknown>
  readonly route: Route
}

interface Held {
  readonly call: ToolCall
  readonly toHost: Write
  /** Since it was forwarded. */
  ticket?: Ticket
  cancelled?: string
}

export class Relay {
  readonly #parts: RelayParts
  readonly #calls = new Map<string, Held>()
  readonly #lists = new Map<string, boolean>()
  readonly #underWay = new Set<Promise<void>>()
  /** Calls reach the server in the order in which the host sent them. */
  #forwarded: Promise<unknown> = Promise.resolve()
  /** Why nothing is forwarded any more. */
  #over: string | undefined

  constructor(parts: RelayParts) {
    this.#parts = parts
  }

  async fromHost(line: RawLine, route: Route = this.#parts): Promise<void> {
    const read = readHostLine(wholeLine(line))
    if (read.kind === 'refused') return this.#refuse(read, route)
    if (read.kind === 'call') return this.#hold(line, read.call, route)
    if (read.kind === 'list') this.#lists.set(idKey(read.id), read.isFirstPage)
    if (read.kind === 'cancelled') this.cancel(read.id, read.reason)
    await route.toServer(line.parts)
  }

  /** What is held does not hold what comes behind it. */
  async fromServer(line: RawLine): Promise<void> {
    const known = this.#known(wholeLine(line))
    if (known.length === 0) return this.#parts.toHost(line.parts)
    this.#track(this.#answered(line.parts, known, this.#parts.toHost))
  }

  /** `parts` as they came, in which the other side wrote `message`. Resolves once what it answers is recorded, and the host has it. */
  async answer({ parts, message }: Framed, toHost: Write): Promise<void> {
    const known = this.#known(message)
    if (known.length === 0) return toHost(parts)
    const work = this.#answered(parts, known, toHost)
    this.#track(work)
    await work.catch(() => undefined)
  }

  #known(message: Buffer): readonly Answer[] {
    if (this.#calls.size + this.#lists.size === 0) return []
    return readAnswers(message).filter(
      ({ id }) => this.#calls.get(idKey(id))?.ticket !== undefined || this.#lists.has(idKey(id)),
    )
  }

  /** Whether the call waits for its answer from the other side, or for its claim. */
  isOpen(id: RequestId): boolean {
    return this.#calls.has(idKey(id))
  }

  /** The way to the answer broke: what came of the call is not known. Where an answer may still come another way (`mayCome`), it ends the doubt. */
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

  /** It was not sent: that is an outcome, and no doubt. */
  async unsent(id: RequestId, reason: string): Promise<void> {
    const key = idKey(id)
    const held = this.#calls.get(key)
    if (held?.ticket === undefined) return
    this.#calls.delete(key)
    await this.#notForwarded(held, held.ticket, reason)
  }

  /** The other side refused the request as such, without an answer of the protocol. */
  async refusedByServer(id: RequestId, reason: string): Promise<void> {
    const key = idKey(id)
    const held = this.#calls.get(key)
    if (held?.ticket === undefined) return
    this.#calls.delete(key)
    await this.#parts.calls.settle(held.ticket, { error: { message: reason, code: 'refused-by-server' } })
  }

  /** What was forwarded and not answered is in doubt, and the host is told so; what was held is not forwarded. */
  async serverGone(reason: string): Promise<void> {
    this.#over = reason
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

  /** Whatever is being recorded is recorded. */
  async settled(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay)
  }

  /** Everything that the host sent has reached the server, or was refused. */
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
    const message = `the id ${JSON.stringify(call.id)} belongs to a call that is under way: this one is not forwarded`
    if (this.#calls.has(key)) return this.#refuse({ kind: 'refused', code: INVALID_REQUEST, ids: [], message }, route)
    const held: Held = { call, toHost: route.toHost }
    this.#calls.set(key, held)
    const admitted = this.#admitted(call)
    const before = this.#forwarded
    const work = admitted.then((admission) => this.#decided(line, { key, held, admission, before, route }))
    this.#forwarded = Promise.all([before, work]).catch(() => undefined)
    this.#track(work)
  }

  async #admitted(call: ToolCall): Promise<Admission> {
    const { calls, definitions } = this.#parts
    return definitions.fault === undefined
      ? calls.admit(call)
      : { kind: 'refused', text: `Not run: ${definitions.fault}` }
  }

  async #decided(line: RawLine, { key, held, admission, before, route }: Decided): Promise<void> {
    if (admission.kind !== 'forward') {
      this.#calls.delete(key)
      if (held.cancelled !== undefined) return
      const { id } = held.call
      return route.toHost([
        admission.kind === 'recorded' ? resultLine(id, admission.result) : textResult(id, admission.text),
      ])
    }
    await before
    if (held.cancelled !== undefined || this.#over !== undefined) return this.#keepBack(key, held, admission.ticket)
    held.ticket = admission.ticket
    await route.toServer(line.parts)
  }

  /** Its claim is on record, and it was not forwarded: that is an outcome, and no doubt. */
  async #keepBack(key: string, held: Held, ticket: Ticket): Promise<void> {
    this.#calls.delete(key)
    await this.#notForwarded(held, ticket, held.cancelled ?? this.#over ?? '')
  }

  async #notForwarded({ call, cancelled, toHost }: Held, ticket: Ticket, why: string): Promise<void> {
    await this.#parts.calls.settle(ticket, {
      error: { message: `not forwarded: ${why}`.slice(0, 1_024), code: 'not-forwarded' },
    })
    if (cancelled === undefined) await toHost([textResult(call.id, `Not run: ${why}. ${call.tool} was not forwarded.`)])
  }

  async #answered(parts: RawLine['parts'], answers: readonly Answer[], toHost: Write): Promise<void> {
    const taken = answers.map((answer) => this.#take(answer))
    const said = await Promise.all(taken.map((work) => work()))
    const kept = said.filter((each) => each !== undefined)
    await toHost(kept.length === 0 ? parts : kept)
  }

  async #tellDoubt({ call, toHost }: Held, ticket: Ticket, reason: string): Promise<void> {
    const { calls } = this.#parts
    await toHost([textResult(call.id, outcomeUnknown(calls.placeOf(ticket), reason, calls.desk))])
  }

  /** Taken at once, so that a second answer under the same id is none. What the work gives is told in place of the answer. */
  #take(answer: Answer): () => Promise<string | undefined> {
    const key = idKey(answer.id)
    const held = this.#calls.get(key)
    if (held?.ticket !== undefined) {
      const { ticket } = held
      this.#calls.delete(key)
      return async () => {
        const settled = await this.#parts.calls.settle(ticket, outcomeOf(answer))
        return settled.recorded ? undefined : textResult(answer.id, settled.text)
      }
    }
    const isFirst = this.#lists.get(key) === true
    this.#lists.delete(key)
    return async () => {
      const { result } = answer
      const fault = isJsonObject(result) ? await this.#parts.definitions.seen(result, isFirst) : undefined
      return fault === undefined ? undefined : errorLine(answer.id, INVALID_REQUEST, fault)
    }
  }

  /** A call that is forwarded may have run: its answer, where one comes all the same, ends the doubt. */
  cancel(id: RequestId, reason: string): void {
    const held = this.#calls.get(idKey(id))
    if (held === undefined || held.cancelled !== undefined) return
    held.cancelled = `cancelled by the host: ${reason}`.slice(0, 1_024)
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

/** An answer that says `isError` was completed: the tool ran, and says that it failed. A protocol error is a failure. */
function outcomeOf({ result, error }: Answer): Outcome {
  if (error === undefined) return { result: result ?? null }
  const { message, code, data } = error
  const details: JsonObject = data === undefined ? {} : { details: data }
  return {
    error: {
      message: String(message ?? '').slice(0, 16_384),
      code: `json-rpc ${String(code ?? '')}`.slice(0, 256),
      ...details,
    },
  }
}
