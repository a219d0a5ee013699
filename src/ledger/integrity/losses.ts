/** @module Losses as callers of the ledger see them. */
import type { AcknowledgeLoss, AcknowledgementAnswer, LossesAnswer } from '../../../schemas/answers/losses.ts'
import type { Caller } from '../../access/caller.ts'
import type { Answered } from '../subjects/subjects.ts'

export interface LostEvents {
  /** The tenants that have a log, the ledger's own included. */
  tenants(): readonly string[]
  /** The current losses, and the acknowledged ones. */
  list(caller: Caller): Promise<Answered<LossesAnswer>>
  /**
   * Resolves once the acknowledgement is recorded and the log has continued as far as it can. Refused if the ledger does not detect the loss at that
   * moment.
   */
  acknowledge(caller: Caller, asked: AcknowledgeLoss): Promise<Answered<AcknowledgementAnswer>>
}
