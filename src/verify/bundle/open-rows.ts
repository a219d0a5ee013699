/** @module Rows of an answer that are open: what nothing ended, and what nothing settled. */
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { Json } from '../../../schemas/json.ts'
import { factsOf, fitsFilter, RESOLVED, UNDOINGS, UNDONE_NOT } from './event-facts.ts'
import { Claims, listedRow, type Row } from './event-rows.ts'
import { MIB } from './file-text.ts'
import { hasBody, type LoggedEvent } from './gathered.ts'
import { NameTable } from './name-table.ts'

/** Which event begins what is open, and which end it or put its end in doubt; what all of them name it by. */
export interface OpenRowsKind {
  readonly begins: string
  readonly ends: readonly string[]
  readonly doubts: readonly string[]
  readonly member: string
  /** Its status: open, and in doubt. */
  readonly words: readonly [open: string, doubted: string]
}

/** Rows that are events which nothing ended: known once all events were taken, in passes of bounded memory. */
export class OpenRows {
  #kind: OpenRowsKind
  #filter: EventQuery
  /** The second rule of calls: one that is being undone is open no more, and one of a model is never in doubt. */
  #bySecondRule: boolean
  #claims = new Claims()
  #gathering = new Claims()
  #table = new NameTable(16 * MIB)
  /** Leaf of what is open; whether its end is in doubt. */
  #open = new Map<number, boolean>()

  constructor({ filter, doubts }: AnswerQuestion, kind: OpenRowsKind) {
    this.#kind = kind
    this.#filter = filter
    this.#bySecondRule = doubts === 2
  }

  gather(event: LoggedEvent, leaf: number): void {
    if (!hasBody(event)) return
    const { header, data } = event
    const { begins, ends, doubts, member } = this.#kind
    this.#gathering.take(event)
    const name = `${data[member]} ${header.stream}`
    if (header.type === begins) {
      if (this.#bySecondRule && data.compensates) this.#table.set(`${data.compensates} ${header.stream}`, 0, 0)
      const fits = fitsFilter(factsOf(event, this.#gathering.of(event)), this.#filter)
      this.#table.set(name, leaf + 1, fits ? 1 : 0)
    } else if (ends.includes(header.type)) this.#table.set(name, 0, 0)
    else if (doubts.includes(header.type)) {
      const [begun, flags] = this.#table.get(name) ?? [0, 0]
      if (begun !== 0) this.#table.set(name, begun, flags % 2 === 1 ? 3 : 2)
    }
  }

  nextPass(): boolean {
    for (const [begun, flags] of this.#table.entries()) if (flags % 2 === 1) this.#open.set(begun - 1, flags === 3)
    this.#gathering = new Claims()
    return this.#table.nextPass()
  }

  rows(event: LoggedEvent, leaf: number): Row[] {
    if (!hasBody(event)) return []
    this.#claims.take(event)
    const isDoubted = this.#open.get(leaf)
    if (isDoubted === undefined) return []
    const isUnanswered = isDoubted && this.#bySecondRule && event.data.phase === 'model'
    const status = isUnanswered ? 'unanswered' : this.#kind.words[isDoubted ? 1 : 0]
    return [{ ...listedRow(event, leaf, factsOf(event, this.#claims.of(event))), status }]
  }

  rest(): Row[] {
    return []
  }
}

/** Compensations that failed or are in doubt, and that no later one of the same call, and nobody's word on it, has settled. */
export class UndoneRows {
  #filter: EventQuery
  #claims = new Claims()
  #gathering = new Claims()
  /** Leaf of the last one, by the call that was to be undone and by the call that was to undo it: open is what both have. */
  #byUndone = new NameTable(16 * MIB)
  #byCall = new NameTable(16 * MIB)
  #found = { undone: new Set<number>(), call: new Set<number>() }

  constructor({ filter }: AnswerQuestion) {
    this.#filter = filter
  }

  gather(event: LoggedEvent, leaf: number): void {
    if (!hasBody(event)) return
    const { header, data } = event
    this.#gathering.take(event)
    const named = (id: Json | undefined) => `${id} ${header.stream}`
    if (UNDOINGS.includes(header.type)) {
      const isOpen = UNDONE_NOT.includes(header.type)
      const fits = isOpen && fitsFilter(factsOf(event, this.#gathering.of(event)), this.#filter)
      this.#byUndone.set(named(data.compensates), isOpen ? leaf + 1 : 0, fits ? 1 : 0)
      this.#byCall.set(named(data.callId), isOpen ? leaf + 1 : 0, fits ? 1 : 0)
    } else if (header.type === RESOLVED) {
      this.#byUndone.set(named(data.callId), 0, 0)
      this.#byCall.set(named(data.callId), 0, 0)
    }
  }

  nextPass(): boolean {
    const { undone, call } = this.#found
    for (const [leaf, fits] of this.#byUndone.entries()) if (fits === 1) undone.add(leaf - 1)
    for (const [leaf, fits] of this.#byCall.entries()) if (fits === 1) call.add(leaf - 1)
    this.#gathering = new Claims()
    const unfinished = [this.#byUndone.nextPass(), this.#byCall.nextPass()]
    return unfinished.includes(true)
  }

  rows(event: LoggedEvent, leaf: number): Row[] {
    if (!hasBody(event)) return []
    this.#claims.take(event)
    const isOpen = this.#found.undone.has(leaf) && this.#found.call.has(leaf)
    return isOpen ? [listedRow(event, leaf, factsOf(event, this.#claims.of(event)))] : []
  }

  rest(): Row[] {
    return []
  }
}
