/** @module The tenant that a stream's name carries (REC-9). */
import { parseStream } from '../../schemas/names.ts'

/** Undefined where the name is none of the ledger's. */
export function streamTenant(stream: string): string | undefined {
  return parseStream(stream)?.tenant
}
