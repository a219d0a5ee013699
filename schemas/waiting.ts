/** @module Requests for a run's waits, which end by a signal from outside or at a time, and for signals (RUN-66 to RUN-71). */
import { z } from 'zod'
import { Name } from './names.ts'
import { LATEST_MS, WAIT_MAX_MS } from './value-forms.ts'
import { JsonRecord, JsonValue, Scope, Uuid } from './values.ts'

/** Maximum number of signals that a run holds for later waits. */
export const SIGNALS_HELD_MAX = 256
/** Maximum number of open waits of a run. */
export const WAITS_OPEN_MAX = 256

/** What to do with a signal that no wait expects: `hold` it for a later wait (the default), or `refuse` it. */
export const SIGNAL_POLICIES = ['hold', 'refuse'] as const
export const SignalPolicy = z.enum(SIGNAL_POLICIES)

/** RFC 3339 in any zone. Recorded times are in UTC and of four digits for the year, so that they compare as texts. */
export const Until = z.iso
  .datetime({ offset: true, error: 'takes a time such as 2026-01-31T12:00:00Z', abort: true })
  .max(64)
  .refine((text) => !Number.isNaN(Date.parse(text)), 'takes a time such as 2026-01-31T12:00:00Z')
  .refine((text) => !(Date.parse(text) > LATEST_MS), 'takes a time up to 9999-12-31T23:59:59.999Z, in UTC')

/** A wait is identified by its place in the code: the same place requested again is the same wait, with the parameters of the first request. */
export const StartWait = z
  .strictObject({
    /** Name of the signal. Absent: only time ends the wait. */
    name: Name.optional(),
    /** Time at which the wait ends at the latest; RFC 3339. */
    until: Until.optional(),
    /** As `until`, in milliseconds from the start of the wait by the ledger's clock. */
    forMs: z.int().min(0).max(WAIT_MAX_MS).optional(),
    /** JSON Schema (2020-12) for the signal's payload. */
    schema: JsonRecord.optional(),
    scope: Scope.optional(),
    occurrence: z.int().min(0).optional(),
    /** The call in whose tool the wait is requested. */
    parentCall: Uuid.optional(),
    runFence: z.int().min(1).optional(),
  })
  .refine(({ until, forMs }) => until === undefined || forMs === undefined, {
    message: 'until and forMs say the same thing: name one of them',
    path: ['forMs'],
  })
  .refine(({ name, until, forMs }) => (name ?? until ?? forMs) !== undefined, {
    message: 'a wait is for a signal (name), for a time (until, forMs), or for whichever comes first',
    path: ['name'],
  })
  .refine(({ name, schema }) => name !== undefined || schema === undefined, {
    message: 'a schema is for the payload of a signal: name it',
    path: ['schema'],
  })

export const SendSignal = z.strictObject({ payload: JsonValue.optional() })

export type SignalPolicy = z.infer<typeof SignalPolicy>
export type StartWait = z.infer<typeof StartWait>
export type SendSignal = z.infer<typeof SendSignal>
