/** @module Answers about the server itself, to callers without a token; and the outcome of a batch of commands. */
import { z } from 'zod'
import { JsonRecord } from '../values.ts'
import { type Answer, Count, list } from './answer.ts'

export const HealthAnswer = z
  .strictObject({
    status: z.literal('ok').describe('The process answers.'),
    version: z.string().describe('Version of the ledger.'),
  })
  .meta({ id: 'Health' })

export const ReadinessAnswer = z
  .strictObject({
    status: z.literal('ready').describe('Requests are served.'),
    store: z.literal('ready').describe('State of the store.'),
    building: list(
      z.strictObject({ name: z.string().describe('Name of the index.'), indexedEvents: Count, percent: z.number() }),
    ).optional(),
    losses: list(
      z.strictObject({ scope: z.literal('tenant'), tenant: z.string().optional(), code: z.string() }),
    ).optional(),
    brokenEvents: Count.optional(),
    timestamps: z
      .strictObject({
        late: z.boolean(),
        dueSince: z.string(),
        lastFailure: z
          .strictObject({
            at: z.string().describe('When it failed.'),
            code: z.string().describe('Code of the failure.'),
          })
          .optional(),
      })
      .optional(),
  })
  .meta({ id: 'Readiness' })

/** RFC 7517. */
export const KeySetAnswer = z
  .strictObject({ keys: list(JsonRecord).describe('Public keys, as JWKs (RFC 7517).') })
  .meta({ id: 'KeySet' })

export const ProblemTextAnswer = z
  .strictObject({ type: z.string(), code: z.string(), title: z.string(), status: z.int(), remedy: z.string() })
  .meta({ id: 'ProblemText' })

export const BatchAnswers = z
  .strictObject({
    items: list(
      z.strictObject({
        status: z.int().describe('HTTP status that the command would have had alone.'),
        body: JsonRecord.describe('Body that the command would have had alone: its answer, or a problem.'),
        revision: Count.optional().describe(
          'Of the last event of the run after a refusal, which records it if it is recorded: the entity tag alone.',
        ),
      }),
    ).describe('One answer for each command, in their order.'),
  })
  .meta({ id: 'Batch' })

export type ReadinessAnswer = Answer<typeof ReadinessAnswer>
