/** @module Reads results and inputs stored apart from the events before a handoff is judged by them, so that calls do not pay for it. */
import { safeKey } from '../../../projections/run-state.ts'
import type { Json } from '../../../schemas/json.ts'
import { type Paced, Pauses } from '../../domain/paced.ts'
import { addEvidence, addToolResult, settle, type UnreadResult } from '../../domain/validator/evidence.ts'
import { noteOutcome, saysError, takeQuestion } from '../../domain/validator/grounding/recorded-results.ts'
import { weigh } from '../../resources/memory-budget.ts'
import type { ValueStore } from '../values/value-store.ts'
import type { RunAggregate } from './run-aggregate.ts'

interface Reading {
  readonly values: Pick<ValueStore, 'value'>
  /** Runs paced work in turns with other work. */
  readonly inTurns: (work: Paced<unknown>) => unknown
}

/**
 * Reads values one by one and indexes each before the next, so that only one is in memory. The run has to be paused. Throws `DamagedStreamError` for
 * a missing or altered value.
 */
export async function readUnread(run: RunAggregate, { values, inTurns }: Reading): Promise<void> {
  const { evidence } = run
  for (let next = evidence.unread[0]; next !== undefined; next = evidence.unread[0]) {
    const value = await values.value(run, next.digest)
    hear(run, next, value)
    await inTurns(settle(evidence, new Pauses()))
    if (saysError(value)) noteFailed(run, next)
    evidence.unread.shift()
  }
}

function hear({ evidence }: RunAggregate, { callId, revision }: UnreadResult, value: Json): void {
  if (callId === undefined) {
    addEvidence(evidence, value)
    return
  }
  const asked = takeQuestion(evidence.results, callId)
  addToolResult(evidence, { value, revision, asked, bytes: weigh(value) })
}

function noteFailed({ state, evidence }: RunAggregate, { callId = '', revision }: UnreadResult): void {
  const call = state?.calls[safeKey(callId)]
  if (call === undefined || call.phase !== 'forward') return
  noteOutcome(evidence.results, callId, { tool: call.tool, revision }, true)
}
