/** @module What went wrong, for a log line or a message. */

export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
