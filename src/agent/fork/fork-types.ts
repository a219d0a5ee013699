/** @module The types of `run.fork`. */
import type { OnDiscard } from '../../../schemas/fork.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Failure } from '../../../schemas/values.ts'
import { AgentError } from '../errors.ts'
import type { Declaration, Established, Finding, Manifest, Supersession } from '../pipeline/handoff-types.ts'
import type { RollbackLists, RollbackStatus } from '../saga/outcome.ts'

/** The input of a branch's code, in addition to the context. `Run` is the type of its run object. */
export interface BranchContextOf<Run> {
  readonly name: string
  readonly agent: string
  /** Aborted when another branch has won; later calls are not executed. */
  readonly signal: AbortSignal
  /** The run object with the branch's own scope. */
  readonly run: Run
}

/** A branch of a fork: its agent, its permissions and its code. */
export interface BranchOf<Run> {
  readonly agent: string
  /** Unique in the fork; default: the agent, with a number if it has several branches. */
  readonly name?: string
  /** Registered once per run: what the branch is shown and what it may change. */
  readonly manifest?: Manifest
  /** Established values that the branch may change, each with a reason. */
  readonly supersedes?: readonly Supersession[]
  /** Bookkeeping paths that may change once the branch is merged. */
  readonly moves?: readonly Declaration[]
  /**
   * Receives a copy of the frozen context. A returned object is the branch's payload in mode `extend`, without its members `$supersedes`, `$moves` and `$add`;
   * a text becomes `{text}`.
   */
  readonly run: (context: JsonObject, branch: BranchContextOf<Run>) => unknown
}

interface EveryFork {
  /** The agent in whose name a union is handed over; default: the ledger's name of the caller. */
  readonly agent?: string
  /** What happens to the calls of a branch that is not merged; default `compensate`: they are rolled back like a saga. */
  readonly onDiscard?: OnDiscard
}

/**
 * How branches are joined: `union` merges everything valid, `first_wins` takes the first valid branch and aborts the others, `vote` takes the branch with the
 * highest score. Throws `invalid-fork`, `invalid-score`.
 */
export type ForkOptions =
  | (EveryFork & { readonly join: 'union' | 'first_wins' })
  | (EveryFork & {
      readonly join: 'vote'
      /** The highest score wins; default: the validator's confidence. Ties go to the branch declared first. */
      readonly score?: (
        output: JsonObject,
        branch: { readonly name: string; readonly agent: string },
      ) => number | Promise<number>
    })

/** The result of a branch. */
export interface BranchReceipt {
  readonly branch: string
  readonly agent: string
  readonly status: 'merged' | 'discarded' | 'aborted' | 'failed' | 'refused'
  /** The payload of the branch, if it was valid. */
  readonly output?: JsonObject
  /** Additions besides the output: new members of lists. */
  readonly add?: JsonObject
  /** Preserved share of the established values, 0 to 1. */
  readonly confidence?: number
  readonly score?: number
  /** Why the branch failed or was refused. */
  readonly error?: Failure
  /** Findings of a refused branch. */
  readonly findings?: readonly Finding[]
  /** Digest recorded with the fork. */
  readonly receipt: string
}

/** The result of the rollback of a branch. */
export interface BranchRollback extends RollbackLists {
  readonly branch: string
  readonly status: RollbackStatus
}

/** The result of a fork: the joined context, the winners, and a receipt of every branch. */
export interface ForkResult {
  readonly forkId: string
  /** The winner's output; for a union, the joined context. */
  readonly output: JsonObject
  /** Merged branches, in merge order. */
  readonly winners: readonly string[]
  /** Valid branches, best first. */
  readonly order: readonly string[]
  /** One receipt per branch, in declared order. */
  readonly receipts: readonly BranchReceipt[]
  /** The merge receipt: a digest over the whole verdict. */
  readonly receipt: string
  /** The context that the join established. */
  readonly established: Established
  /**
   * Resolves when the branches that were not merged have ended and are rolled back; directly after the join where nothing is to be rolled back (`onDiscard: 'keep'`,
   * or they have requested nothing). The run waits for them before it ends.
   */
  readonly unwound: Promise<readonly BranchRollback[]>
}

/**
 * Nothing was merged and the context is unchanged. `code` is `fork-failed`, or `fork-conflict` with both values in `evidence.conflicts`; `receipts` report how
 * each branch ended.
 * @example
 * ```ts
 * import { ForkFailed, open } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const error = await cs
 *   .run({ name: 'drafts' }, async (run) =>
 *     run.fork([{ agent: 'writer', run: () => Promise.reject(new Error('no idea')) }], { join: 'first_wins' }),
 *   )
 *   .catch((thrown) => thrown)
 * if (error instanceof ForkFailed) console.log(error.receipts[0]?.status) // failed
 * ```
 */
export class ForkFailed extends AgentError {
  static override readonly errorName = 'ForkFailed'
  readonly receipts: readonly BranchReceipt[]

  constructor(
    code: 'fork-failed' | 'fork-conflict',
    message: string,
    of: { evidence: JsonObject; receipts: readonly BranchReceipt[] },
  ) {
    super(code, message, of.evidence)
    this.receipts = of.receipts
  }
}
