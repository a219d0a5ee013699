/** @module The type of answers: JSON whose schema is declared once for the ledger, its HTTP API and its clients. */
import { z } from 'zod'
import { Losses } from '../loss-schema.ts'
import type { Plain } from '../plain.ts'

export type Answer<S extends z.ZodType> = Plain<z.output<S>>

/** A list that must not be changed. */
export const list = <Item extends z.ZodType>(item: Item) => z.array(item).readonly()

/** Member of every answer to a read: known losses of its run, of the tenant or of the store. */
export const READ = { losses: Losses.optional() } as const
