/** @module Answers to commands that append nothing: refusals, repeats, states already reached, and decisions that need something read first. */
import { safeKey } from '../../../projections/run-state.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { RunCommand } from '../../domain/run-command.ts'
import { requestMac } from '../../signing/request-mark.ts'
import { sameText } from '../../signing/same-text.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Outcome } from '../ledger.ts'
import type { RecordedRequest } from '../read/reader.ts'
import { responseOfEvents } from '../responses/event-responses.ts'
import { type CommandResponse, withRedacted } from '../responses/response-parts.ts'
import { responseTo } from '../responses/responses.ts'
import { type Attempt, type OutcomeDeps, outcomeOf } from './appender.ts'
import type { PendingCommand } from './decide.ts'
import { blindKeyOf } from './redaction.ts'
import type { RunAggregate } from './run-aggregate.ts'

export interface UnrecordedDeps extends OutcomeDeps {
  readonly sealer: Sealer
}

/** An answer is valid only if everything that it is based on is durable, and no other process has written since; otherwise the command is decided again. */
export class UnrecordedAnswers {
  readonly #deps: UnrecordedDeps

  constructor(deps: UnrecordedDeps) {
    this.#deps = deps
  }

  refuse(run: RunAggregate, refusal: Refusal): Attempt {
    return { ...this.#settled(run, () => ({ kind: 'refusal', refusal })), refusedNow: true }
  }

  /** The run is already in the state that the command asks for. */
  asIs(run: RunAggregate, command: RunCommand): Attempt {
    return this.#settled(run, this.#deps.reader.asIs(run, command))
  }

  #settled(run: RunAggregate, answer: () => CommandResponse | Promise<CommandResponse>): Attempt {
    const revision = run.revision
    const settled = this.#deps.reader.isCurrent(run).then(async (current) => {
      return current ? outcomeOf(this.#deps, run, await answer(), { revision, replayed: false }) : ('again' as const)
    })
    return { refusedNow: false, settled }
  }

  async recordedCall(run: RunAggregate, pending: PendingCommand, callId: string): Promise<Outcome | 'again'> {
    const call = run.state?.calls[safeKey(callId)]
    if (call === undefined) return 'again'
    const known = { ...call }
    const { revision } = run
    const { reader } = this.#deps
    if (!(await reader.isCurrent(run))) return 'again'
    const answer = await reader.recordedCall(run, known, pending.command)
    return outcomeOf(this.#deps, run, answer, { revision, replayed: false })
  }

  async readContext(run: RunAggregate, pending: PendingCommand, revision: number): Promise<'again'> {
    const { reader } = this.#deps
    if (!(await reader.isCurrent(run))) return 'again'
    pending.contexts ??= new Map()
    pending.contexts.set(revision, await reader.contextAt(run.stream, revision))
    return 'again'
  }

  async readEvents(run: RunAggregate, pending: PendingCommand, revisions: readonly number[]): Promise<'again'> {
    const { reader } = this.#deps
    if (!(await reader.isCurrent(run))) return 'again'
    for (const revision of revisions) {
      const event = await reader.eventAt(run.stream, revision)
      if (event === undefined) continue
      pending.events ??= new Map()
      pending.events.set(revision, event)
    }
    return 'again'
  }

  /** A repeated request: its original answer, or a refusal if the key was used with a different request. */
  async repeat(run: RunAggregate, pending: PendingCommand, revision: number): Promise<Outcome | 'again'> {
    const { reader, sealer } = this.#deps
    if (!(await reader.isCurrent(run))) return 'again'
    const request = await reader.requestAt(run.stream, revision)
    const { idempotency } = pending.info
    if (request === undefined || idempotency === undefined) return 'again'
    const key = sealer.keyOf(request.kid, run.tenant, run.stream)
    const isSame = (of: Parameters<typeof requestMac>[0]): boolean =>
      sameText(request.mark.mac, requestMac(of, idempotency))
    const isHidden = run.state?.policy.redaction !== undefined
    if (
      key === undefined ||
      !(isSame(key) || (isHidden && isSame(blindKeyOf(sealer, run.tenant, run.stream).values)))
    ) {
      pending.reusedKey = true
      return 'again'
    }
    const answer = await this.#answerAgain(run, request, revision)
    return outcomeOf(this.#deps, run, answer, { revision: request.lastRevision, replayed: true })
  }

  /** Reads only the parts of the run that the answer needs, which is often nothing. */
  async #answerAgain(run: RunAggregate, request: RecordedRequest, revision: number): Promise<CommandResponse> {
    const { events, lastRevision } = request
    const alone = responseOfEvents(events, run.runId)
    if (alone !== undefined) return withRedacted(alone, events)
    const known = run.answers.get(revision)
    if (known !== undefined) return withRedacted(known, events)
    const isLast = !run.dead && run.revision === lastRevision
    const state = (isLast ? run.state : undefined) ?? (await this.#deps.reader.stateAt(run.stream, lastRevision))
    const answer = responseTo(events, state)
    run.answers.add(revision, answer)
    return withRedacted(answer, events)
  }
}
