/** @module The whole query, bodies included. */
import type { CallFacts } from '../../../projections/event-facts.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { MIB } from './file-text.ts'
import type { BundleEvent, Gathered } from './gathered.ts'
import { NameTable } from './name-table.ts'
import type { BundlePredicate } from './predicate.ts'
import { hasPart, isSelected, OF_CLAIMS, PART_FIELDS, runOf } from './query.ts'

export const answersOf = (manifest: BundlePredicate): AnswerCount =>
  new AnswerCount(manifest.query, (event, claim) => isAnswer(manifest, event, claim))

/** A member of a query that is a text. */
type Asked = 'agent' | 'contains'

/** The whole query, bodies included. What a call's later events do not say themselves, its claim has said. */
function isAnswer({ query, tenant }: BundlePredicate, { header, data }: BundleEvent, claim: CallFacts): boolean {
  const said = {
    agent: data.agent ?? claim.agent,
    tool: data.tool ?? claim.tool,
    call: data.callId,
    approval: data.approvalId,
    provider: data.provider ?? (data.usage as JsonObject | undefined)?.provider,
    model: data.model ?? (data.usage as JsonObject | undefined)?.model,
  }
  const { contains } = query
  const isSaid = (name: string) =>
    (query[name as Asked] === undefined || query[name as Asked] === said[name as keyof typeof said]) &&
    hasPart(said[name as keyof typeof said], query[`${name}Contains` as Asked])
  const names = { ...said, run: runOf(header.stream), actor: header.actor, principal: header.principal ?? header.actor }
  return (
    isSelected(header, tenant, query) &&
    Object.keys(said).every(isSaid) &&
    (contains === undefined || PART_FIELDS.some((name) => hasPart(names[name], contains)))
  )
}

/**
 * Counts the events that answer a query; `isAnswer(event, claim)` judges one. Of a claim only what the query asks for is remembered. An event that answers
 * by its claim alone is counted at the claim, and so in the one pass that holds the claim to its end.
 */
export class AnswerCount<Event extends BundleEvent = BundleEvent> implements Gathered<Event> {
  count = 0
  #query: EventQuery
  #isAnswer: (event: Event, claim: CallFacts) => boolean
  #claims: NameTable

  /** A claim for each answer to all of the conditions: one that answers the same is as good. */
  #examples: CallFacts[] = [{}]

  constructor(query: EventQuery, isAnswer: (event: Event, claim: CallFacts) => boolean, maxBytes = 4 * MIB) {
    this.#query = query
    this.#isAnswer = isAnswer
    this.#claims = new NameTable(maxBytes)
  }

  get heldBytes(): number {
    return this.#claims.heldBytes
  }

  take(event: Event): void {
    if (this.#isAnswer(event, {})) this.count += 1
    this.takeAgain(event)
  }

  takeAgain(event: Event): void {
    const { header, data } = event
    if (data.callId === undefined || OF_CLAIMS.every((name) => this.#query[name] === undefined)) return
    const name = `${data.callId} ${header.stream}`
    const [said, answers] = this.#claims.get(name) ?? [0, 0]
    if (header.type === 'ToolCallClaimed') {
      this.#claims.set(name, this.#said(data), answers)
      return
    }
    const claim = this.#examples[said] as CallFacts
    if (said !== 0 && !this.#isAnswer(event, {}) && this.#isAnswer(event, claim))
      this.#claims.set(name, said, answers + 1)
  }

  /** Which conditions a claim meets, as the bits of a number. */
  #said({ agent, tool }: JsonObject): number {
    const { agent: wantedAgent, tool: wantedTool, agentContains, toolContains, contains } = this.#query
    const isMet = (name: Json | undefined, wanted: string | undefined, part: string | undefined) => [
      wanted !== undefined && name === wanted,
      part !== undefined && hasPart(name, part),
      contains !== undefined && hasPart(name, contains),
    ]
    const met = [...isMet(agent, wantedAgent, agentContains), ...isMet(tool, wantedTool, toolContains)]
    const said = met.reduce((bits, isSo, at) => bits + (isSo ? 2 ** at : 0), 0)
    this.#examples[said] ??= {
      ...(met.slice(0, 3).includes(true) && { agent }),
      ...(met.slice(3).includes(true) && { tool }),
    } as CallFacts
    return said
  }

  /** Whether the events have to be taken again, from the first on. `count` is right when this answers false. */
  nextPass(): boolean {
    for (const [, answers] of this.#claims.entries()) this.count += answers
    return this.#claims.nextPass()
  }
}
