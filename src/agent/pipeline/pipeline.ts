/** @module The handoffs of one run in this process: their recorded facts, and the context as the code has reached it. */

import type { ExtendPolicy } from '../../../projections/extend.ts'
import { isEqual, isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { lacks, MARKER_BEGINS } from '../../../schemas/redacted-parts.ts'
import { jsonDigest } from '../../signing/digests.ts'
import { type DivergenceCode, ResumeDiverged } from '../errors.ts'
import { divergenceOf } from '../history/divergence.ts'
import { ContextView } from './context-view.ts'
import type { HandoffFact, RecordedHandoffs, RefusedHandoff } from './recorded-handoffs.ts'

/** A handoff or a rollback as the code requests it. */
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
  /** Forks change the context, too: while a recorded fork is unrequested, the view must not advance. */
  readonly #forksBehind: () => boolean
  readonly #record: RecordedHandoffs
  /** Recorded facts that the current code has not requested, by place. */
  readonly #unasked = new Map<string, HandoffFact>()
  /** Number of requests so far, by kind, agent and scope. */
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

  /** Whether the record still has handoffs or forks that the code has not requested. */
  get isBehind(): boolean {
    return this.#unasked.size > 0 || this.#forksBehind()
  }

  get view(): ContextView {
    if (!this.isBehind) this.#view.passed(Number.POSITIVE_INFINITY)
    return this.#view
  }

  /** Hashes of the registered manifests, by agent. */
  get manifests(): Map<string, string> {
    return this.#record.manifests
  }

  /** Whether a verdict on the step is recorded. */
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
   * How often this was requested at this place before. Unlike the counts of calls, these are never reset when an agent or a tool is called again, because the
   * earlier handoff may have been rewound.
   */
  occurrence(what: RequestedFact['what'], scope: string | undefined, agent: string): number {
    const counted = JSON.stringify([what, agent, scope ?? null])
    const count = this.#occurrences.get(counted) ?? 0
    this.#occurrences.set(counted, count + 1)
    return count
  }

  /** Adds a fact recorded by this process. Answers may arrive in another order than the events they report. */
  add(fact: HandoffFact): void {
    const { facts } = this.#record
    const before = facts.findLastIndex(({ index }) => index <= fact.index)
    facts.splice(before + 1, 0, fact)
    if (before < facts.length - 2 && !this.isBehind) this.#view = new ContextView(this.#record)
  }

  /** The recorded fact for this request. Throws `ResumeDiverged` if the record has different content at this place. */
  served(request: RequestedFact, content: JsonObject): HandoffFact | undefined {
    const place = placeKey(request)
    const fact = this.#unasked.get(place)
    if (fact === undefined) return undefined
    const recorded = contentOf(fact)
    for (const [name, value] of Object.entries(recorded)) {
      if (!isAsSent(fact, name, value, content[name] ?? null)) throw this.#diverged(request, recorded, content)
    }
    this.#unasked.delete(place)
    // A refusal and its rewind are appended in one write.
    this.#view.passed(fact.kind === 'rejected' ? fact.index + 1 : fact.index)
    return fact
  }

  /** The recorded budget refusal of this handoff. */
  refused({ agent, scope, occurrence }: RequestedFact, content: JsonObject): RefusedHandoff | undefined {
    const recorded = this.#record.refusals.find(
      (each) => each.agent === agent && each.scope === scope && each.occurrence === occurrence,
    )
    return recorded !== undefined && recorded.content === jsonDigest(content) ? recorded : undefined
  }

  /** The divergence if a new handoff is requested while the record has another agent's handoff in the same scope. */
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

  /** Requests that were made inside a call count as made, because the call is served. */
  passedOver(covers: (scope: string) => boolean, until: number): void {
    for (const [place, fact] of this.#unasked) {
      // Facts are in recorded order.
      if (fact.index > until) return
      if (fact.scope === undefined || !covers(fact.scope)) continue
      this.#unasked.delete(place)
      this.occurrence(fact.kind === 'rewound' ? 'rollback' : 'handoff', fact.scope, agentOf(fact))
      this.#view.passed(fact.kind === 'rejected' ? fact.index + 1 : fact.index)
    }
  }

  /** Replaces the facts by a fresh read of the record, because others have written to the run as well. */
  refresh({ policy, facts }: RecordedHandoffs): void {
    this.#record.policy = policy
    this.#record.facts.length = 0
    for (const fact of facts) this.#record.facts.push(fact)
    this.#view = new ContextView(this.#record)
  }

  /** Whether recorded handoffs in these scopes are unrequested. */
  isLeft({ isCounted }: { readonly isCounted: (scope?: string) => boolean }): boolean {
    return [...this.#unasked.values()].some(({ scope }) => isCounted(scope))
  }

  /** Throws if recorded handoffs, up to an event if given, were never requested. */
  mustBeSpent({ until = Number.POSITIVE_INFINITY }: { readonly until?: number } = {}): void {
    const remaining = [...this.#unasked.values()].filter(({ index }) => index <= until).slice(0, SHOWN_MAX)
    if (remaining.length === 0) return
    const names = remaining.map((fact) => nameOf(fact)).join(', ')
    const message = `the record holds handoffs that the code did not ask for: ${names}`
    throw new ResumeDiverged(message, { expected: remaining.map(shown), actual: null }, this.#code)
  }

  /** The divergence for a handoff that the record does not hold. */
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

/** A rewind after a contradiction is a consequence of its handoff and has no request of its own. */
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

/** The members that identify a handoff at its place. Tokens are excluded, because counters differ. */
function contentOf(fact: HandoffFact): JsonObject {
  if (fact.kind === 'rewound') return { reason: fact.body.reason ?? null }
  const { mode, payload, add, supersedes, moves, manifestHash } = fact.body
  return handoffContent({ mode, payload, add, supersedes, moves, manifestHash })
}

/** Redacted parts of a member are not compared; everything else must be equal. */
function isAsSent(fact: HandoffFact, name: string, recorded: Json, sent: Json): boolean {
  if (isEqual(recorded, sent)) return true
  return 'redacted' in fact.body && lacks(fact.body.redacted, name) && isEqualButRedacted(recorded, sent)
}

function isEqualButRedacted(recorded: Json, sent: Json): boolean {
  if (typeof recorded === 'string' && recorded.includes(MARKER_BEGINS)) return true
  if (Array.isArray(recorded) && Array.isArray(sent))
    return recorded.length === sent.length && recorded.every((each, i) => isEqualButRedacted(each, sent[i] ?? null))
  if (!isJsonObject(recorded) || !isJsonObject(sent)) return isEqual(recorded, sent)
  // A member whose name was redacted cannot be matched with one that was sent.
  return Object.entries(recorded).every(
    ([name, value]) => name.includes(MARKER_BEGINS) || isEqualButRedacted(value, sent[name] ?? null),
  )
}

/** The content of a handoff, in the form that `served` compares. */
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
