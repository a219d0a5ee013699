/**
 * @module The query of a bundle: the part that headers answer, whose completeness the bundle proves, and the rest, which whoever verifies
 * evaluates on the bodies. `verify.mjs` says the same in its own words; a test holds the two together.
 */
import { type CallFacts, eventFacts, matchesFacts } from '../../../projections/event-facts.ts'
import { AUDIT_FILTERS, type AuditFilterField, type FilterName } from '../../../schemas/audit-fields.ts'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { Header } from '../../../schemas/header.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import type { LedgerEvent } from '../../ledger/ledger-event.ts'
import { AnswerCount } from '../../verify/bundle/answer-count.ts'
import type { BundleQuery } from '../../verify/bundle/predicate.ts'
import { runOf } from '../run-of.ts'

const namesWith = (proof: AuditFilterField['proof']): readonly FilterName[] =>
  AUDIT_FILTERS.filter((filter) => filter.proof === proof).map(({ name }) => name)

/** Members that only the ledger's own index can answer: what they leave out, nobody else could check. */
const UNPROVABLE = namesWith('index')
const BY_HEADER = namesWith('header')

/** The first member that no bundle takes; undefined where all of them can be proved. */
export function unprovableMember(query: EventQuery): string | undefined {
  return UNPROVABLE.find((name) => query[name] !== undefined)
}

/**
 * Every event that fits this part is in the bundle. An outcome is of the agent and the tool that its call's claim names: where they are asked
 * for, all events of the run, or of the tenant, are there, so that no claim is missing.
 */
export function completePart(query: BundleQuery): BundleQuery {
  const { run, runContains, agent, tool, agentContains, toolContains, contains, also } = query
  const isOfCalls = [agent, tool, agentContains, toolContains, contains].some((each) => each !== undefined)
  if (isOfCalls) return { ...(run !== undefined && { run }), ...(runContains !== undefined && { runContains }) }
  const part = Object.fromEntries(BY_HEADER.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])))
  return also === undefined ? part : { ...part, also }
}

/** Whether a header fits the part that headers answer. */
export function isSelected(header: Header, tenant: string, { run, also, ...part }: BundleQuery): boolean {
  if (run !== undefined && header.stream !== runStream(tenant, run)) return false
  if (also?.includes(header.type) === true) return true
  return isEmpty(part) || matchesFacts(part, factsOf(part, header, {}))
}

/** With the run, where it is compared by a part of it. */
function factsOf(query: EventQuery, header: Header, ...body: readonly [JsonObject, CallFacts?]) {
  const facts = eventFacts(header, ...body)
  if (query.runContains === undefined && query.contains === undefined) return facts
  return { ...facts, run: runOf(header.stream) }
}

function isEmpty(part: EventQuery): boolean {
  for (const _ in part) return false
  return true
}

/** Counts the events that answer the whole query, among all selected events, in their order. */
export function answersTo({ run: _, also, ...query }: BundleQuery): AnswerCount<LedgerEvent> {
  const isAnswer = ({ header, data }: LedgerEvent, claim: CallFacts) =>
    also?.includes(header.type) === true || matchesFacts(query, factsOf(query, header, data, claim))
  return new AnswerCount(query, isAnswer)
}
