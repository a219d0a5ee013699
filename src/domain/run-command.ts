/** @module Commands of the write path: the public ones, extended by data that the ledger has read for them, and internal ones. */
import type { Command } from '../../schemas/commands.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { ParentClaim, ParentLink } from './child-run.ts'
import type { ApprovalRules, BranchOrigin } from './run-life.ts'

/** `openChild`: the run that does the work of the call, if it has not ended. */
export type Resolve = Extract<Command, { kind: 'resolve' }> & { readonly openChild?: string }

export type RunCommand =
  | Exclude<Command, { kind: 'start' | 'resolve' }>
  | Resolve
  | (Extract<Command, { kind: 'start' }> & {
      readonly origin?: BranchOrigin
      readonly parent?: ParentLink
      readonly approve?: ApprovalRules
    })
  /** Records that the keys of the run are disclosed. */
  | { readonly kind: 'disclose' }
  /** Records in a run that one of its calls starts a child run. */
  | { readonly kind: 'child-started'; readonly body: { readonly childOf: ParentClaim; readonly run: string } }
  /** Records in a run that another run was branched from it. */
  | { readonly kind: 'branched'; readonly body: Omit<EventBody<'RunBranched'>, 'v'> }
