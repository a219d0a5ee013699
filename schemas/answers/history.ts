/** @module Answers about the history of runs and of the tenant: events, their log, proofs of it, and what does not verify. */
import { z } from 'zod'
import { Header } from '../header.ts'
import { Digest, Name, RunId, Tenant } from '../names.ts'
import { JsonRecord, JsonValue, Uuid } from '../values.ts'
import { type Answer, Count, list, READ, Revision, Time } from './answer.ts'

/** `header`, `salt` and `data` are what the digest and the MAC are made over. */
const EVENT = {
  header: Header.describe('The signed header of the event.'),
  salt: z.string(),
  data: JsonRecord,
  digest: Digest,
  seal: z.enum(['valid', 'invalid']).optional().describe('Whether the MAC and the digest of the body hold.'),
  kept: JsonValue.optional(),
} as const

export const EventAnswer = z.strictObject({ ...EVENT, ...READ }).meta({ id: 'Event' })

export const EventsAnswer = z
  .strictObject({
    items: list(z.strictObject(EVENT)).describe('The sealed records.'),
    nextCursor: z.string().nullable(),
    tailCursor: z.string().nullable(),
    asOf: Uuid.nullable(),
    ...READ,
  })
  .meta({ id: 'Events' })

export const IntegrityAnswer = z
  .strictObject({
    items: list(
      z.strictObject({
        stream: z.string(),
        revision: Revision,
        run: RunId.optional(),
        code: z.string().describe('What does not hold, as `verify` names it.'),
        foundAt: Time,
        pastSince: Time.optional(),
        acknowledged: z.literal(true).optional().describe('Its loss is acknowledged: the log went on past it.'),
      }),
    ).describe('Events that are recorded as broken: at most 1,000.'),
    acknowledged: list(
      z.strictObject({
        stream: z.string(),
        revision: Revision.describe('The first event of the loss.'),
        to: Revision.optional().describe('The last one, as far as it is known.'),
        run: RunId.optional(),
      }),
    )
      .optional()
      .describe('Losses that were acknowledged, the oldest first; absent if there is none.'),
    scrub: z.strictObject({
      days: Count,
      passSince: Time.optional(),
      lastPass: z.strictObject({ startedAt: Time, endedAt: Time, leaves: Count }).optional(),
    }),
    ...READ,
  })
  .meta({ id: 'Integrity' })

const Hash = z.base64()

export const InclusionAnswer = z
  .strictObject({
    index: Count,
    eventId: Uuid,
    stream: z.string(),
    revision: Revision,
    size: Count,
    leafHash: Hash,
    rootHash: Hash,
    proof: list(Hash),
    ...READ,
  })
  .meta({ id: 'InclusionProof' })

export const ConsistencyAnswer = z
  .strictObject({
    from: Count.describe('Size of the smaller tree.'),
    to: Count.describe('Size of the larger tree.'),
    fromRootHash: Hash,
    toRootHash: Hash,
    proof: list(Hash),
    ...READ,
  })
  .meta({ id: 'ConsistencyProof' })

export const TimestampAnswer = z
  .strictObject({
    size: Count,
    authority: z.string(),
    time: z.string().describe('The time that the authority stated.'),
    policy: z.string().describe('Object identifier of the policy of the authority.'),
    serial: z.string(),
    treeSize: Count,
    checkpoint: z.string(),
    reply: z.base64(),
    consistency: list(Hash),
    ...READ,
  })
  .meta({ id: 'Timestamp' })

export const SuccessionsAnswer = list(z.string()).meta({ id: 'Successions' })

/** The file that `countersign verify --run-key` reads. */
export const RunKeysAnswer = z
  .strictObject({
    v: z.literal(1),
    ledgerId: z.string(),
    tenant: Tenant,
    run: RunId,
    stream: z.string(),
    keys: list(z.strictObject({ kid: Name, key: z.string().describe('The key, base64url.') })).describe(
      'One for each key id that sealed an event of the run.',
    ),
    ...READ,
  })
  .meta({ id: 'RunKeys' })

/** One sealed event: its signed header, its body, and its digest (`sha256:` and 64 hex digits). */
export type EventAnswer = Answer<typeof EventAnswer>
export type IntegrityAnswer = Answer<typeof IntegrityAnswer>
export type InclusionAnswer = Answer<typeof InclusionAnswer>
export type ConsistencyAnswer = Answer<typeof ConsistencyAnswer>
export type TimestampAnswer = Answer<typeof TimestampAnswer>
export type RunKeysAnswer = Answer<typeof RunKeysAnswer>
