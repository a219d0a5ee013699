/** @module The type of answers: JSON whose schema is declared once for the ledger, its HTTP API and its clients. */
import { z } from 'zod'
import { Losses } from '../loss-schema.ts'
import { Digest, Name, RunId } from '../names.ts'
import type { Plain } from '../plain.ts'
import { Redacted } from '../redaction.ts'

export type Answer<S extends z.ZodType> = Plain<z.output<S>>

/** A list that must not be changed. */
export const list = <Item extends z.ZodType>(item: Item) => z.array(item).readonly()

export const Count = z.int().min(0)
export const Revision = z.int().min(0)
export const Step = z.int().min(0)
export const Time = z.iso.datetime()

/** Member of every answer to a read: known losses of its run, of the tenant or of the store. */
export const READ = { losses: Losses.optional() } as const

/** Members of every answer to a command: the event that records it, and what that event lacks of what was sent. */
export const RECORDED = { runId: RunId, revision: Revision, digest: Digest, redacted: Redacted.optional() } as const

const Cursor = z.string().nullable()

/** A page of a list of one run; `asOf` is the revision of the run. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.strictObject({ items: list(item), nextCursor: Cursor, asOf: Revision.describe('Revision of the run.'), ...READ })

/** Members of a page over the runs of a tenant; runs that cannot be read are named. */
export const OVER_RUNS = {
  nextCursor: Cursor,
  unreadable: list(z.strictObject({ runId: z.string(), code: z.string(), detail: z.string() })).optional(),
  ...READ,
} as const

/** The parties that a token names. */
export const PERSON = { actor: Name, principal: Name.optional(), via: list(Name).optional() } as const
