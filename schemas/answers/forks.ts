/** @module Answers about forks, the reports of their branches, and their joins. */
import { z } from 'zod'
import { ForkJoined } from '../events/fork-joined.ts'
import { Finding } from '../finding.ts'
import { BranchStatus, ForkBranch, JoinStrategy, OnDiscard } from '../fork.ts'
import { Digest, Name } from '../names.ts'
import { Failure, JsonRecord, Uuid } from '../values.ts'
import { type Answer, list, pageOf, RECORDED, Revision, Step } from './answer.ts'

const Branch = ForkBranch.extend({
  status: z.enum(['running', 'offered', ...BranchStatus.options]).describe('Status of the branch.'),
  revision: Revision.optional(),
  report: Digest.optional(),
  output: Digest.optional().describe('Digest of what the branch handed over.'),
  confidence: z.number().optional(),
  score: z.number().optional(),
})

const { outcome, receipts, receipt } = ForkJoined.schema.shape

const FORK = {
  forkId: Uuid,
  status: z.enum(['open', ...outcome.options]).describe('`open`, or how it was joined.'),
  agent: Name,
  join: JoinStrategy,
  onDiscard: OnDiscard,
  step: Step,
  contextDigest: Digest,
  parent: Digest,
  startedRevision: Revision,
  joinRevision: Revision.optional(),
  branches: list(Branch).describe('Its branches, in the order of the request.'),
  offers: list(Name),
} as const

export const ForksAnswer = pageOf(z.strictObject(FORK)).meta({ id: 'Forks' })
export const ForkAnswer = z.strictObject({ ...RECORDED, ...FORK, frozen: JsonRecord }).meta({ id: 'Fork' })

export const BranchAnswer = z
  .strictObject({
    ...RECORDED,
    forkId: Uuid,
    branch: Name,
    confidence: z.number().optional(),
    findings: list(Finding).describe('What the validator found in what the branch handed over.'),
    status: z.enum(['offered', ...BranchStatus.options]).describe('Status of the branch.'),
    output: Digest.optional().describe('Digest of what the branch handed over.'),
    error: Failure.optional(),
  })
  .meta({ id: 'BranchReport' })

export const JoinAnswer = z
  .strictObject({
    ...RECORDED,
    forkId: Uuid,
    join: JoinStrategy,
    outcome: outcome.describe('How it was joined.'),
    winners: list(Name),
    order: list(Name).describe('Valid branches, best first.'),
    receipts,
    receipt,
    step: Step,
    agent: Name,
    contextDigest: Digest,
    context: JsonRecord,
    parent: Digest,
    confidence: z.number().optional(),
    findings: list(Finding).describe('Warnings about the context that was made.'),
  })
  .meta({ id: 'Join' })

/** A fork that was started, with the context that its branches see in `frozen`. */
export type ForkAnswer = Answer<typeof ForkAnswer>
export type BranchAnswer = Answer<typeof BranchAnswer>
export type JoinAnswer = Answer<typeof JoinAnswer>
