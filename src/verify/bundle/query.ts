/** @module Which events a query asks for, as far as headers answer it. */
import type { Header } from '../../../schemas/header.ts'
import { type Form, isList, isText, isTime, maybe } from './forms.ts'
import type { BundleQuery } from './predicate.ts'

/** What a query can ask and a bundle can prove; words, rules and verdicts are for the index of the ledger alone. */
export const QUERY: Form = { run: maybe(isText), types: maybe(isList), since: maybe(isTime), until: maybe(isTime) }

for (const name of ['actor', 'principal', 'agent', 'tool', 'call', 'approval', 'provider', 'model', 'kid'])
  QUERY[name] = maybe(isText)

/** Names that are compared by a part of them, each by its own filter, and any of them by `contains`. */
export const PART_FIELDS = ['run', 'actor', 'principal', 'agent', 'tool', 'provider', 'model'] as const

for (const name of ['contains', ...PART_FIELDS.map((field) => `${field}Contains`)]) QUERY[name] = maybe(isText)

/**
 * The part of a query that headers answer, and so what the bundle must hold. An outcome is of the agent and the tool that its call's claim
 * names: where they are asked for, all events of the run, or of the tenant, must be there.
 */
export function completePart(query: BundleQuery): BundleQuery {
  const { run, runContains, types, actor, actorContains, principal, principalContains, kid, since, until, also } = query
  const isOfCalls = OF_CLAIMS.some((name) => query[name] !== undefined)
  const byHeader = { types, actor, actorContains, principal, principalContains, kid, since, until, also }
  return present({ run, runContains, ...(!isOfCalls && byHeader) })
}

/** Filters that an outcome fits by what its call's claim says. */
export const OF_CLAIMS = ['agent', 'tool', 'agentContains', 'toolContains', 'contains'] as const
const inOneCase = (text: string): string => text.normalize('NFKC').toLowerCase()

/** Whether a text has the part in it, in any case; where no part is asked for, any text has it. */
export function hasPart(text: unknown, part: string | undefined): boolean {
  return part === undefined || (typeof text === 'string' && inOneCase(text).includes(inOneCase(part)))
}

export const present = <T extends object>(object: T): T =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T

/** Whether a header fits a query, as far as headers answer it; types in `also` need fit the run alone. */
export function isSelected(header: Header, tenant: string, query: BundleQuery): boolean {
  const { run, runContains, types, actor, actorContains, principal, principalContains, kid, since, until, also } = query
  const wanted = (asked: string | undefined, is: string) => asked === undefined || asked === is
  if (!wanted(run === undefined ? undefined : `run-${tenant}.${run}`, header.stream)) return false
  if (also?.includes(header.type)) return true
  return (
    (types === undefined || types.includes(header.type)) &&
    wanted(actor, header.actor) &&
    wanted(principal, header.principal ?? header.actor) &&
    hasPart(runOf(header.stream), runContains) &&
    hasPart(header.actor, actorContains) &&
    hasPart(header.principal ?? header.actor, principalContains) &&
    wanted(kid, header.kid) &&
    (since === undefined || header.time >= since) &&
    (until === undefined || header.time < until)
  )
}

/** The run of a stream's name; undefined for a ledger's own stream. */
export const runOf = (stream: string): string | undefined => /^run-[^.]*\.(.+)$/.exec(stream)?.[1]
