/** @module Converts the flags of audit queries to query parameters: `--agent writer` here is `?agent=writer` over HTTP. */
import {
  AUDIT_QUERIES,
  type AuditQueryDefinition,
  type AuditQueryName,
  isOrdered,
} from '../ledger/audit/audit-queries.ts'
import type { Params } from './api.ts'
import type { Arguments } from './arguments.ts'
import { usageFailure } from './failure.ts'
import { flagNameOf } from './flag.ts'

export function queryParams(name: AuditQueryName, { text }: Arguments): Params {
  const { filters, shape }: AuditQueryDefinition = AUDIT_QUERIES[name]
  const more = [
    ...(name === 'spend' ? ['by'] : []),
    ...(name === 'sample' ? ['seed'] : []),
    ...(isOrdered(shape) ? ['order'] : []),
  ]
  return {
    ...Object.fromEntries([...filters, ...more].map((name) => [name, text(flagNameOf(name))])),
    asOf: text('as-of'),
  }
}

export function limitOf({ text }: Arguments): number | undefined {
  const limit = text('limit')
  if (limit === undefined) return undefined
  if (!/^[1-9]\d{0,14}$/.test(limit)) throw usageFailure(`--limit: "${limit}" is no number of items`)
  return Number(limit)
}
