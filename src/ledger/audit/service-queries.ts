/**
 * @module The audit queries over the ledger's own record, in addition to those over the tenant's index (`audit-queries.ts`): HTTP and the command
 * line are generated from this table.
 */
import type { EventQuery } from '../../../schemas/event-query.ts'

export const SERVICE_QUERIES = {
  service: {
    summary: 'Starts and ends of the ledger, settings that were changed, keys that were rotated; newest first',
    filters: ['since', 'until', 'types'],
    columns: ['time', 'type', 'start', 'version', 'changed', 'setting', 'kid', 'seal'],
  },
  tokens: {
    summary: 'Access tokens that were issued for the tenant by `countersign token`; newest first',
    filters: ['since', 'until'],
    columns: ['time', 'subject', 'scopes', 'run', 'forAgent', 'roles', 'actor', 'expires', 'token', 'seal'],
  },
} as const

/** The fields of audit queries that can be evaluated on a header alone. */
export type ServiceFilter = Pick<EventQuery, 'since' | 'until' | 'types'>
export type ServiceQueryName = keyof typeof SERVICE_QUERIES
