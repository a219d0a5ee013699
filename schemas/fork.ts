/** @module Schemas of forks, shared by their events and requests (RUN-38). */
import { z } from 'zod'
import { Digest, Name } from './names.ts'
import { Scope, Tokens, Uuid } from './values.ts'

/** `union` merges all valid branches; `vote` takes the best valid one; `first_wins` takes the first valid one. */
export const JoinStrategy = z.enum(['union', 'vote', 'first_wins'])

/** Treatment of the calls of a branch that is not merged: rolled back like a saga, or kept. */
export const OnDiscard = z.enum(['compensate', 'keep'])

export const ForkBranch = z.strictObject({
  /** Unique within its fork. */
  name: Name,
  /** The agent whose manifest is used to judge the branch and in whose name the branch's output is handed over. */
  agent: Name,
  /** Scope of the branch's calls, separate from others so that the branch can be rolled back alone. */
  scope: Scope,
  manifestHash: Digest.optional(),
})

/** How a branch ended; `merged` and `discarded` are offers after the join. */
export const BranchStatus = z.enum(['merged', 'discarded', 'aborted', 'failed', 'refused'])

export const ofBranch = {
  v: z.literal(1),
  forkId: Uuid,
  branch: Name,
  agent: Name,
  /** Digest of the report as it was sent; absent if the join came before any report. */
  report: Digest.optional(),
  tokens: Tokens.optional(),
  confidence: z.number().optional(),
  score: z.number().optional(),
}

export type JoinStrategy = z.infer<typeof JoinStrategy>
export type OnDiscard = z.infer<typeof OnDiscard>
export type ForkBranch = z.infer<typeof ForkBranch>
