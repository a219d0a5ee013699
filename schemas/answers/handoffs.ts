/** @module Answers about handoffs: their verdicts, findings and judgements, the manifests of agents, and suspects. */
import { z } from 'zod'
import { EnvelopeAccepted } from '../events/envelope-accepted.ts'
import { EnvelopeRejected } from '../events/envelope-rejected.ts'
import { Finding } from '../finding.ts'
import { Digest, Name, RunId } from '../names.ts'
import { HandoffMode, JsonRecord, JsonValue, JUDGEMENT, ManifestBody, REVIEW, SuspectId, Uuid } from '../values.ts'
import { type Answer, Count, list, OVER_RUNS, PERSON, pageOf, READ, RECORDED, Revision, Step, Time } from './answer.ts'

export const EnvelopeAnswer = z
  .strictObject({
    ...RECORDED,
    step: Step,
    agent: Name,
    mode: HandoffMode,
    parent: Digest,
    contextDigest: Digest,
    confidence: z.number().optional(),
    findings: list(Finding).describe('Warnings: an error would have refused the handoff.'),
    suspectsTotal: Count.optional(),
    suspectsClosed: EnvelopeAccepted.schema.shape.suspectsClosed.describe(
      'Suspects that are now explained, and by what.',
    ),
  })
  .meta({ id: 'Handoff' })

export const JudgementAnswer = z
  .strictObject({ ...RECORDED, step: JUDGEMENT.step, verdict: JUDGEMENT.verdict })
  .meta({ id: 'Judgement' })

export const RewoundAnswer = z
  .strictObject({
    ...RECORDED,
    fromStep: Step,
    toStep: Step,
    contextDigest: Digest,
    context: JsonRecord,
    callsSince: list(Uuid),
    parent: z.string(),
  })
  .meta({ id: 'Rewound' })

/** The event that holds an item, and who wrote it. */
const PLACE = { revision: Revision, time: Time, eventId: Uuid, actor: Name } as const

const { v: _, ...ACCEPTED } = EnvelopeAccepted.schema.shape
const { v: __, ...REJECTED } = EnvelopeRejected.schema.shape

export const EnvelopesAnswer = pageOf(
  z.union([
    z.strictObject({ ...PLACE, accepted: z.literal(true), ...ACCEPTED }),
    z.strictObject({ ...PLACE, accepted: z.literal(false), ...REJECTED }),
  ]),
).meta({ id: 'Handoffs' })

export const FindingsAnswer = pageOf(
  z.strictObject({ ...PLACE, agent: Name, accepted: z.boolean(), findings: list(Finding) }),
).meta({ id: 'Findings' })

export const ManifestAnswer = z.strictObject({ ...RECORDED, agent: Name, hash: Digest }).meta({ id: 'Registered' })

export const ManifestsAnswer = z
  .strictObject({
    items: list(
      z.strictObject({
        agent: Name,
        hash: Digest,
        revision: Revision,
        setBy: z.strictObject({ actor: Name, principal: Name.optional() }),
        manifest: ManifestBody,
      }),
    ),
    ...READ,
  })
  .meta({ id: 'Manifests' })

/** The entry with an empty `path` represents all suspects of a handoff that are not listed. */
const Suspect = z.strictObject({
  runId: RunId,
  runName: Name,
  id: SuspectId,
  step: Step,
  revision: Revision,
  eventId: Uuid,
  agent: Name,
  by: z.strictObject(PERSON).describe('Who handed it over.'),
  count: Count,
  path: z.string(),
  rule: z.string().optional(),
  before: JsonValue.optional(),
  after: JsonValue.optional(),
  message: z.string().optional(),
  supersede: Finding.shape.supersede.describe('Entry for `supersedes` that would explain it, once it has a reason.'),
  declare: Finding.shape.declare.describe('Entry for `moves` that would explain it, once it has a reason.'),
})

export const SuspectsAnswer = pageOf(Suspect).extend({ total: Count }).meta({ id: 'Suspects' })
export const OpenSuspectsAnswer = z.strictObject({ items: list(Suspect), ...OVER_RUNS }).meta({ id: 'OpenSuspects' })

export const ReviewAnswer = z
  .strictObject({
    ...RECORDED,
    ...REVIEW,
    suspects: list(SuspectId).describe('Ids of the suspects.'),
    by: Name.describe('Who decided.'),
    step: Step,
    contextDigest: Digest,
    openSuspects: Count,
  })
  .meta({ id: 'Review' })

/** The accepted handoff, with warnings of the validator in `findings`. */
export type EnvelopeAnswer = Answer<typeof EnvelopeAnswer>
export type JudgementAnswer = Answer<typeof JudgementAnswer>
export type RewoundAnswer = Answer<typeof RewoundAnswer>
export type ManifestAnswer = Answer<typeof ManifestAnswer>
export type ManifestsAnswer = Answer<typeof ManifestsAnswer>
export type ReviewAnswer = Answer<typeof ReviewAnswer>
