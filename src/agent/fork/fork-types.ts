/** @module What a fork takes and gives: the types of `run.fork`. */
import type { OnDiscard } from '../../../schemas/fork.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import type { Failure } from '../../../schemas/values.ts'
import { AgentError } from '../errors.ts'
import type { Declaration, Established, Finding, Manifest, Supersession } from '../pipeline/handoff-types.ts'
import type { RollbackLists, RollbackStatus } from '../saga/outcome.ts'

/** What the code of a branch receives beside the context; `Run` is what a run is there. */
export interface BranchContextOf<Run> {
  readonly name: string
  readonly agent: string
  /** Aborted when another branch has won: what is called afterwards is not run. */
  readonly signal: AbortSignal
  /** The run, at the branch's own place. */
  readonly run: Run
}

/** A branch of a fork: whose it is, what it may see and change, and its code. */
export interface BranchOf<Run> {
  readonly agent: string
  /** Unique in the fork; default: the agent, numbered where it has several branches. */
  readonly name?: string
  /** Registered once a run: what the branch is shown, and what it may change. */
  readonly manifest?: Manifest
  /** What the branch may change though it was established, each with its reason. */
  readonly supersedes?: readonly Supersession[]
  /** Places that move once the branch is merged. */
  readonly moves?: readonly Declaration[]
  /** Gets a copy of the frozen context. An object is what the branch hands over, by `extend`, without its members `$supersedes`, `$moves` and `$add`; a text becomes `{text}`. */
  readonly run: (context: JsonObject, branch: BranchContextOf<Run>) => unknown
}

interface EveryFork {
  /** In whose name a union is handed over; default: who the ledger knows as the caller. */
  readonly agent?: string
  /** What becomes of the calls of a branch that is not merged; default `compensate`: rolled back like a saga. */
  readonly onDiscard?: OnDiscard
}

/**
 * How branches are joined: `union` merges all that is valid, `first_wins` takes the first valid one and aborts the others, `vote` the one with the highest
 * score. Throws `invalid-fork`, `invalid-score`.
 */
export type ForkOptions =
  | (EveryFork & { readonly join: 'union' | 'first_wins' })
  | (EveryFork & {
      readonly join: 'vote'
      /** The highest wins; default: the validator's confidence. Ties go to the branch that is declared first. */
      readonly score?: (
        output: JsonObject,
        branch: { readonly name: string; readonly agent: string },
      ) => number | Promise<number>
    })

/** How a branch ended. */
export interface BranchReceipt {
  readonly branch: string
  readonly agent: string
  readonly status: 'merged' | 'discarded' | 'aborted' | 'failed' | 'refused'
  /** What it handed over, where that was valid. */
  readonly output?: JsonObject
  /** What it added beside its output: new members of lists. */
  readonly add?: JsonObject
  /** Share of what was established that it preserved, 0 to 1. */
  readonly confidence?: number
  readonly score?: number
  /** Why it failed or was refused. */
  readonly error?: Failure
  /** Of a refused one. */
  readonly findings?: readonly Finding[]
  /** Digest that is in the fork's record. */
  readonly receipt: string
}

/** What the rollback of a branch came to. */
export interface BranchRollback extends RollbackLists {
  readonly branch: string
  readonly status: RollbackStatus
}

/** What a fork came to: the joined context, who won, and a receipt of every branch. */
export interface ForkResult {
  readonly forkId: string
  /** The winner's output; of a union the joined context. */
  readonly output: JsonObject
  /** Merged branches, in the order in which they were merged. */
  readonly winners: readonly string[]
  /** Valid branches, best first. */
  readonly order: readonly string[]
  /** One a branch, in declared order. */
  readonly receipts: readonly BranchReceipt[]
  /** The merge receipt: digest over all of it. */
  readonly receipt: string
  /** The context that the join established. */
  readonly established: Established
  /** Resolves when the branches that were not merged have ended and are rolled back; the run waits for it before it ends. */
  readonly unwound: Promise<readonly BranchRollback[]>
}

/**
 * Nothing was merged; the context is what it was. `code` is `fork-failed`, or `fork-conflict` with both values in `evidence.conflicts`; `receipts` say how
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
