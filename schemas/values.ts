/** @module Building blocks shared by event bodies and requests. */
import { z } from 'zod'
import { isJsonObject, type Json, type JsonObject } from './json.ts'
import { Currency, Digest, Money, Name } from './names.ts'
import { Declarations, PlacePolicy } from './place-policy.ts'
import {
  COMMENT_MAX_CHARS,
  HANDOFF_TEXT_MAX_CHARS,
  MANIFEST_KEYS_MAX,
  SCOPE_MAX_CHARS,
  TASK_MAX_CHARS,
  TOKENS_MAX,
} from './value-forms.ts'

/** Any JSON value. The strict parser checked it before the schema, so it is kept by reference and never copied. */
export const JsonValue = z
  .any()
  .refine((value) => value !== undefined, 'a JSON value is required') as unknown as z.ZodType<Json>
export const JsonRecord = z
  .any()
  .refine(isJsonObject, 'a JSON object is required')
  .meta({ type: 'object', additionalProperties: true }) as unknown as z.ZodType<JsonObject>

export const Tokens = z.int().min(0).max(TOKENS_MAX)

/** Path of names that the runtime maintains, such as `step:researcher/fork:analyst`. */
export const Scope = z.string().min(1).max(SCOPE_MAX_CHARS)
export const Phase = z.enum(['forward', 'compensation', 'model'])
export const OnUnknown = z.enum(['retry', 'in-doubt'])
export const Uuid = z.uuid()

/** Reference to a value stored separately: SHA-256 over a salt and its canonical text. `kept: false`: the tool chose to record only this reference. */
export const ValueRef = z.strictObject({
  digest: Digest,
  bytes: z.int().min(0),
  mediaType: z.string().min(1).max(128),
  kept: z.literal(false).optional(),
})

/** A suspect of a run: the step of its handoff, and its number within that step; `rest` means those not listed individually. */
export const SuspectId = z.string().regex(/^[1-9]\d{0,9}\.([1-9]\d{0,2}|rest)$/, 'is the id of a suspect, such as 3.1')

/** A person's review of suspects: the values stay, or the run is rewound to before the first of them. */
export const REVIEW = {
  suspects: z.array(SuspectId).min(1).max(256),
  decision: z.enum(['confirmed', 'rejected']),
  reason: z.string().min(1).max(COMMENT_MAX_CHARS),
}

export const Supersession = z.strictObject({
  path: z.string().max(HANDOFF_TEXT_MAX_CHARS),
  reason: z.string().max(HANDOFF_TEXT_MAX_CHARS),
})
/** A judge's verdict on a handoff; `unavailable` if the judge failed, was too late, or gave an unreadable answer. */
export const JUDGEMENT = {
  /** Step of the accepted handoff. */
  step: z.int().min(1),
  verdict: z.enum(['accept', 'reject', 'unavailable']),
  /** The reason why there is no verdict. */
  reason: z.string().max(1024).optional(),
  judge: Name,
  model: Name.optional(),
  /** SHA-256 of the judge's prompt, as computed by the caller. */
  promptDigest: Digest.optional(),
} as const

export const HandoffMode = z.enum(['replace', 'merge', 'extend'])

/** Usage of a call or an answer. `tokens` is the sum of all kinds; the kinds are recorded if the provider reports them. */
export const Usage = z.strictObject({
  tokens: Tokens,
  inputTokens: Tokens.optional(),
  outputTokens: Tokens.optional(),
  /** Part of `inputTokens`: tokens read from the provider's cache, and tokens written to it. */
  cachedInputTokens: Tokens.optional(),
  cacheWriteTokens: Tokens.optional(),
  cost: Money.optional(),
  currency: Currency.optional(),
  provider: Name.optional(),
  model: Name.optional(),
  estimated: z.boolean().optional(),
})

/** A failure as the tool or the run reported it; free-form members are kept in `details`. */
export const Failure = z.strictObject({
  message: z.string().max(16_384),
  code: Name.optional(),
  details: JsonValue.optional(),
})

export const ManifestBody = z.strictObject({
  /** Top-level keys that the agent may see; absent: all. */
  reads: z.array(Name).max(MANIFEST_KEYS_MAX).optional(),
  /** Top-level keys that the agent may change; absent: all. */
  writes: z.array(Name).max(MANIFEST_KEYS_MAX).optional(),
  maxTokens: Tokens.optional(),
  task: z.string().max(TASK_MAX_CHARS).optional(),
  /** JSON Schema (2020-12) of the agent's payloads. */
  schema: JsonRecord.optional(),
  /** Applied on top of the run's policy; it only adds restrictions. */
  policy: PlacePolicy.optional(),
  /** Places that may move in this agent's handoffs; the same declarations are allowed as with a handoff. */
  moves: Declarations.optional(),
  /** Public JWK (Ed25519 or P-256) that the agent signs its envelopes with. */
  jwk: JsonRecord.optional(),
  /** Envelopes without a signature are refused. */
  requireSignature: z.boolean().optional(),
})

export const BudgetLimits = z.strictObject({
  tokens: z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional(),
  cost: z.strictObject({ limit: Money, currency: Currency }).optional(),
  agents: z
    .record(
      Name,
      z.strictObject({ tokens: z.int().min(0).max(Number.MAX_SAFE_INTEGER).optional(), cost: Money.optional() }),
    )
    .optional(),
})

export type ValueRef = z.infer<typeof ValueRef>
export type Usage = z.infer<typeof Usage>
export type Failure = z.infer<typeof Failure>
export type ManifestBody = z.infer<typeof ManifestBody>
export type BudgetLimits = z.infer<typeof BudgetLimits>
/** How a payload is applied to the context: `replace` it, `merge` into it (RFC 7396), or `extend` it, so that nothing is removed. */
export type HandoffMode = z.infer<typeof HandoffMode>
/** A place (JSON Pointer, including everything below) whose established value may change, with the reason, which is recorded. */
export type Supersession = z.infer<typeof Supersession>
export type Phase = z.infer<typeof Phase>
export type OnUnknown = z.infer<typeof OnUnknown>
