/** @module Which streams a tenant filter lets through: exact names, never a pattern. */
import { accessStream, ledgerStream, runStream } from '../../schemas/names.ts'

/** Every name that begins with `from` lies before `end`, the first text after all of them in code point order. */
export interface NamePrefix {
  readonly from: string
  readonly end: string
}

export interface TenantStreams {
  /** The tenant's ledger stream, by its whole name. */
  readonly ledger: string
  /** What every run of the tenant begins with. A tenant has no dot, so no other tenant's name continues it. */
  readonly run: NamePrefix
  /** What every record of reads begins with. */
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
