/** @module Rows of an answer that are reads and exports. */
import type { AnswerQuestion } from '../../../schemas/answer-trailer.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Row } from './event-rows.ts'
import type { LoggedEvent } from './gathered.ts'
import { hasPart } from './query.ts'

export interface AccessRowsKind {
  /** Only those that say what a verification found. */
  readonly verdicts?: boolean
}

/** Rows that are reads and exports, as the ledger's own events list them. */
export class AccessRows {
  #filter: EventQuery
  #isVerdicts: boolean

  constructor({ filter }: AnswerQuestion, { verdicts = false }: AccessRowsKind) {
    this.#filter = filter
    this.#isVerdicts = verdicts
  }

  rows({ header, data }: LoggedEvent, leaf: number): Row[] {
    if (data === undefined) return []
    const { actor, actorContains, run, runContains } = this.#filter
    const { id, type, time, principal } = header
    const { v: _, ...rest } = data
    const read = {
      at: time,
      actor: header.actor,
      ...(principal !== undefined && { principal }),
      query: 'export',
      ...rest,
    }
    return ((type === 'AccessRecorded' && Array.isArray(data.entries) ? data.entries : [read]) as readonly JsonObject[])
      .filter((each) => actor === undefined || each.actor === actor)
      .filter((each) => run === undefined || each.run === run)
      .filter((each) => hasPart(each.actor, actorContains) && hasPart(each.run, runContains))
      .filter((each) => !this.#isVerdicts || each.verdict !== undefined)
      .map((each) => ({ ...each, leaf, event: id, type }))
  }

  rest(): Row[] {
    return []
  }
}
