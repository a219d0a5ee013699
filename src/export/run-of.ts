/** @module The run of a stream's name. */
import { parseStream } from '../../schemas/names.ts'

/** Undefined for a ledger's own stream. */
export function runOf(stream: string): string | undefined {
  return parseStream(stream)?.runId
}
