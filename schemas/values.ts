/** @module Building blocks that event bodies and requests share. */
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

/** Any JSON value. The strict parser has judged it before a schema sees it, so that it is kept by reference, never copied. */
export const JsonValue = z
  .any()
  .refine((value) => value !== undefined, 'a JSON value is required') as unknown as z.ZodType<Json>
export const JsonRecord = z
  .any()
  .refine(isJsonObject, 'a JSON object is required')
  .meta({ type: 'object' }) as unknown as z.ZodType<JsonObject>

export const Tokens = z.int().min(0).max(TOKENS_MAX)

/** Path of names that the runtime keeps, such as `step:researcher/fork:analyst`. */
export const Scope = z.string().min(1).max(SCOPE_MAX_CHARS)
export const Phase = z.enum(['forward', 'compensation', 'model'])
export const OnUnknown = z.enum(['retry', 'in-doubt'])
export const Uuid = z.uuid()

/** A value that is stored beside the events: SHA-256 over a salt and its canonical text. `kept: false`: only this is on record, by the tool's choice. */
export const ValueRef = z.strictObject({
  digest: Digest,
  bytes: z.int().min(0),
  mediaType: z.string().min(1).max(128),
  kept: z.literal(false).optional(),
})

/** A suspect of a run: the step of its handoff, and its number there; `rest`: those that are not named one by one. */
export const SuspectId = z.string().regex(/^[1-9]\d{0,9}\.([1-9]\d{0,2}|rest)$/, 'is the id of a suspect, such as 3.1')

/** What a person says of suspects: the values stay, or the run goes back to before the first of them. */
export const REVIEW = {
  suspects: z.array(SuspectId).min(1).max(256),
  decision: z.enum(['confirmed', 'rejected']),
  reason: z.string().min(1).max(COMMENT_MAX_CHARS),
}

export const Supersession = z.strictObject({
  path: z.string().max(HANDOFF_TEXT_MAX_CHARS),
  reason: z.string().max(HANDOFF_TEXT_MAX_CHARS),
})
/** What a judge says of a handoff: `unavailable` where it failed, was too late, or answered nothing that could be read. */
export const JUDGEMENT = {
  /** Step of the accepted handoff. */
  step: z.int().min(1),
  verdict: z.enum(['accept', 'reject', 'unavailable']),
  /** Why there is no verdict. */
  reason: z.string().max(1024).optional(),
  judge: Name,
  model: Name.optional(),
  /** SHA-256 of what the judge was asked, as the caller made it. */
  promptDigest: Digest.optional(),
} as const

export const HandoffMode = z.enum(['replace', 'merge', 'extend'])

/** What a call or an answer used. `tokens` is the sum of all kinds; the kinds are kept where the provider names them. */
export const Usage = z.strictObject({
  tokens: Tokens,
  inputTokens: Tokens.optional(),
  outputTokens: Tokens.optional(),
  /** Part of `inputTokens`: read from the provider's cache, and written to it. */
  cachedInputTokens: Tokens.optional(),
  cacheWriteTokens: Tokens.optional(),
  cost: Money.optional(),
  currency: Currency.optional(),
  provider: Name.optional(),
  model: Name.optional(),
  estimated: z.boolean().optional(),
})

/** What failed, as the tool or the run reported it; free members are kept in `details`. */
export const Failure = z.strictObject({
  message: z.string().max(16_384),
  code: Name.optional(),
  details: JsonValue.optional(),
})

export const ManifestBody = z.strictObject({
  /** Top-level keys the agent may see; absent: all. */
  reads: z.array(Name).max(MANIFEST_KEYS_MAX).optional(),
  /** Top-level keys the agent may change; absent: all. */
  writes: z.array(Name).max(MANIFEST_KEYS_MAX).optional(),
  maxTokens: Tokens.optional(),
  task: z.string().max(TASK_MAX_CHARS).optional(),
  /** JSON Schema (2020-12) of the agent's payloads. */
  schema: JsonRecord.optional(),
  /** Declared on top of the run's policy; it adds, and never loosens. */
  policy: PlacePolicy.optional(),
  /** Places that move in this agent's handoffs: it may declare here what it may declare beside a handoff. */
  moves: Declarations.optional(),
  /** Public JWK (Ed25519 or P-256) that the agent signs its envelopes with. */
  jwk: JsonRecord.optional(),
  /** Refuse an envelope without a signature. */
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
/** How a payload meets the context: `replace` it, `merge` (RFC 7396), or `extend` it, where nothing goes away. */
export type HandoffMode = z.infer<typeof HandoffMode>
/** A place (JSON Pointer; it covers what lies below) that may change though it was established, with the reason that stands on record. */
export type Supersession = z.infer<typeof Supersession>
export type Phase = z.infer<typeof Phase>
export type OnUnknown = z.infer<typeof OnUnknown>
