/** @module Commands as the write path takes them: those of the interface, with what the ledger has read for them, and its own. */
import type { Command } from '../../schemas/commands.ts'
import type { EventBody } from '../../schemas/events.ts'
import type { ParentClaim, ParentLink } from './child-run.ts'
import type { ApprovalRules, BranchOrigin } from './run-life.ts'

export type RunCommand =
  | Exclude<Command, { kind: 'start' }>
  | (Extract<Command, { kind: 'start' }> & {
      readonly origin?: BranchOrigin
      readonly parent?: ParentLink
      readonly approve?: ApprovalRules
    })
  /** Puts on record that the run's keys are given away. */
  | { readonly kind: 'disclose' }
  /** Notes in a run that one of its calls starts another. */
  | { readonly kind: 'child-started'; readonly body: { readonly childOf: ParentClaim; readonly run: string } }
  /** Notes in a run that another was started from it. */
  | { readonly kind: 'branched'; readonly body: Omit<EventBody<'RunBranched'>, 'v'> }
