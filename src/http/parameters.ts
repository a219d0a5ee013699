/**
 * @module Parameters of a request other than its path and body: query parameters, each at most once and none unknown, and the headers If-Match, If-None-Match,
 * Idempotency-Key, Prefer and traceparent.
 */
import { z } from 'zod'
import { parseJson } from '../../schemas/json.ts'
import { PER_TENANT_MAX, TRACEPARENT_PATTERN } from '../../schemas/value-forms.ts'
import { jsonPointer } from '../signing/json-error.ts'
import { errorsText, type SchemaError, schemaErrors } from '../signing/schema-errors.ts'
import { type Problem, problem } from './problems.ts'

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem }

export const PAGE_DEFAULT = 100
const PAGE_MAX = 500
const TEXT_MAX_CHARS = 256

/** A whole number in a query. */
export const Whole = z
  .string()
  .regex(/^\d{1,15}$/, 'takes a whole number')
  .transform(Number)

/** A size of a log, in events; at least 1. */
export const Positive = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, 'takes a whole number from 1')
  .transform(Number)

/** Runs of a tenant that workers carry at a time; at most `PER_TENANT_MAX`. */
export const PerTenant = z
  .string()
  .regex(/^(?:[1-9]\d{0,4}|100000)$/, `takes a whole number from 1 to ${PER_TENANT_MAX}`)
  .transform(Number)

/** Items of one page; values above `PAGE_MAX` are reduced to it. */
export const Limit = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, `takes a whole number from 1; a page has at most ${PAGE_MAX} items`)
  .transform((text) => Math.min(Number(text), PAGE_MAX))

export const Text = z.string().min(1).max(TEXT_MAX_CHARS)
export const CursorText = z.string().regex(/^[A-Za-z0-9_-]{1,2048}$/, 'takes a cursor exactly as it was returned')

const LIST_MAX = 64
const LIST_MAX_CHARS = 8192

/** Texts as a JSON array. */
const textsFrom = (least: 0 | 1) => {
  const texts = z.array(Text).min(least).max(LIST_MAX)
  return z
    .string()
    .max(LIST_MAX_CHARS)
    .transform((text, check) => {
      const parsed = texts.safeParse(jsonOf(text))
      if (parsed.success) return parsed.data
      check.addIssue({ code: 'custom', message: `takes a JSON array of ${least} to ${LIST_MAX} texts` })
      return z.NEVER
    })
}

/** 1 to 64 texts. */
export const TextList = textsFrom(1)
/** Up to 64 texts. */
export const AnyTexts = textsFrom(0)

function jsonOf(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}

/** Query of one item of a run: as of a size of the log, or as it is now. */
export const AsOfQuery = z.strictObject({ asOf: Positive.optional() })

/** A schema without members: no query parameter is accepted. */
export const NoQuery = z.strictObject({})

export function parseQuery<T extends z.ZodObject>(schema: T, search: string): Parsed<z.output<T>> {
  const params: Record<string, string> = Object.create(null)
  const faults: SchemaError[] = []
  for (const [name, value] of new URLSearchParams(search)) {
    if (!Object.hasOwn(schema.shape, name)) faults.push(faultOf(name, 'there is no such parameter'))
    else if (Object.hasOwn(params, name)) faults.push(faultOf(name, 'give it once'))
    else params[name] = value
  }
  if (faults.length > 0) return refused(faults)
  const checked = schema.safeParse({ ...params })
  return checked.success ? { ok: true, value: checked.data } : refused(schemaErrors(checked.error))
}

function faultOf(name: string, message: string): SchemaError {
  return { pointer: jsonPointer([name]), message }
}

function refused(errors: readonly SchemaError[]): Parsed<never> {
  return {
    ok: false,
    problem: problem('invalid-query', errorsText(errors), { evidence: { errors: errors.slice(0, 20) } }),
  }
}

/** RFC 9110 section 8.8.3: an opaque tag in quotes, preceded by `W/` if it is weak. */
const ENTITY_TAG = /^(W\/)?("[\x21\x23-\x7e\x80-\xff]*")$/
const REVISION_TAG = /^"(0|[1-9]\d{0,14})"$/

const IDEMPOTENCY_KEY_MAX_CHARS = 256
/** Maximum number of seconds that a claim waits for the outcome of the call it repeats. */
const WAIT_MAX_SECONDS = 30

/**
 * The revision that `If-Match` requires. Undefined if it requires none: the header is absent or `*`, which requires that the run exists, as every command does
 * anyway. `'never'` if no revision can match: the tag is weak or not one of ours.
 */
export function parseIfMatch(header: string | undefined): Parsed<number | 'never' | undefined> {
  if (header === undefined || header.trim() === '*') return { ok: true, value: undefined }
  const tags = header.split(',').map((tag) => ENTITY_TAG.exec(tag.trim()))
  if (tags.includes(null))
    return invalidHeader('if-match', 'send the entity tag of the run exactly as it was returned, quotes included')

  const revisions = tags.flatMap((tag) => REVISION_TAG.exec(tag?.[1] === undefined ? (tag?.[2] ?? '') : '')?.[1] ?? [])
  if (revisions.length > 1) return invalidHeader('if-match', 'send one entity tag: a run has one revision to build on')
  return { ok: true, value: revisions[0] === undefined ? 'never' : Number(revisions[0]) }
}

/** Weak comparison (RFC 9110 section 13.1.2). A malformed header matches nothing. */
export function etagMatches(header: string, current: string): boolean {
  if (header.trim() === '*') return true
  return header.split(',').some((tag) => ENTITY_TAG.exec(tag.trim())?.[2] === current)
}

const QUOTED_KEY = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/
const BARE_KEY = /^[\x21\x23-\x2b\x2d-\x7e](?:[\x20-\x2b\x2d-\x7e]*[\x21-\x2b\x2d-\x7e])?$/

/**
 * Takes a structured-field string, or the same characters without quotes, as many clients send them; both denote the same key. A key with a comma must be
 * quoted: two headers of this name are joined with a comma (RFC 9110 section 5.3), and would form a key that neither sender meant.
 */
export function parseIdempotencyKey(header: string | undefined): Parsed<string | undefined> {
  if (header === undefined) return { ok: true, value: undefined }
  const text = header.trim()
  const key = QUOTED_KEY.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1') ?? BARE_KEY.exec(text)?.[0]
  if (key !== undefined && key.length >= 1 && key.length <= IDEMPOTENCY_KEY_MAX_CHARS) return { ok: true, value: key }
  return invalidHeader(
    'idempotency-key',
    `a key is 1 to ${IDEMPOTENCY_KEY_MAX_CHARS} printable ASCII characters, in quotes where it has a comma; the header is sent once`,
  )
}

/** Seconds of `Prefer: wait=20` (RFC 7240 section 4.3), capped; undefined if the header has no usable preference. */
export function preferredWaitSeconds(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const seconds = /(?:^|[,;])\s*wait\s*=\s*(\d{1,6})\s*(?:$|[,;])/i.exec(header)?.[1]
  return seconds === undefined ? undefined : Math.min(Number(seconds), WAIT_MAX_SECONDS)
}

/** W3C Trace Context: an invalid header is treated as absent. */
export function validTraceparent(header: string | undefined): string | undefined {
  return header !== undefined && TRACEPARENT_PATTERN.test(header) ? header : undefined
}

function invalidHeader(header: string, detail: string): { readonly ok: false; readonly problem: Problem } {
  return { ok: false, problem: problem('invalid-header', detail, { evidence: { header } }) }
}
