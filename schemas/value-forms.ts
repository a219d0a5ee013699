/** @module Forms and limits of values, without a schema library: schemas are made of them, and the client package checks by them. */

export const RUN_ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/
export const RUN_ID_FORM = 'a run id is 1 to 128 of A-Z, a-z, 0-9, _, . and -, and starts with a letter or digit'

/** Longest free string of a header or a name, in UTF-16 code units. */
export const NAME_MAX_CHARS = 256
/** Longest key that a caller may give a call. */
export const KEY_MAX_CHARS = 512
/** Longest path of a place in a run's code. */
export const SCOPE_MAX_CHARS = 1024
/** Most branches of one fork: each has a receipt in the one write that joins them. */
export const BRANCHES_MAX = 64
/** Last millisecond of the year 9999, in UTC: recorded times have four digits for the year. */
export const LATEST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
export const WAIT_MAX_MS = 10 * 366 * 24 * 60 * 60_000
/** Entries of `supersedes` of one handoff, and keys that a manifest lists. */
export const SUPERSESSIONS_MAX = 256
export const MANIFEST_KEYS_MAX = 256
export const TASK_MAX_CHARS = 16_384
/** Places that one handoff declares. */
export const DECLARATIONS_MAX = 64
/** Of a path or a reason in a handoff. */
export const HANDOFF_TEXT_MAX_CHARS = 4096
/** Shortest and longest lease that a claim may ask for, in milliseconds. */
export const LEASE_MIN_MS = 100
export const LEASE_MAX_MS = 10 * 60_000
/** Shortest and longest time that other workers leave a run alone after each event of the one that carries it, in milliseconds. */
export const HOLD_MIN_MS = 1_000
export const HOLD_MAX_MS = 60 * 60_000
/** Most runs of a tenant that a limit of workers can allow at the same time. */
export const PER_TENANT_MAX = 100_000
/** Longest time that no worker takes a run that is stuck, in milliseconds. */
export const RETRY_MAX_MS = 24 * 60 * 60_000
export const RESERVATION_DEADLINE_MAX_MS = 24 * 60 * 60_000
/** Most people whose yes an approval may take. */
export const QUORUM_MAX = 16
/** Rules on approvals that one policy has. */
export const APPROVAL_RULES_MAX = 32
export const APPROVAL_EXPIRES_MIN_MS = 1_000
export const APPROVAL_EXPIRES_MAX_MS = 366 * 24 * 60 * 60_000
export const APPROVAL_REASON_MAX_CHARS = 1024
export const APPROVAL_ROLES_MAX = 64
export const TAGS_MAX = 64
/** Most tokens one message may claim: sums of millions of them stay exact in a double. */
export const TOKENS_MAX = 1_000_000_000
/** Of what somebody says with a decision. */
export const COMMENT_MAX_CHARS = 4096
export const MONEY_MAX_CHARS = 20
/** Decimal money of at most 18 digits with at most 9 after the point. */
export const MONEY_PATTERN = /^(?=(?:\.?\d){1,18}$)(0|[1-9]\d{0,8})(\.\d{1,9})?$/
/** ISO 4217 form. */
export const CURRENCY_PATTERN = /^[A-Z]{3}$/
/** W3C Trace Context, version 00. */
export const TRACEPARENT_PATTERN = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
/** The rule set that handoffs are judged by. */
export const RULES_NOW = 2
/** Of the snapshot in a SnapshotTaken: as of the event before it. */
export const SNAPSHOT_VERSION = 1
/** Of the one in an EnvelopeAccepted: as of that event. */
export const HANDOFF_SNAPSHOT_VERSION = 2
/** Open calls and reservations that a handoff's snapshot lists; beyond them it counts: a handoff does not grow with the number of open ones. */
export const SNAPSHOT_OPEN_MAX = 100
/** Longest TimeStampResp that is read and recorded (RFC 3161, section 2.4.2): with a chain of certificates it has 2 to 7 KiB. */
export const TIMESTAMP_REPLY_MAX_BYTES = 16 * 1024

export function isMoney(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MONEY_MAX_CHARS && MONEY_PATTERN.test(value)
}

export function isCurrency(value: unknown): value is string {
  return typeof value === 'string' && CURRENCY_PATTERN.test(value)
}

/** Whether a usage may count so many tokens. */
export function isTokens(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= TOKENS_MAX
}

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.length > 0 && value.length <= NAME_MAX_CHARS
}

const USAGE_FORMS: Readonly<Record<string, (value: unknown) => boolean>> = {
  tokens: isTokens,
  inputTokens: isTokens,
  outputTokens: isTokens,
  cachedInputTokens: isTokens,
  cacheWriteTokens: isTokens,
  cost: isMoney,
  currency: isCurrency,
  provider: isName,
  model: isName,
  estimated: (value) => typeof value === 'boolean',
}

/** Whether a value fits `Usage` of `values.ts`; members that are undefined count as absent. A property test holds the two together. */
export function isUsage(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const members = Object.entries(value)
  return (
    'tokens' in value &&
    isTokens(value.tokens) &&
    members.every(
      ([name, member]) =>
        Object.hasOwn(USAGE_FORMS, name) && (member === undefined || USAGE_FORMS[name]?.(member) === true),
    )
  )
}

/** Bytes of a value's canonical text (RFC 8785) that any ledger takes at most; what one takes is a setting of its own. */
export const VALUE_CEILING_BYTES = 64 * 1024 * 1024
/** Of canonical text, where the ledger does not say otherwise: a larger value is refused. */
export const VALUE_MAX_BYTES = 8 * 1024 * 1024
/** Up to here a value may stand in its event: with the event's other members it fits an append of every store. */
export const INLINE_CEILING_BYTES = 512 * 1024
/** Canonical text of a signal's payload, in bytes: what is larger is handed over as where it is kept. */
export const SIGNAL_MAX_BYTES = 64 * 1024

/** Kinds in which a place of a context may move. */
export const MOVE_KINDS = [
  'counter',
  'clock',
  'gauge',
  'cursor',
  'done',
  'state',
  'log',
  'derived',
  'text',
  'free',
] as const

/** Frameworks whose bookkeeping a policy may name as a preset. */
export const PRESET_NAMES = ['langgraph', 'openai-agents', 'ai-sdk', 'crewai', 'autogen'] as const
export type PresetName = (typeof PRESET_NAMES)[number]

/** Top-level keys of the context that must not vanish, whatever they hold. */
export const DEFAULT_CRITICAL_KEYS: readonly string[] = ['entities', 'actions', 'facts', 'constraints', 'requirements']

/** Maximum length of a policy's JSON text. */
export const POLICY_MAX_CHARS = 32 * 1024
/** Places that one member of a policy names. */
export const PLACES_MAX = 256
export const INVARIANTS_MAX = 32
/** Tools that a policy trusts less than others. */
export const TRUSTED_TOOLS_MAX = 256
/** Roles that may supersede. */
export const SUPERSEDE_ROLES_MAX = 64
export const SUPERSEDE_REASON_MAX_CHARS = 1024
/** Members that together identify the objects of a list. */
export const LIST_KEYS_MAX = 4
export const PLACE_MAX_CHARS = 512
export const PLACE_MAX_DEPTH = 32
/** A JSON Pointer (RFC 6901) below the whole. */
export const PLACE_PATTERN = /^(?:\/(?:[^~/]|~[01])*)+$/

/** Whether a text names places of a context: a JSON Pointer below the whole, in which `*` matches any key or list member. */
export function isPlacePointer(text: string): boolean {
  return text.length <= PLACE_MAX_CHARS && PLACE_PATTERN.test(text) && text.split('/').length - 1 <= PLACE_MAX_DEPTH
}
