/** @module What the validator found in a handoff (JUD-26): the same shape in events, answers and `countersign validate`. */
import { z } from 'zod'
import { MOVE_KINDS } from './value-forms.ts'
import { JsonValue } from './values.ts'

/** Findings kept in full; beyond them only `findingsTotal` counts on. */
export const FINDINGS_MAX = 100
/** A value whose canonical text is longer is in a finding as its digest. */
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
  // Of the rules of judgement, but for base relay:
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
  // Of policy `relay` only:
  'fabrication',
  'deletion',
  'too-deep',
] as const

export const Rule = z.enum(RULES)
/** `info` says what was permitted, and why. */
export const Severity = z.enum(['error', 'warning', 'info'])

export const Finding = z.strictObject({
  rule: Rule,
  severity: Severity,
  /** JSON Pointer: into `before`; into `after` where nothing is in its place in `before`. */
  path: z.string(),
  /** The value, or `{digest, bytes}` of its canonical text. Absent where there was none. */
  before: JsonValue.optional(),
  after: JsonValue.optional(),
  message: z.string(),
  /** An unexplained change that nothing speaks for or against for certain. */
  suspect: z.literal(true).optional(),
  /** It would refuse, did the policy not say `enforce: "record"`. */
  wouldRefuse: z.literal(true).optional(),
  /** What permits the change, once `reason` says why: an entry for `supersedes`. */
  supersede: z.strictObject({ path: z.string(), reason: z.string() }).optional(),
  /** What would make the change one of a place that moves, once `reason` says why it does: an entry for `moves`. */
  declare: z.strictObject({ path: z.string(), as: z.enum(MOVE_KINDS), reason: z.string() }).optional(),
  /** Where the established value stands that this one is at odds with, where that is not at `path`: a JSON Pointer into `before`. */
  of: z.string().optional(),
  /** What established the value that is at odds: the step, and the event of the run. */
  established: z.strictObject({ step: z.int().min(0), revision: z.int().min(0), eventId: z.string() }).optional(),
  /** The event whose recorded result says so. */
  source: z.strictObject({ revision: z.int().min(0) }).optional(),
})

export const Diff = z.strictObject({
  added: z.array(z.string()),
  removed: z.array(z.string()),
  modified: z.array(z.string()),
})

export type Rule = z.infer<typeof Rule>
export type Severity = z.infer<typeof Severity>
/** What the validator says of one place of a handoff: the rule, its severity, the place (a JSON Pointer), what stood there and what came. */
export type Finding = z.infer<typeof Finding>
export type Diff = z.infer<typeof Diff>
