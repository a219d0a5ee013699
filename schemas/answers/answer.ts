/** @module What an answer is: JSON whose schema is declared once, for the ledger, its HTTP API and whoever reads it. */
import { z } from 'zod'
import { Losses } from '../loss-schema.ts'
import type { Plain } from '../plain.ts'

export type Answer<S extends z.ZodType> = Plain<z.output<S>>

/** A list that nobody changes. */
export const list = <Item extends z.ZodType>(item: Item) => z.array(item).readonly()

/** Of every answer to a read: what is known to be lost of its run, of the tenant or of the store. */
export const READ = { losses: Losses.optional() } as const
