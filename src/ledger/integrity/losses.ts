/** @module Losses as callers of the ledger see them. */
import type { AcknowledgeLoss, AcknowledgementAnswer, LossesAnswer } from '../../../schemas/answers/losses.ts'
import type { Caller } from '../../access/caller.ts'
import type { Answered } from '../subjects/subjects.ts'

export interface LostEvents {
  /** What is lost now, and what was acknowledged. */
  list(caller: Caller): Promise<Answered<LossesAnswer>>
  /** Resolves once it is on record, and the log has gone on as far as it can. Refused where the ledger does not see the loss at that moment. */
  acknowledge(caller: Caller, asked: AcknowledgeLoss): Promise<Answered<AcknowledgementAnswer>>
}
