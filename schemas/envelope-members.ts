/** @module Members that accepted, refused and rewound handoffs have in common. */
import { z } from 'zod'
import { Digest, Name } from './names.ts'
import { Declarations } from './place-policy.ts'
import { Redacted } from './redaction.ts'
import { HandoffMode, JsonRecord, Scope, Supersession, Tokens } from './values.ts'

/** Place in the run's code where the handoff was requested; absent if the caller tracks no places. */
export const place = { scope: Scope.optional(), occurrence: z.int().min(0).optional() }

/** Number of the rule set that produced the verdict; absent in records of 0.1.0, and under policy `relay`. */
export const rules = z.int().min(1).optional()

export const handoff = {
  redacted: Redacted.optional(),
  agent: Name,
  mode: HandoffMode,
  payload: JsonRecord,
  /** Members added to the lists of the context, whatever the mode. */
  add: JsonRecord.optional(),
  /** Digest of the event whose context this handoff builds on. */
  parent: Digest,
  tokens: Tokens.optional(),
  manifestHash: Digest.optional(),
  supersedes: z.array(Supersession).optional(),
  /** Places whose changes the agent declared. */
  moves: Declarations.optional(),
  /** The agent's own detached JWS over the envelope (SEAL-14). */
  signature: z.string().optional(),
  /** Digest of the signed content: the same content is not accepted again, whatever its signature (SEAL-16). Absent in records of 0.1.0. */
  signed: Digest.optional(),
  ...place,
}
