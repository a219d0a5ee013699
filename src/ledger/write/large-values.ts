/** @module Stores large values of a decision apart from its events: they are stored first, and the decision is made again with references to them. */
import { safeKey } from '../../../projections/run-state.ts'
import type { EventType } from '../../../schemas/event-type.ts'
import { RUN_EVENTS } from '../../../schemas/events.ts'
import type { Json } from '../../../schemas/json.ts'
import type { ValueRef } from '../../../schemas/values.ts'
import type { Decision, Draft } from '../../domain/decision.ts'
import { type Refusal, refusal } from '../../domain/refusal.ts'
import { addEvidence, addToolResult, settle, type UnreadResult } from '../../domain/validator/evidence.ts'
import { saysFailed } from '../../domain/validator/grounding/failed-answers.ts'
import { noteOutcome, takeQuestion } from '../../domain/validator/grounding/recorded-results.ts'
import { finish, Pauses, type Yielding } from '../../domain/yielding.ts'
import type { Party } from '../../resources/fair-shares.ts'
import { weigh } from '../../resources/memory-budget.ts'
import type { WorkQueue } from '../../resources/work-queue.ts'
import type { CanonicalTexts } from '../../signing/canonical-json.ts'
import { type ValueLimits, valueLimits } from '../values/value-limits.ts'
import { mayExceed } from '../values/value-size.ts'
import type { PutResult, ValueOwner, ValueStore } from '../values/value-store.ts'
import type { Attempt } from './appender.ts'
import type { PendingCommand } from './decide.ts'
import type { RunAggregate } from './run-aggregate.ts'
import type { UnrecordedAnswers } from './unrecorded-answers.ts'
import { refused } from './write-refusals.ts'

export interface LargeDeps {
  readonly values: ValueStore
  readonly valueLimits?: Partial<ValueLimits> | undefined
  /** If absent, values that are read are indexed without pauses. */
  readonly work?: WorkQueue | undefined
}

type Appending = Extract<Decision, { kind: 'append' }>

export class LargeValues {
  readonly #deps: LargeDeps
  readonly #limits: ValueLimits
  readonly #unrecorded: UnrecordedAnswers

  constructor(deps: LargeDeps, unrecorded: UnrecordedAnswers) {
    this.#deps = deps
    this.#limits = valueLimits(deps.valueLimits)
    this.#unrecorded = unrecorded
  }

  get maxBytes(): number {
    return this.#limits.maxBytes
  }

  /** Reads unread values first; no other decision is made on the run in the meantime. */
  readFirst(run: RunAggregate, party: Party): Attempt {
    const { values, work } = this.#deps
    const goOn = run.pause()
    const inTurns = (steps: Yielding<unknown>): unknown => work?.writes.inTurns(steps, party) ?? finish(steps)
    const settled = readUnread(run, { values, inTurns }).finally(goOn)
    return { refusedNow: false, undecided: true, settled: settled.then(() => 'again') }
  }

  /** Appends a decision with its large values by reference. A value that is not stored yet is stored first, and the decision is made again. */
  placed(
    run: RunAggregate,
    pending: PendingCommand,
    { decision, texts }: { readonly decision: Appending; readonly texts: CanonicalTexts },
    append: (decision: Appending) => Attempt,
  ): Attempt {
    const { command } = pending
    const digestOnly = command.kind === 'settle' && command.body.record === 'digest'
    const drafts: Draft[] = []
    for (const draft of decision.drafts) {
      const value = valueIn(draft)
      const isLarge = value !== undefined && (digestOnly || this.#isLarge(value, texts))
      if (!isLarge) {
        drafts.push(draft)
        continue
      }
      const text = texts.textOf(value)
      const { maxBytes } = this.#limits
      const bytes = Buffer.byteLength(text)
      if (bytes > maxBytes) return this.#unrecorded.refuse(run, valueTooLarge(maxBytes, bytes))
      const stored = pending.stored?.find((each) => each.value === value)
      if (digestOnly) drafts.push(byReference(draft, { ...this.#deps.values.refOf(run, text), kept: false }))
      else if (stored !== undefined) drafts.push(byReference(draft, stored.ref))
      else return { refusedNow: false, undecided: true, settled: this.#store(run, pending, { value, text }) }
    }
    return append({ kind: 'append', drafts })
  }

  #isLarge(value: Json, texts: CanonicalTexts): boolean {
    const { inlineMaxBytes } = this.#limits
    return mayExceed(value, inlineMaxBytes) && texts.sizeOf(value) > inlineMaxBytes
  }

  async #store(owner: ValueOwner, pending: PendingCommand, of: { value: Json; text: string }) {
    const stored: PutResult = await this.#deps.values.put(owner, pending.caller, of)
    if (!stored.ok) return refused(stored.refusal)
    pending.stored = [...(pending.stored ?? []), { value: of.value, ref: stored.ref }]
    return 'again' as const
  }
}

/** The one value of a draft that may be large. Handoffs always stay in their events, where judging reads them. */
function valueIn({ type, data }: Draft): Json | undefined {
  const { large } = RUN_EVENTS[type] as EventType
  return large === undefined ? undefined : (data as { readonly [member: string]: Json | undefined })[large]
}

/** The body with a reference in place of the value. */
function byReference({ type, data }: Draft, ref: ValueRef): Draft {
  const { large = 'result' } = RUN_EVENTS[type] as EventType
  const { [large]: _, ...rest } = data as { readonly [member: string]: unknown }
  return { type, data: { ...rest, v: 2, [`${large}Ref`]: ref } } as unknown as Draft
}

function valueTooLarge(limit: number, actual: number): Refusal {
  return refusal(
    'value-too-large',
    `a value has ${actual} bytes, this ledger takes ${limit}: hand over less, or where it is kept`,
    {
      evidence: { limit, actual },
    },
  )
}

// Reads results and inputs stored apart from the events before a handoff is judged by them, so that calls do not pay for it.

interface Reading {
  readonly values: Pick<ValueStore, 'value'>
  /** Runs work that yields in turns with other work. */
  readonly inTurns: (work: Yielding<unknown>) => unknown
}

/**
 * Reads values one by one and indexes each before the next, so that only one is in memory. The run has to be paused. Throws `DamagedStreamError` for
 * a missing or altered value.
 */
async function readUnread(run: RunAggregate, { values, inTurns }: Reading): Promise<void> {
  const { evidence } = run
  for (let next = evidence.unread[0]; next !== undefined; next = evidence.unread[0]) {
    const value = await values.value(run, next.digest)
    const asked = evidence.results.asked.get(next.callId ?? '')
    hear(run, next, value)
    await inTurns(settle(evidence, new Pauses()))
    if (saysFailed(value, asked)) noteFailed(run, next)
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
