/** @module The handoffs of one run in this process: what the record holds for them, and the context as the code has seen it so far. */

import type { ExtendPolicy } from '../../../projections/extend.ts'
import { isEqual, isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { lacks, MARKER_BEGINS } from '../../../schemas/redacted-parts.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { type DivergenceCode, ResumeDiverged } from '../errors.ts'
import { divergenceOf } from '../history/divergence.ts'
import { ContextView } from './context-view.ts'
import type { HandoffFact, RecordedHandoffs, RefusedHandoff } from './recorded-handoffs.ts'

/** A handoff or a rollback as the code asks for it. */
export interface RequestedFact {
  readonly what: 'handoff' | 'rollback'
  /** Empty for a rollback. */
  readonly agent: string
  readonly scope: string | undefined
  readonly occurrence: number
}

const SHOWN_MAX = 10

export class Pipeline {
  readonly #code: DivergenceCode
  /** Forks change the context, too: one that is still to be requested keeps the view where it is. */
  readonly #forksBehind: () => boolean
  readonly #record: RecordedHandoffs
  /** Recorded facts by their place, without those that the current code has requested. */
  readonly #unasked = new Map<string, HandoffFact>()
  /** Asks so far, by what, agent and scope. */
  readonly #occurrences = new Map<string, number>()
  #view: ContextView

  constructor(record: RecordedHandoffs, code: DivergenceCode, forksBehind: () => boolean = () => false) {
    this.#code = code
    this.#forksBehind = forksBehind
    this.#record = record
    this.#view = new ContextView(record)
    for (const fact of record.facts) {
      if (fact.occurrence !== undefined && !isConsequence(fact)) this.#unasked.set(placeOfFact(fact), fact)
    }
  }

  /** The code still walks where the record has been. */
  get isBehind(): boolean {
    return this.#unasked.size > 0 || this.#forksBehind()
  }

  get view(): ContextView {
    if (!this.isBehind) this.#view.passed(Number.POSITIVE_INFINITY)
    return this.#view
  }

  /** The manifests that are registered, by agent. */
  get manifests(): Map<string, string> {
    return this.#record.manifests
  }

  /** A judge's verdict on the step is on record. */
  isJudged(step: number): boolean {
    return this.#record.judged.has(step)
  }

  judged(step: number): void {
    this.#record.judged.add(step)
  }

  get policy(): ExtendPolicy {
    return this.#record.policy
  }

  /**
   * How often this was requested there before. An agent or a tool that is called again hands over again: unlike calls, these are never
   * counted again, for what was handed over first may have been rewound.
   */
  occurrence(what: RequestedFact['what'], scope: string | undefined, agent: string): number {
    const counted = JSON.stringify([what, agent, scope ?? null])
    const count = this.#occurrences.get(counted) ?? 0
    this.#occurrences.set(counted, count + 1)
    return count
  }

  /** A fact of this life. Answers may come in another order than what they tell was recorded in. */
  add(fact: HandoffFact): void {
    const { facts } = this.#record
    const before = facts.findLastIndex(({ index }) => index <= fact.index)
    facts.splice(before + 1, 0, fact)
    if (before < facts.length - 2 && !this.isBehind) this.#view = new ContextView(this.#record)
  }

  /** What the record holds for this ask. Throws `ResumeDiverged` where it holds something else there. */
  served(request: RequestedFact, content: JsonObject): HandoffFact | undefined {
    const place = placeKey(request)
    const fact = this.#unasked.get(place)
    if (fact === undefined) return undefined
    const recorded = contentOf(fact)
    for (const [name, value] of Object.entries(recorded)) {
      if (!isAsSent(fact, name, value, content[name] ?? null)) throw this.#diverged(request, recorded, content)
    }
    this.#unasked.delete(place)
    // A refusal and its rewind are one write.
    this.#view.passed(fact.kind === 'rejected' ? fact.index + 1 : fact.index)
    return fact
  }

  /** What the budget answered about this handoff then. */
  refused({ agent, scope, occurrence }: RequestedFact, content: JsonObject): RefusedHandoff | undefined {
    const recorded = this.#record.refusals.find(
      (each) => each.agent === agent && each.scope === scope && each.occurrence === occurrence,
    )
    return recorded !== undefined && recorded.content === jsonDigest(content) ? recorded : undefined
  }

  /** Where something new is handed over while the record holds another agent's handoff in the same scope: the code took another way. */
  anotherIn({
    name,
    scope,
  }: {
    readonly name: string
    readonly scope: string | undefined
  }): ResumeDiverged | undefined {
    const other = [...this.#unasked.values()].find((fact) => fact.scope === scope && agentOf(fact) !== name)
    if (other === undefined) return undefined
    return this.#diverged({ what: 'handoff', agent: name, scope, occurrence: 0 }, shown(other), {})
  }

  /** What a call requested while it ran counts as requested, for the call is served. */
  passedOver(covers: (scope: string) => boolean, until: number): void {
    for (const [place, fact] of this.#unasked) {
      // In the order of the record.
      if (fact.index > until) return
      if (fact.scope === undefined || !covers(fact.scope)) continue
      this.#unasked.delete(place)
      this.occurrence(fact.kind === 'rewound' ? 'rollback' : 'handoff', fact.scope, agentOf(fact))
      this.#view.passed(fact.kind === 'rejected' ? fact.index + 1 : fact.index)
    }
  }

  /** The view is rebuilt from the whole record: others have written to the run as well. */
  refresh({ policy, facts }: RecordedHandoffs): void {
    this.#record.policy = policy
    this.#record.facts.length = 0
    for (const fact of facts) this.#record.facts.push(fact)
    this.#view = new ContextView(this.#record)
  }

  /** Throws where recorded handoffs, or those up to an event, were never requested. */
  mustBeSpent(until = Number.POSITIVE_INFINITY): void {
    const remaining = [...this.#unasked.values()].filter(({ index }) => index <= until).slice(0, SHOWN_MAX)
    if (remaining.length === 0) return
    const names = remaining.map((fact) => nameOf(fact)).join(', ')
    const message = `the record holds handoffs that the code did not ask for: ${names}`
    throw new ResumeDiverged(message, { expected: remaining.map(shown), actual: null }, this.#code)
  }

  /** A handoff that the record does not hold. */
  unknown(query: RequestedFact): ResumeDiverged {
    return this.#diverged(query, null, {})
  }

  #diverged(request: RequestedFact, recorded: JsonObject | null, content: JsonObject): ResumeDiverged {
    const { what, agent, scope, occurrence } = request
    const place = { what, ...(agent !== '' && { agent }), scope: scope ?? null, occurrence }
    const by = agent === '' ? what : `${what} of ${agent}`
    const holds = recorded === null ? 'no such one' : 'another one there'
    const message = `the code asks for a ${by} and the record holds ${holds}: nothing was handed over`
    const details = { expected: recorded, actual: { ...place, ...content } }
    return divergenceOf({ message, recorded: recorded ?? undefined, asked: content }, details, this.#code)
  }
}

/** A rewind after a contradiction follows its handoff; the code requested that one. */
function isConsequence(fact: HandoffFact): boolean {
  return fact.kind === 'rewound' && fact.body.cause === 'contradiction'
}

function placeOfFact(fact: HandoffFact): string {
  const { scope, occurrence = 0 } = fact
  return placeKey({ what: fact.kind === 'rewound' ? 'rollback' : 'handoff', agent: agentOf(fact), scope, occurrence })
}

function agentOf(fact: HandoffFact): string {
  return fact.kind === 'rewound' ? '' : fact.body.agent
}

function placeKey({ what, agent, scope, occurrence }: RequestedFact): string {
  return JSON.stringify([what, agent, scope ?? null, occurrence])
}

/** What makes two handoffs at one place the same. Tokens do not: another counter counts otherwise. */
function contentOf(fact: HandoffFact): JsonObject {
  if (fact.kind === 'rewound') return { reason: fact.body.reason ?? null }
  const { mode, payload, add, supersedes, moves, manifestHash } = fact.body
  return handoffContent({ mode, payload, add, supersedes, moves, manifestHash })
}

/** What was left out of a member says nothing of whether it is the same; all else has to be. */
function isAsSent(fact: HandoffFact, name: string, recorded: Json, sent: Json): boolean {
  if (isEqual(recorded, sent)) return true
  return 'redacted' in fact.body && lacks(fact.body.redacted, name) && isEqualButRedacted(recorded, sent)
}

function isEqualButRedacted(recorded: Json, sent: Json): boolean {
  if (typeof recorded === 'string' && recorded.includes(MARKER_BEGINS)) return true
  if (Array.isArray(recorded) && Array.isArray(sent))
    return recorded.length === sent.length && recorded.every((each, i) => isEqualButRedacted(each, sent[i] ?? null))
  if (!isJsonObject(recorded) || !isJsonObject(sent)) return isEqual(recorded, sent)
  // A member that went with its name is in neither place that could be compared.
  return Object.entries(recorded).every(
    ([name, value]) => name.includes(MARKER_BEGINS) || isEqualButRedacted(value, sent[name] ?? null),
  )
}

/** As `served` compares them. */
export function handoffContent(inputs: {
  mode: string
  payload: JsonObject
  add: JsonObject | undefined
  supersedes: readonly object[] | undefined
  moves: readonly object[] | undefined
  manifestHash: string | undefined
}): JsonObject {
  const { mode, payload, add = null, supersedes = null, moves, manifestHash = null } = inputs
  const content = { mode, payload, add, supersedes: supersedes as Json, manifestHash }
  return moves === undefined ? content : { ...content, moves: moves as Json }
}

function nameOf(fact: HandoffFact): string {
  return fact.kind === 'rewound' ? `a rollback to step ${fact.body.toStep}` : fact.body.agent
}

function shown(fact: HandoffFact): JsonObject {
  return { ...contentOf(fact), agent: fact.kind === 'rewound' ? null : fact.body.agent, scope: fact.scope ?? null }
}
