/** @module What auditors ask of the ledger's own record, beside the queries of their tenant's index (`audit-queries.ts`): HTTP and the command line are made of it. */

export const SERVICE_QUERIES = {
  service: {
    summary: 'Starts and ends of the ledger, settings that were changed, keys that were rotated; newest first',
    columns: ['time', 'type', 'start', 'version', 'changed', 'setting', 'kid', 'seal'],
  },
  tokens: {
    summary: 'Access tokens that were issued for the tenant by `countersign token`; newest first',
    columns: ['time', 'subject', 'scopes', 'run', 'forAgent', 'roles', 'actor', 'expires', 'token', 'seal'],
  },
} as const

export type ServiceQueryName = keyof typeof SERVICE_QUERIES
