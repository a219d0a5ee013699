/** @module The command as sent, for decisions that need more than the redacted record: to identify a call, and to compare with the established context. */

import type { Command } from '../../../schemas/commands.ts'
import type { RedactionInForce } from '../../../schemas/redaction.ts'
import type { RedactedPlace } from './redact-value.ts'

/** A command of which a part was redacted. Its values may enter events only through `blind` and `blindKey`. */
export interface Sent {
  readonly command: Command
  readonly leftOut: readonly RedactedPlace[]
  readonly rules: RedactionInForce
  /** Keyed digest of a digest of a sent value. */
  readonly blind: (digest: string) => string
  readonly blindKey: (callKey: string) => string
}

/** The command as sent, if it is of this kind. */
export function sentBody<K extends Command['kind']>(
  sent: Sent | undefined,
  kind: K,
): Extract<Command, { kind: K }> | undefined {
  return sent?.command.kind === kind ? (sent.command as Extract<Command, { kind: K }>) : undefined
}
