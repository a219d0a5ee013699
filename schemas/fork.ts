/** @module What a fork is made of: shared by its events and its requests (RUN-38). */
import { z } from 'zod'
import { Digest, Name } from './names.ts'
import { Scope, Tokens, Uuid } from './values.ts'

/** `union`: all that is valid, merged; `vote`: the best valid one; `first_wins`: the first valid one. */
export const JoinStrategy = z.enum(['union', 'vote', 'first_wins'])

/** What becomes of the calls of a branch that is not merged: rolled back like a saga, or left standing. */
export const OnDiscard = z.enum(['compensate', 'keep'])

export const ForkBranch = z.strictObject({
  /** Unique in its fork. */
  name: Name,
  /** Whose manifest judges the branch, and in whose name its output is handed over. */
  agent: Name,
  /** Scope of the branch's calls: its own, so that it can be rolled back alone. */
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
  /** Digest of the report as it was sent; absent where the join came before any report. */
  report: Digest.optional(),
  tokens: Tokens.optional(),
  confidence: z.number().optional(),
  score: z.number().optional(),
}

export type JoinStrategy = z.infer<typeof JoinStrategy>
export type OnDiscard = z.infer<typeof OnDiscard>
export type ForkBranch = z.infer<typeof ForkBranch>
