/** @module The message of an error, for a log line or another message. */

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
