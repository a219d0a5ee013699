/** @module Answers to auditors' queries: a page of rows as of a size of the tenant's log, for each shape of rows. */
import { z } from 'zod'
import { AccessEntry } from '../events/access-recorded.ts'
import { ExportIssued } from '../events/export-issued.ts'
import { ExportStarted } from '../events/export-started.ts'
import { TokenIssued } from '../events/token-issued.ts'
import { EVENTS } from '../events.ts'
import { MARKS, SUSPECT_STATUSES } from '../marks.ts'
import { Currency, Digest, Name, RunId } from '../names.ts'
import { ROLLBACK_VERDICTS, RUN_STATUSES } from '../run-status.ts'
import { JsonRecord, Uuid } from '../values.ts'
import { Verdict } from '../verdict.ts'
import { Count, list, READ, Revision, Step } from './answer.ts'

const Seal = z.enum(['valid', 'invalid']).optional().describe('Whether the MAC and the digest of the body hold.')
const Links = z.strictObject({
  event: z.string().describe('Path of the event.'),
  proof: z.string().describe('Path of its proof.'),
})

const EVENT_ROW = {
  leaf: Count,
  run: RunId.optional(),
  stream: z.string().optional(),
  revision: Revision,
  type: Name.describe('Type of the event.'),
  time: z.string(),
  actor: Name,
  principal: Name.optional(),
  via: list(Name).optional(),
  clock: z.string().optional(),
  kid: Name,
  agent: Name.optional(),
  tool: Name.optional(),
  call: Uuid.optional().describe('Id of the call.'),
  approval: Uuid.optional().describe('Id of the approval.'),
  reservation: Uuid.optional().describe('Id of the reservation.'),
  compensates: Uuid.optional(),
  provider: Name.optional(),
  model: Name.optional(),
  verdict: Verdict.optional().describe('What the event says of what was asked.'),
  rules: list(z.string()).describe('Rules that refused or warned, and codes of refusals.'),
  marks: list(z.enum(MARKS)).optional().describe('Why an accepted handoff is to be looked at.'),
  event: Uuid.describe('Id of the event.'),
  digest: Digest,
  seal: Seal,
  snippet: z
    .strictObject({
      path: z.string(),
      before: z.string().describe('The text before the match.'),
      match: z.string(),
      after: z.string().describe('The text after the match.'),
    })
    .optional(),
  detail: JsonRecord.describe('Members of the body, without values and payloads.'),
  links: Links,
} as const

const EventRow = z.strictObject(EVENT_ROW)

const Rewind = z.strictObject({
  revision: Revision,
  event: Uuid.describe('Id of the event.'),
  fromStep: Step,
  toStep: Step,
  snapshot: Revision.describe('Revision of the event whose context was restored.'),
  links: Links,
})

const RUN_ROW = {
  run: RunId,
  started: z.string(),
  last: z.string(),
  events: Count.describe('How many events the run has.'),
  firstRevision: Revision,
  lastRevision: Revision,
  missingCount: Count,
  missing: list(Revision),
  status: z.enum(RUN_STATUSES),
  compensation: z.enum(ROLLBACK_VERDICTS).optional(),
  seal: z.literal('invalid').optional().describe('`invalid`: the event that ended the rollback does not verify.'),
  rejections: Count,
  links: z.strictObject({
    run: z.string().describe('Path of the run.'),
    events: z.string().describe('Path of its events.'),
  }),
} as const

const SpendRow = z.strictObject({
  key: z.string().describe('Name of the group: a run, an agent, a model, a day, a month or the tenant.'),
  by: z.string().describe('What is summed by.'),
  tokens: Count,
  cost: z.string(),
  reportedTokens: Count.describe('Those that a provider reported.'),
  reportedCost: z.string().describe('The cost of those.'),
  estimatedTokens: Count.describe('Those of reservations that expired, and of usage that says that it is an estimate.'),
  estimatedCost: z.string().describe('The cost of those.'),
  currency: Currency.nullable(),
  links: RUN_ROW.links.optional(),
})

const KeyRow = z.strictObject({
  kid: Name,
  events: Count.describe('How many events it sealed.'),
  first: z.string(),
  last: z.string(),
  announced: z.string().nullable(),
  retired: z.string().nullable(),
  before: Count.describe('Events that it sealed before it was announced.'),
  after: Count.describe('Events that it sealed after it was retired.'),
})

const READ_ROW = {
  leaf: Count,
  event: Uuid.describe('Id of the event.'),
  type: Name.describe('Type of the event.'),
  links: Links,
}
const EXPORTED = {
  at: z.string().describe('When it was read.'),
  actor: Name,
  principal: Name.optional(),
  query: z.literal('export'),
}
const { v: _, ...STARTED } = ExportStarted.schema.shape
const { v: __, ...ISSUED } = ExportIssued.schema.shape

/** An export is one row; other reads are as many rows as their event lists. */
const AccessRow = z.union([
  AccessEntry.extend({ ...READ_ROW, at: AccessEntry.shape.at.describe('When it was read.') }),
  z.strictObject({ ...EXPORTED, ...STARTED, ...READ_ROW }),
  z.strictObject({ ...EXPORTED, ...ISSUED, ...READ_ROW }),
])

const page = <Row extends z.ZodType>(id: string, row: Row) =>
  z
    .strictObject({
      query: z.string().describe('Name of the query.'),
      items: list(row).describe('The rows.'),
      nextCursor: z.string().nullable(),
      tailCursor: z.string().nullable(),
      asOf: z
        .strictObject({ treeSize: Count, eventId: Uuid.nullable() })
        .describe("The events of the tenant's log that the answer is made from."),
      restsOn: z.enum(['sealed-index', 'word-index']),
      notSearched: list(z.string()).optional(),
      total: Count.optional().describe('How many rows there are on all pages.'),
      ...READ,
    })
    .meta({ id: `Audit${id}` })

const status = <Status extends readonly [string, ...string[]]>(...statuses: Status) =>
  EventRow.extend({ status: z.enum(statuses).describe('Its status.') })

/** The answer of each shape of rows. */
export const AUDIT_ANSWERS = {
  events: page('Events', EventRow),
  rejections: page('Rejections', EventRow.extend({ rewind: Rewind.nullable() })),
  suspects: page(
    'Suspects',
    EventRow.extend({
      status: z.enum(SUSPECT_STATUSES).describe('Its status.'),
      suspects: Count.describe('Count of its changes that nothing explained.'),
      open: Count.describe('Those of them that nothing has explained since and that were not reviewed.'),
    }),
  ),
  'open-calls': page('OpenCalls', status('claimed', 'in-doubt', 'unanswered')),
  'open-reservations': page('OpenReservations', status('open', 'expired')),
  'open-compensations': page('OpenCompensations', EventRow),
  runs: page('Runs', z.strictObject(RUN_ROW)),
  spend: page('Spend', SpendRow),
  keys: page('Keys', KeyRow),
  access: page('Access', AccessRow),
  sample: page('Sample', z.strictObject({ ...RUN_ROW, rank: z.string(), seed: z.string() })),
} as const

/** A record that does not match its schema is shown without the members of its body. */
function serviceRow(type: string, { v: ___, ...shape }: z.ZodRawShape) {
  return z
    .strictObject(shape)
    .partial()
    .extend({ time: z.string(), type: z.literal(type), event: Uuid.describe('Id of the event.'), seal: Seal })
}

const servicePage = (id: string, row: z.ZodType) =>
  z
    .strictObject({
      query: z.string().describe('Name of the query.'),
      items: list(row).describe('The rows, newest first.'),
      nextCursor: z.string().nullable(),
      ...READ,
    })
    .meta({ id: `Audit${id}` })

const HISTORY = Object.entries(EVENTS)
  .filter(([, declared]) => 'ofService' in declared)
  .map(([type, { schema }]) => serviceRow(type, schema.shape))

/** The answers of the queries over the ledger's own record. */
export const SERVICE_ANSWERS = {
  service: servicePage('Service', z.union(HISTORY)),
  tokens: servicePage('Tokens', serviceRow('TokenIssued', TokenIssued.schema.shape)),
} as const
