/**
 * @module What an auditor asks of events: members from this list alone, each optional, combined by AND. The same query is asked over
 * HTTP, on the command line, in exports and by the dashboard, and stands in the manifest of what was exported.
 */
import { z } from 'zod'
import { EVENTS } from './events.ts'
import { Name, RunId } from './names.ts'
import { Verdict } from './verdict.ts'

/** Longest search text, and most words in it. */
export const SEARCH_MAX_CHARS = 256
export const SEARCH_MAX_TERMS = 16

/** RFC 3339 in any zone, as UTC with milliseconds: text order is time order. */
export const Instant = z.iso
  .datetime({ offset: true })
  .max(64)
  .refine((text) => !Number.isNaN(Date.parse(text)), 'takes a time such as 2026-01-31T12:00:00Z')
  .transform((text) => new Date(text).toISOString())

/** A misspelt type would find nothing and say so with a straight face. */
const Type = z.string().refine((type) => Object.hasOwn(EVENTS, type), 'takes types of events such as EnvelopeRejected')

const members = {
  run: RunId.optional(),
  /** Who wrote it: the header's `actor`. */
  actor: Name.optional(),
  /** In whose name: the header's `principal`, or its `actor` where nobody else stands behind it. */
  principal: Name.optional(),
  /** The agent that the body names; of an outcome, that of its call. */
  agent: Name.optional(),
  /** The tool that the body names; of an outcome, that of its call. */
  tool: Name.optional(),
  /** Every event of one call, by its id. */
  call: z.uuid().optional(),
  /** Rule of a finding, or code of a refusal. */
  rule: Name.optional(),
  verdict: Verdict.optional(),
  provider: Name.optional(),
  model: Name.optional(),
  /** Id of the key that sealed it. */
  kid: Name.optional(),
  /** By the header's `time`, inclusive. */
  since: Instant.optional(),
  /** By the header's `time`, exclusive. */
  until: Instant.optional(),
  /** Words that all stand in the body's texts; words in double quotes stand together. */
  text: z.string().min(1).max(SEARCH_MAX_CHARS).optional(),
}

/** As JSON: in a manifest, and from code. */
export const EventQuery = z.strictObject({ ...members, types: z.array(Type).min(1).max(32).optional() })

/** As parameters of a URL and as flags: `types` is a list with commas. */
export const EventQueryParams = z.strictObject({
  ...members,
  types: z
    .string()
    .max(1_024)
    .transform((list) => list.split(','))
    .pipe(z.array(Type).min(1).max(32))
    .optional(),
})

export type EventQuery = z.infer<typeof EventQuery>
