/** @module The tenant that a stream's name carries (record.md, section 1). */

import { UUID_PATTERN } from '../../schemas/header.ts'
import { parseStream, TENANT_PATTERN } from '../../schemas/names.ts'

const ACCESS_PREFIX = 'access-'

/** Undefined where the name is none of the ledger's. A tenant has no dot, so the first one ends it. */
export function streamTenant(stream: string): string | undefined {
  if (!stream.startsWith(ACCESS_PREFIX)) return parseStream(stream)?.tenant
  const dot = stream.indexOf('.')
  const tenant = stream.slice(ACCESS_PREFIX.length, Math.max(dot, 0))
  return TENANT_PATTERN.test(tenant) && UUID_PATTERN.test(stream.slice(dot + 1)) ? tenant : undefined
}
