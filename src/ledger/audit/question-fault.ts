/** @module Validates an audit question against the definition of its query. */
import type { FilterName } from '../../../schemas/audit-fields.ts'
import { periodFault } from '../../../schemas/event-query.ts'
import type { Caller } from '../../access/caller.ts'
import { ofWholeTenant } from '../../access/check-access.ts'
import type { SpendBy } from '../../store/audit-index.ts'
import type { AuditQueryDefinition } from './audit-queries.ts'
import type { AuditQuestion, AuditRefusal } from './audit-reads.ts'

export const SPEND_BY: readonly SpendBy[] = ['run', 'agent', 'model', 'day', 'month', 'tenant']

const WHOLE: readonly string[] = ['spend', 'open-reservations']

/** Undefined if the question is valid. */
export function questionFault(question: AuditQuestion, definition: AuditQueryDefinition): string | undefined {
  return filterFault(question, definition) ?? periodFault(question.filter) ?? spendFault(question)
}

function filterFault(
  { name, filter }: AuditQuestion,
  { filters, required = [] }: AuditQueryDefinition,
): string | undefined {
  const entries = Object.keys(filter).filter((key) => filter[key as FilterName] !== undefined)
  const stranger = entries.find((key) => !filters.includes(key as FilterName))
  if (stranger !== undefined) return `the query ${name} takes no ${stranger}; it takes ${filters.join(', ')}`
  const missing = required.find((key) => filter[key] === undefined)
  return missing === undefined ? undefined : `the query ${name} needs ${missing}`
}

export function spendBy({ by }: AuditQuestion): SpendBy | undefined {
  return SPEND_BY.find((each) => each === by)
}

function spendFault(question: AuditQuestion): string | undefined {
  const { name, by, seed, whole } = question
  if (whole === true && !WHOLE.includes(name)) return `the query ${name} has no answer about all there is`
  if (by !== undefined && name !== 'spend') return `the query ${name} takes no by`
  if (by !== undefined && spendBy(question) === undefined) return `by takes one of ${SPEND_BY.join(', ')}`
  if (seed !== undefined && name !== 'sample') return `the query ${name} takes no seed`
  if (name === 'sample' && (seed ?? '') === '') return 'the query sample needs a seed: the root hash of a checkpoint'
  return undefined
}

/** The refusal for a caller that is bound to one run or one agent. */
export function wholeTenantOnly(caller: Caller): AuditRefusal {
  const code = caller.run === undefined ? 'agent-mismatch' : 'run-mismatch'
  return { ok: false, code, detail: ofWholeTenant(caller)?.detail ?? '' }
}

export function beyondLog(size: number): AuditRefusal {
  const detail = `the log has ${size} events and no more: ask as of at most so many`
  return { ok: false, code: 'invalid-query', detail }
}

export const otherLog: AuditRefusal = {
  ok: false,
  code: 'cursor-gone',
  detail: 'the log that these pages were pinned to is another one now: start over',
}
