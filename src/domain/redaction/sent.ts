/** @module What was sent, for the decisions that need more of it than will be recorded: which call it is, and whether it is what was established. */

import type { Command } from '../../../schemas/commands.ts'
import type { RedactionInForce } from '../../../schemas/redaction.ts'
import type { RedactedPlace } from './redact-value.ts'

/** Of a command of which something was left out. Nothing of it may stand in an event but by `blind` and `blindKey`. */
export interface Sent {
  readonly command: Command
  readonly leftOut: readonly RedactedPlace[]
  readonly rules: RedactionInForce
  /** Keyed digest of a digest of what was sent. */
  readonly blind: (digest: string) => string
  readonly blindKey: (callKey: string) => string
}

/** The body that was sent, where it is of this kind. */
export function sentBody<K extends Command['kind']>(
  sent: Sent | undefined,
  kind: K,
): Extract<Command, { kind: K }> | undefined {
  return sent?.command.kind === kind ? (sent.command as Extract<Command, { kind: K }>) : undefined
}
