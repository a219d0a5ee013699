/** @module Waits of a run for a signal from outside, or for a time; and the signals (RUN-66 to RUN-71). */
import { z } from 'zod'
import { Name } from './names.ts'
import { WAIT_MAX_MS } from './value-forms.ts'
import { JsonRecord, JsonValue, Scope, Uuid } from './values.ts'

/** Signals that a run holds for waits to come. */
export const SIGNALS_HELD_MAX = 256
/** Waits of a run that have not ended. */
export const WAITS_OPEN_MAX = 256

/** Where somebody may say what to do with a signal that no wait is there for: `hold` it for one to come (the default), or `refuse` it. */
export const SIGNAL_POLICIES = ['hold', 'refuse'] as const
export const SignalPolicy = z.enum(SIGNAL_POLICIES)

const Until = z.iso
  .datetime({ offset: true, error: 'takes a time such as 2026-01-31T12:00:00Z', abort: true })
  .max(64)
  .refine((text) => !Number.isNaN(Date.parse(text)), 'takes a time such as 2026-01-31T12:00:00Z')

/** Each wait has its place: the same place requested again is the same wait, with what it was given first. */
export const StartWait = z
  .strictObject({
    /** Of the signal. Absent: only time ends the wait. */
    name: Name.optional(),
    /** When the wait is over in any case: RFC 3339. */
    until: Until.optional(),
    /** The same, in milliseconds from the start of the wait, by the ledger's clock. */
    forMs: z.int().min(0).max(WAIT_MAX_MS).optional(),
    /** JSON Schema (2020-12) that the signal's payload has to fit. */
    schema: JsonRecord.optional(),
    scope: Scope.optional(),
    occurrence: z.int().min(0).optional(),
    /** The call in whose tool it is requested. */
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
