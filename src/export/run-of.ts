/** @module The run in the name of a stream. */
import { parseStream } from '../../schemas/names.ts'

/** Undefined for a stream that belongs to no run. */
export function runOf(stream: string): string | undefined {
  return parseStream(stream)?.runId
}
