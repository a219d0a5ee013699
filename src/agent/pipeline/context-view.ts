/** @module The established context as the code of this process has reached it: on resume and replay, the context at that time instead of the current one. */

import { applyMode } from '../../../projections/merge.ts'
import { EMPTY_CONTEXT_DIGEST } from '../../../projections/run-state.ts'
import type { EventBody } from '../../../schemas/events.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { isEqual } from '../../../schemas/json.ts'
import { inCanonicalOrder } from '../../signing/canonical-json.ts'
import type { Established } from './handoff-types.ts'
import type { HandoffFact, RecordedHandoffs } from './recorded-handoffs.ts'

interface LineageStep extends Established {
  /** Top-level keys whose value this step changed. */
  readonly changed: readonly string[]
}

const ROOT: LineageStep = { step: 0, contextDigest: EMPTY_CONTEXT_DIGEST, context: {}, changed: [] }

export class ContextView {
  readonly #record: RecordedHandoffs
  /** The steps that lead to the context, oldest first. */
  readonly #lineage: LineageStep[] = [ROOT]
  #folded = 0

  constructor(record: RecordedHandoffs) {
    this.#record = record
  }

  /** Advances the view: the current code has reached everything that was recorded up to this index. */
  passed(index: number): void {
    const { facts } = this.#record
    for (let fact = facts[this.#folded]; fact !== undefined && fact.index <= index; fact = facts[this.#folded]) {
      this.#fold(fact)
      this.#folded += 1
    }
  }

  /** A copy in recorded form, because the author's code may change it. */
  now(): Established {
    const { step, contextDigest, context } = this.#last
    return { step, contextDigest, context: inCanonicalOrder(context) as JsonObject }
  }

  get #last(): LineageStep {
    return this.#lineage.at(-1) ?? ROOT
  }

  /** Top-level keys of the context, latest changed first; the keys of one step are in code unit order. */
  recency(): string[] {
    const { context } = this.#last
    const remaining = new Set(Object.keys(context))
    const ranked: string[] = []
    for (let i = this.#lineage.length - 1; i > 0 && remaining.size > 0; i -= 1) {
      for (const key of [...(this.#lineage[i]?.changed ?? [])].sort()) if (remaining.delete(key)) ranked.push(key)
    }
    return ranked
  }

  #fold({ kind, body }: HandoffFact): void {
    if (kind === 'accepted') this.#accept(body)
    if (kind === 'rewound') this.#rewind(body)
  }

  #accept({ step, mode, payload, add, context: contextDigest }: EventBody<'EnvelopeAccepted'>): void {
    const before = this.#last.context
    const context = applyMode({ context: before, payload, mode, policy: this.#record.policy, add })
    this.#lineage.push({ step, contextDigest, context, changed: changedKeys(before, context) })
  }

  /** Same as the ledger's fold: the steps after the target are dropped. */
  #rewind({ toStep }: EventBody<'RunRewound'>): void {
    while (this.#lineage.length > 1 && (this.#lineage.at(-1)?.step ?? 0) > toStep) this.#lineage.pop()
  }
}

function changedKeys(before: JsonObject, after: JsonObject): string[] {
  return Object.keys(after).filter((key) => {
    return !Object.hasOwn(before, key) || !isEqual(before[key] as Json, after[key] as Json)
  })
}
