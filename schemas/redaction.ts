/**
 * @module Schemas of redaction: the rules by which values are removed from a run's record before sealing, and the summary of removed values
 * in an event (RUN-94 to RUN-99).
 */
import { z } from 'zod'
import { Digest } from './names.ts'

/** Rules of one declaration. At most four times as many are in force in a run: those of its tenant, its own, and some from earlier policies. */
export const REDACTION_RULES_MAX = 64
export const REDACTION_RULES_IN_FORCE_MAX = 256
/** Places listed in an event; beyond this limit only the counts increase. */
export const REDACTED_LISTED_MAX = 100
/** Maximum length of a listed pointer. */
export const REDACTED_POINTER_MAX_CHARS = 512
const PLACES_MAX = 32
const PLACE_MAX_CHARS = 512
const PATTERN_MAX_CHARS = 512

/** Built-in detectors; they verify check digits if the format has any. */
export const REDACTION_DETECTORS = ['card', 'email', 'iban', 'jwt', 'phone', 'secret', 'us-ssn'] as const
export const RedactionDetector = z.enum(REDACTION_DETECTORS)

/** Used in redaction markers, so it is short and of a form that no detector matches. */
const RuleName = z.string().regex(/^[a-z][a-z-]{0,31}$/, 'is 1 to 32 of a-z and -, beginning with a letter')

const Place = z
  .string()
  .max(PLACE_MAX_CHARS)
  .regex(
    /^(?:\/(?:[^~/]|~[01])*)+$/,
    'is no place: a place begins with "/"; "*" matches one token and "**" any number of them',
  )

const SubjectPlace = z
  .string()
  .max(PLACE_MAX_CHARS)
  .regex(/^(?:\/(?:[^~/*]|~[01])+)+$/, 'is no place of one value: a JSON Pointer without "*", or "run"')

/**
 * Where to find the subject of the value: a place in the request, or in its input, arguments, payload, result or output. `run`, or a place
 * without a name, means the run's own subject.
 */
const Keep = z.strictObject({ subject: z.union([z.literal('run'), SubjectPlace]) })

export const RedactionRule = z
  .strictObject({
    name: RuleName,
    /**
     * Places in the body of a request, such as `/args/card` or `/payload/facts/<any>/email`, with `*` for one token or `**` for any number
     * of them. A place includes everything below it. Absent: the whole body.
     */
    at: z.array(Place).min(1).max(PLACES_MAX).optional(),
    /** Detectors to run on texts; only the matching part of a text is redacted. */
    find: z.array(RedactionDetector).min(1).max(REDACTION_DETECTORS.length).optional(),
    /** A regular expression (ECMAScript, flag `u`, no look-around, no back-references); a text with a match is redacted as a whole. */
    pattern: z.string().min(1).max(PATTERN_MAX_CHARS).optional(),
    /** The marker contains a keyed digest, so that equal values of a run can be recognised as equal. */
    comparable: z.literal(true).optional(),
    /** The value is encrypted under the key of its subject instead of dropped, and is readable until that key is destroyed (LIFE-1). */
    keep: Keep.optional(),
  })
  .refine(
    ({ comparable, keep }) => comparable === undefined || keep === undefined,
    'a value that is kept is comparable already: leave "comparable" out',
  )
  .refine(
    ({ at, find, pattern }) => at !== undefined || find !== undefined || pattern !== undefined,
    'a rule says where (at), what (find, pattern), or both',
  )

export const RedactionRules = z
  .array(RedactionRule)
  .max(REDACTION_RULES_MAX)
  .refine((rules) => new Set(rules.map(({ name }) => name)).size === rules.length, 'two rules share a name')

/** The rules in force in a run: those of tenant, run and earlier policies, which may share names. */
export const RedactionInForce = z.array(RedactionRule).max(REDACTION_RULES_IN_FORCE_MAX)

/** The values of the event that are encrypted under one key, by their markers (LIFE-2). */
const Kept = z.strictObject({
  key: z.uuid().describe('Id of the key; not of the subject.'),
  count: z.int().min(1).describe('Values that are encrypted.'),
  at: z
    .array(z.string().max(REDACTED_POINTER_MAX_CHARS))
    .max(REDACTED_LISTED_MAX)
    .describe('The first of their places in the body.'),
  $enc: z
    .string()
    .regex(/^[A-Za-z0-9_-]{40,}$/)
    .describe('AES-256-GCM, base64url: 12 bytes of nonce, ciphertext, 16 bytes of tag.'),
})

/** Summary of the values that were redacted from an event. Text that looks like a marker but is not listed here was written by the caller. */
export const Redacted = z.strictObject({
  /** SHA-256 over the canonical text of the rules that were in force. */
  policy: Digest,
  /** Number of redacted values, by the name of the rule. */
  counts: z.record(RuleName, z.int().min(1)),
  /** Places in the body: the first ones whose pointers are short enough. `member`: both name and value of a member of the object at that place. */
  values: z
    .array(
      z.strictObject({
        at: z.string().max(REDACTED_POINTER_MAX_CHARS),
        rule: RuleName,
        member: z.literal(true).optional(),
      }),
    )
    .max(REDACTED_LISTED_MAX),
  /** Values that are readable as long as the keys of their subjects exist; `counts` and `values` do not include them. */
  kept: z.array(Kept).min(1).max(REDACTION_RULES_IN_FORCE_MAX).optional(),
})

export type RedactionDetector = z.infer<typeof RedactionDetector>
export type RedactionRule = z.infer<typeof RedactionRule>
export type RedactionInForce = readonly RedactionRule[]
export type Redacted = z.infer<typeof Redacted>
export type Kept = z.infer<typeof Kept>
export type Keep = z.infer<typeof Keep>
