/** @module Determines which streams a tenant filter includes, by name and fixed prefix, never by a pattern. */
import { accessStream, ledgerStream, runStream } from '../../schemas/names.ts'

/** Every name with the prefix `from` sorts before `end`, the first text after all of them in code point order. */
export interface NamePrefix {
  readonly from: string
  readonly end: string
}

export interface TenantStreams {
  /** Full name of the tenant's ledger stream. */
  readonly ledger: string
  /** Prefix of the names of all runs of the tenant. A tenant name contains no dot, so no other tenant's streams share the prefix. */
  readonly run: NamePrefix
  /** Prefix of the names of all access streams, which record reads. */
  readonly access: NamePrefix
}

export function tenantStreams(tenant: string): TenantStreams {
  return {
    ledger: ledgerStream(tenant),
    run: prefixOf(runStream(tenant, '')),
    access: prefixOf(accessStream(tenant, '')),
  }
}

export function isOfTenant(stream: string, { ledger, run, access }: TenantStreams): boolean {
  return stream === ledger || stream.startsWith(run.from) || stream.startsWith(access.from)
}

function prefixOf(from: string): NamePrefix {
  const last = String.fromCharCode(from.charCodeAt(from.length - 1) + 1)
  return { from, end: from.slice(0, -1) + last }
}
