/** @module A time that a caller gives in a query, a body or an option. */
import { z } from 'zod'
import { LATEST_MS } from './value-forms.ts'

const FORM = 'takes a time such as 2026-01-31T12:00:00Z'
const RANGE = 'takes a time of the years 0 to 9999 in UTC, such as 2026-01-31T12:00:00Z'
const EARLIEST_MS = Date.parse('0000-01-01T00:00:00Z')

/** A year of more than four digits, as ISO 8601 writes it with a sign. */
const isFar = (input: unknown): boolean => typeof input === 'string' && /^[+-]?\d{5,}-\d\d-\d\dT/.test(input)

/** RFC 3339 in any zone. In UTC its year has four digits, so that times compare as texts. */
export const GivenTime = z.iso
  .datetime({ offset: true, error: ({ input }) => (isFar(input) ? RANGE : FORM), abort: true })
  .max(64)
  .refine((text) => !Number.isNaN(Date.parse(text)), { error: FORM, abort: true })
  .refine((text) => Date.parse(text) >= EARLIEST_MS && Date.parse(text) <= LATEST_MS, RANGE)
