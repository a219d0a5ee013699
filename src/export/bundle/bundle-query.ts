/**
 * @module The query of a bundle: the part that can be decided from headers, whose completeness the bundle proves, and the rest, which the verifier evaluates
 * on the bodies. `verify.mjs` implements the same separately; a test compares the two.
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

/** Members that only the ledger's own index can evaluate: no verifier could check which events they exclude. */
const UNPROVABLE = namesWith('index')
const BY_HEADER = namesWith('header')

/** The first member that bundles do not support; undefined if all members can be proved. */
export function unprovableMember(query: EventQuery): string | undefined {
  return UNPROVABLE.find((name) => query[name] !== undefined)
}

/**
 * The part of the query for which the bundle contains every matching event. Agent and tool of an outcome are those in its call's claim: a query for them gets
 * all events of the run, or of the tenant, so that no claim is missing.
 */
export function completePart(query: BundleQuery): BundleQuery {
  const { run, runContains, agent, tool, agentContains, toolContains, contains, also } = query
  const isOfCalls = [agent, tool, agentContains, toolContains, contains].some((each) => each !== undefined)
  if (isOfCalls) return { ...(run !== undefined && { run }), ...(runContains !== undefined && { runContains }) }
  const part = Object.fromEntries(BY_HEADER.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])))
  return also === undefined ? part : { ...part, also }
}

/** Whether a header matches the part that is decided from headers. */
export function isSelected(header: Header, tenant: string, { run, also, ...part }: BundleQuery): boolean {
  if (run !== undefined && header.stream !== runStream(tenant, run)) return false
  if (also?.includes(header.type) === true) return true
  return isEmpty(part) || matchesFacts(part, factsOf(part, header, {}))
}

/** Adds the run if a part of its name is compared. */
function factsOf(query: EventQuery, header: Header, ...body: readonly [JsonObject, CallFacts?]) {
  const facts = eventFacts(header, ...body)
  if (query.runContains === undefined && query.contains === undefined) return facts
  return { ...facts, run: runOf(header.stream) }
}

function isEmpty(part: EventQuery): boolean {
  for (const _ in part) return false
  return true
}

/** Counts the events that match the whole query among all selected events, in order. */
export function answersTo({ run: _, also, ...query }: BundleQuery): AnswerCount<LedgerEvent> {
  const isAnswer = ({ header, data }: LedgerEvent, claim: CallFacts) =>
    also?.includes(header.type) === true || matchesFacts(query, factsOf(query, header, data, claim))
  return new AnswerCount(query, isAnswer)
}
