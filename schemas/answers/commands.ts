/** @module The answer to each kind of command. */
import type { Command } from '../commands.ts'
import type { ReleasedAnswer, ReservedAnswer, UsageAnswer } from './budget.ts'
import type { CaptureAnswer, ClaimAnswer, CompensationAnswer, SettledCallAnswer } from './calls.ts'
import type { BranchAnswer, ForkAnswer, JoinAnswer } from './forks.ts'
import type { EnvelopeAnswer, JudgementAnswer, ManifestAnswer, ReviewAnswer, RewoundAnswer } from './handoffs.ts'
import type { CarriedAnswer, EndAnswer, LeftAnswer, StartAnswer } from './runs.ts'
import type { DecisionAnswer, SignalAnswer, WaitedAnswer } from './waiting.ts'

interface Answers extends Record<Command['kind'], object> {
  readonly start: StartAnswer
  readonly envelope: EnvelopeAnswer
  readonly judgement: JudgementAnswer
  readonly review: ReviewAnswer
  readonly rollback: RewoundAnswer
  readonly manifest: ManifestAnswer
  readonly claim: ClaimAnswer
  readonly settle: SettledCallAnswer
  readonly renew: SettledCallAnswer
  readonly resolve: SettledCallAnswer
  readonly grant: DecisionAnswer
  readonly deny: DecisionAnswer
  readonly withdraw: DecisionAnswer
  readonly wait: WaitedAnswer
  readonly signal: SignalAnswer
  readonly compensate: CompensationAnswer
  readonly reserve: ReservedAnswer
  readonly 'settle-reservation': UsageAnswer
  readonly release: ReleasedAnswer
  readonly usage: UsageAnswer
  readonly fork: ForkAnswer
  readonly branch: BranchAnswer
  readonly join: JoinAnswer
  readonly capture: CaptureAnswer
  readonly leave: LeftAnswer
  readonly carry: CarriedAnswer
  readonly complete: EndAnswer
  readonly fail: EndAnswer
}

/** The answer to a command, by its kind. */
export type AnswerTo<C extends Command> = Answers[C['kind']]
