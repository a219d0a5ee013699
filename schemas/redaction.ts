/** @module Redaction: what a policy leaves out of a run's record before anything is sealed, and what an event says of that (RUN-94 to RUN-99). */
import { z } from 'zod'
import { Digest } from './names.ts'

/** Rules of one declaration; a run under the rules of its tenant, its own and some of before has at most four times as many. */
export const REDACTION_RULES_MAX = 64
export const REDACTION_RULES_IN_FORCE_MAX = 256
/** Places listed in an event; beyond them only the counts say more. */
export const REDACTED_LISTED_MAX = 100
/** Longest pointer that is listed. */
export const REDACTED_POINTER_MAX_CHARS = 512
const PLACES_MAX = 32
const PLACE_MAX_CHARS = 512
const PATTERN_MAX_CHARS = 512

/** What the ledger finds by itself, with check digits where the form has some. */
export const REDACTION_DETECTORS = ['card', 'email', 'iban', 'jwt', 'phone', 'secret', 'us-ssn'] as const
export const RedactionDetector = z.enum(REDACTION_DETECTORS)

/** Stands in the marker of what was left out: short, and of a form that no detector finds. */
const RuleName = z.string().regex(/^[a-z][a-z-]{0,31}$/, 'is 1 to 32 of a-z and -, beginning with a letter')

const Place = z
  .string()
  .max(PLACE_MAX_CHARS)
  .regex(
    /^(?:\/(?:[^~/]|~[01])*)+$/,
    'is no place: it begins with "/", "*" stands for one token and "**" for any number of them',
  )

const SubjectPlace = z
  .string()
  .max(PLACE_MAX_CHARS)
  .regex(/^(?:\/(?:[^~/*]|~[01])+)+$/, 'is no place of one value: a JSON Pointer without "*", or "run"')

/** Whose value it is: who is named at this place of the request, or of its input, arguments, payload, result or output; `run`, and where nobody is: the run's. */
const Keep = z.strictObject({ subject: z.union([z.literal('run'), SubjectPlace]) })

export const RedactionRule = z
  .strictObject({
    name: RuleName,
    /** Places in the body of a request, such as `/args/card`, `/payload/facts/<any>/email` with `*` for one token, or `**` for any number of them: what lies there or below. Absent: everywhere. */
    at: z.array(Place).min(1).max(PLACES_MAX).optional(),
    /** What is found in texts: only that part of the text is left out. */
    find: z.array(RedactionDetector).min(1).max(REDACTION_DETECTORS.length).optional(),
    /** A regular expression (ECMAScript, flag `u`, no look-around, no back-references): a text that it occurs in is left out whole. */
    pattern: z.string().min(1).max(PATTERN_MAX_CHARS).optional(),
    /** The marker carries a keyed digest, so that equal values of a run can be seen to be equal. */
    comparable: z.literal(true).optional(),
    /** The value is encrypted under the key of its subject instead of dropped, until that key is destroyed (LIFE-1). */
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

/** As in force in a run: rules of tenant, run and of before, which may share names. */
export const RedactionInForce = z.array(RedactionRule).max(REDACTION_RULES_IN_FORCE_MAX)

/** What is encrypted in the event under one key: the values by their markers (LIFE-2). */
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

/** What an event lacks of what was sent. Text that looks like a marker, and that no event lists here, is the caller's own. */
export const Redacted = z.strictObject({
  /** SHA-256 over the canonical text of the rules that were in force. */
  policy: Digest,
  /** Values left out, by the name of the rule. */
  counts: z.record(RuleName, z.int().min(1)),
  /** Where, in the body: the first ones, as far as their pointers are short. `member`: name and value of a member of the object at that place. */
  values: z
    .array(
      z.strictObject({
        at: z.string().max(REDACTED_POINTER_MAX_CHARS),
        rule: RuleName,
        member: z.literal(true).optional(),
      }),
    )
    .max(REDACTED_LISTED_MAX),
  /** What can be read as long as the keys of its subjects exist; counts and values leave it out. */
  kept: z.array(Kept).min(1).max(REDACTION_RULES_IN_FORCE_MAX).optional(),
})

export type RedactionDetector = z.infer<typeof RedactionDetector>
export type RedactionRule = z.infer<typeof RedactionRule>
export type RedactionInForce = readonly RedactionRule[]
export type Redacted = z.infer<typeof Redacted>
export type Kept = z.infer<typeof Kept>
export type Keep = z.infer<typeof Keep>
