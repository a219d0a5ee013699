/** @module Which streams a tenant filter lets through: exact names, never a pattern. */
import { ledgerStream, runStream } from '../../schemas/names.ts'

export interface TenantStreams {
  /** The tenant's ledger stream, by its whole name. */
  readonly ledger: string
  /** What every run of the tenant begins with. A tenant has no dot, so no other tenant's name continues it. */
  readonly runPrefix: string
  /** The first text after all that begin with `runPrefix`, in code point order. */
  readonly runPrefixEnd: string
}

export function tenantStreams(tenant: string): TenantStreams {
  const runPrefix = runStream(tenant, '')
  const last = String.fromCharCode(runPrefix.charCodeAt(runPrefix.length - 1) + 1)
  return { ledger: ledgerStream(tenant), runPrefix, runPrefixEnd: runPrefix.slice(0, -1) + last }
}

export function isOfTenant(stream: string, tenant: TenantStreams): boolean {
  return stream === tenant.ledger || stream.startsWith(tenant.runPrefix)
}
