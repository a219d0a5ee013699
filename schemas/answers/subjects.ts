/** @module Answers about a data subject and its erasure (LIFE-6, LIFE-7). */
import { z } from 'zod'
import { Count, READ } from './answer.ts'

const KeyIds = z.array(z.string())
const Counts = z
  .strictObject({
    runs: Count.describe('Runs with such an event.'),
    events: Count.describe('Events in which something is encrypted under these keys.'),
    values: Count.describe('Values that are encrypted in them.'),
  })
  .describe('What is encrypted under these keys.')

export const ErasureAnswer = z
  .strictObject({
    status: z
      .enum(['erased', 'waiting', 'nothing'])
      .describe('`waiting`: for the end of open runs; `nothing`: no key exists, as nothing is kept or it was erased.'),
    request: z.string().optional().describe('Id of the recorded request.'),
    keyIds: KeyIds.describe('Ids of the keys that are, or will be, destroyed.'),
    counts: Counts.optional(),
    openRuns: z
      .array(z.string())
      .describe(
        'Open runs that it waits for, or, with `now`, that lost their values: they cannot be resumed with them.',
      ),
  })
  .meta({ id: 'Erasure' })

const Key = z.strictObject({
  id: z.string().describe('Id of the key.'),
  state: z.enum(['open', 'closing']).describe('`closing`: to be destroyed.'),
})

const Item = z.strictObject({
  run: z.string().describe('The run of the event.'),
  revision: Count.describe('Its revision.'),
  type: z.string().describe('Its type.'),
  key: z.string().describe('Id of the key that something in it is encrypted under.'),
  values: Count.describe('How many values that is.'),
  places: z.array(z.string()).describe('The first of their places in the body, as JSON Pointers.'),
})

export const SubjectAnswer = z
  .strictObject({
    keys: z.array(Key).describe('Keys of the subject that exist.'),
    counts: Counts,
    items: z.array(Item).describe('Where something of the subject is encrypted: the first 1,000.'),
    ...READ,
  })
  .meta({ id: 'Subject' })

export type ErasureAnswer = z.infer<typeof ErasureAnswer>
export type SubjectAnswer = z.infer<typeof SubjectAnswer>
