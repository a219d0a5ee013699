/** @module Findings of the validator in a handoff (JUD-26): the same shape in events, answers and `countersign validate`. */
import { z } from 'zod'
import { MOVE_KINDS } from './value-forms.ts'
import { JsonValue } from './values.ts'

/** Number of findings that are stored; beyond it only `findingsTotal` increases. */
export const FINDINGS_MAX = 100
/** A value whose canonical text is longer is represented in a finding by its digest. */
export const FINDING_VALUE_MAX_BYTES = 1024

export const RULES = [
  'critical-key-removed',
  'contradicted',
  'manifest-violation',
  'schema-violation',
  'schema-too-expensive',
  'ungrounded',
  'evidence-truncated',
  'supersedes-invalid',
  'declaration-refused',
  'invalid-input',
  // Rules of every policy except those of base relay:
  'duplicate-identity',
  'shadow-key',
  'restated',
  'total-disagrees',
  'immutable',
  'invariant',
  'low-confidence',
  'nothing-protected',
  'superseded',
  'moved-by-tool',
  'disagrees-with-tool',
  'derived',
  'judged',
  'redacted',
  'no-effect',
  // Rules of policy `relay` only:
  'fabrication',
  'deletion',
  'too-deep',
] as const

export const Rule = z.enum(RULES)
/** `info` states what was permitted, and why. */
export const Severity = z.enum(['error', 'warning', 'info'])

export const Finding = z.strictObject({
  rule: Rule,
  severity: Severity,
  /** JSON Pointer into `before`, or into `after` if `before` has nothing in that place. */
  path: z.string(),
  /**
   * JSON Pointer to the value in what the agent sent: below `/payload` or `/add`. Of a value that is gone, the place of what held it. Absent if nothing of
   * it was sent.
   */
  inHandoff: z.string().optional(),
  /** The value, or `{digest, bytes}` of its canonical text. Absent if there was none. */
  before: JsonValue.optional(),
  after: JsonValue.optional(),
  message: z.string(),
  /** An unexplained change for which there is no conclusive evidence either way. */
  suspect: z.literal(true).optional(),
  /** The finding would refuse the handoff if the policy did not set `enforce: "record"`. */
  wouldRefuse: z.literal(true).optional(),
  /** An entry for `supersedes` that permits the change, once its `reason` is filled in. */
  supersede: z.strictObject({ path: z.string(), reason: z.string() }).optional(),
  /** An entry for `moves` that declares the place as moving, once its `reason` is filled in. */
  declare: z.strictObject({ path: z.string(), as: z.enum(MOVE_KINDS), reason: z.string() }).optional(),
  /** JSON Pointer into `before` to the established value that conflicts with this one, if it is not at `path`. */
  of: z.string().optional(),
  /** Origin of the conflicting established value: the step, and the event of the run. */
  established: z.strictObject({ step: z.int().min(0), revision: z.int().min(0), eventId: z.string() }).optional(),
  /** The event whose recorded result supports the finding. */
  source: z.strictObject({ revision: z.int().min(0) }).optional(),
})

export const Diff = z.strictObject({
  added: z.array(z.string()),
  removed: z.array(z.string()),
  modified: z.array(z.string()),
})

export type Rule = z.infer<typeof Rule>
export type Severity = z.infer<typeof Severity>
/** A finding of the validator about one place of a handoff: the rule, its severity, the place (a JSON Pointer), and the old and new values. */
export type Finding = z.infer<typeof Finding>
export type Diff = z.infer<typeof Diff>
