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

export interface RelayParts {
  readonly toHost: Write
  readonly toServer: Write
  readonly calls: CallRecord
  readonly definitions: DefinitionsRecord
  /** A line for people, on standard error. */
  readonly say: (text: string) => void
}

interface Held {
  readonly call: ToolCall
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

  async fromHost(line: RawLine): Promise<void> {
    const read = readHostLine(wholeLine(line))
    if (read.kind === 'refused') return this.#refuse(read)
    if (read.kind === 'call') return this.#hold(line, read.call)
    if (read.kind === 'list') this.#lists.set(idKey(read.id), read.isFirstPage)
    if (read.kind === 'cancelled') this.#cancel(idKey(read.id), read.reason)
    await this.#parts.toServer(line.parts)
  }

  async fromServer(line: RawLine): Promise<void> {
    if (this.#calls.size + this.#lists.size === 0) return this.#parts.toHost(line.parts)
    const known = readAnswers(wholeLine(line)).filter(
      ({ id }) => this.#calls.get(idKey(id))?.ticket !== undefined || this.#lists.has(idKey(id)),
    )
    if (known.length === 0) return this.#parts.toHost(line.parts)
    this.#track(this.#answered(line, known))
  }

  /** What was forwarded and not answered is in doubt, and the host is told so; what was held is not forwarded. */
  async serverGone(reason: string): Promise<void> {
    this.#over = reason
    const open = [...this.#calls].filter(([, { ticket }]) => ticket !== undefined)
    await Promise.all(
      open.map(async ([key, held]) => {
        this.#calls.delete(key)
        const { ticket, call } = held
        if (ticket === undefined) return
        await this.#doubt(ticket, reason)
        if (held.cancelled === undefined)
          await this.#parts.toHost([
            textResult(call.id, outcomeUnknown(this.#parts.calls.placeOf(ticket), reason, this.#parts.calls.desk)),
          ])
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

  async #refuse({ ids, code, message }: Extract<HostLine, { kind: 'refused' }>): Promise<void> {
    this.#parts.say(message)
    const lines = ids.length === 0 ? [errorLine(null, code, message)] : ids.map((id) => errorLine(id, code, message))
    await this.#parts.toHost(lines)
  }

  async #hold(line: RawLine, call: ToolCall): Promise<void> {
    const key = idKey(call.id)
    if (this.#calls.has(key))
      return this.#refuse({
        kind: 'refused',
        code: INVALID_REQUEST,
        ids: [],
        message: `the id ${JSON.stringify(call.id)} belongs to a call that is under way: this one is not forwarded`,
      })
    const held: Held = { call }
    this.#calls.set(key, held)
    const admitted = this.#admitted(call)
    const before = this.#forwarded
    const work = admitted.then((admission) => this.#decided(line, { key, held, admission, before }))
    this.#forwarded = Promise.all([before, work]).catch(() => undefined)
    this.#track(work)
  }

  async #admitted(call: ToolCall): Promise<Admission> {
    const { calls, definitions } = this.#parts
    return definitions.fault === undefined
      ? calls.admit(call)
      : { kind: 'refused', text: `Not run: ${definitions.fault}` }
  }

  async #decided(
    line: RawLine,
    {
      key,
      held,
      admission,
      before,
    }: { readonly key: string; readonly held: Held; readonly admission: Admission; readonly before: Promise<unknown> },
  ): Promise<void> {
    if (admission.kind !== 'forward') {
      this.#calls.delete(key)
      if (held.cancelled !== undefined) return
      const { id } = held.call
      return this.#parts.toHost([
        admission.kind === 'recorded' ? resultLine(id, admission.result) : textResult(id, admission.text),
      ])
    }
    await before
    if (held.cancelled !== undefined || this.#over !== undefined) return this.#keepBack(key, held, admission.ticket)
    held.ticket = admission.ticket
    await this.#parts.toServer(line.parts)
  }

  /** Its claim is on record, and it was not forwarded: that is an outcome, and no doubt. */
  async #keepBack(key: string, { call, cancelled }: Held, ticket: Ticket): Promise<void> {
    this.#calls.delete(key)
    const why = cancelled ?? this.#over ?? ''
    await this.#parts.calls.settle(ticket, {
      error: { message: `not forwarded: ${why}`.slice(0, 1_024), code: 'not-forwarded' },
    })
    if (cancelled === undefined)
      await this.#parts.toHost([textResult(call.id, `Not run: ${why}. ${call.tool} was not forwarded.`)])
  }

  async #answered(line: RawLine, answers: readonly Answer[]): Promise<void> {
    const taken = answers.map((answer) => this.#take(answer))
    const said = await Promise.all(taken.map((work) => work()))
    const kept = said.filter((each) => each !== undefined)
    await this.#parts.toHost(kept.length === 0 ? line.parts : kept)
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
  #cancel(key: string, reason: string): void {
    const held = this.#calls.get(key)
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
