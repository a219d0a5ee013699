/** @module Validation rules for the options of a fork and of its branches, applied at the call (RUN-192). */
import { BRANCHES_MAX } from '../../../schemas/value-forms.ts'
import { aName, callable, checkOptions, groups, type OptionRules, oneOf } from '../option-rules.ts'
import { BESIDE_PAYLOAD } from '../pipeline/check-handoff.ts'
import type { BranchOf, ForkOptions } from './fork-types.ts'

type VoteOptions = Extract<ForkOptions, { join: 'vote' }>

const BRANCH: OptionRules<BranchOf<never>> = { ...BESIDE_PAYLOAD, agent: aName, name: aName, run: callable }

const UNION: OptionRules<Exclude<ForkOptions, VoteOptions>> = {
  agent: aName,
  onDiscard: oneOf('compensate', 'keep'),
  join: oneOf('union', 'first_wins', 'vote'),
}
const VOTE: OptionRules<VoteOptions> = { ...UNION, score: callable }

/** Throws `invalid-option`. */
export function checkFork(branches: unknown, options: unknown): void {
  checkOptions('run.fork', { branches }, { branches: groups(BRANCHES_MAX, BRANCH, ['agent', 'run']) })
  const isVote = typeof options === 'object' && options !== null && 'join' in options && options.join === 'vote'
  checkOptions('run.fork', options, isVote ? VOTE : UNION, ['join'])
}
