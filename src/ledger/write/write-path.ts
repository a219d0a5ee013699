/**
 * @module The write path: load, decide, seal, append, answer. Deciding and sealing are one synchronous step on the cached run; a long decision is
 * made in pieces while no other decision on the run begins. Decisions of one run therefore never interleave. Waiting for the disk comes afterwards,
 * and many requests wait together.
 */
import { type RunState, safeKey } from '../../../projections/run-state.ts'
import { ANSWERS_TO_CODE, requestMark, toldRefusal } from '../../../schemas/refused-request.ts'
import { type Decision, type Env, type Refused, refuseOnRecord } from '../../domain/decision.ts'
import { withoutAppend } from '../../domain/disclosure.ts'
import type { Refusal } from '../../domain/refusal.ts'
import type { RunCommand } from '../../domain/run-command.ts'
import { claimedFirst } from '../../domain/step.ts'
import { finish, isYielding, type Yielding } from '../../domain/yielding.ts'
import type { Party } from '../../resources/fair-shares.ts'
import type { WorkQueue } from '../../resources/work-queue.ts'
import { CanonicalTexts } from '../../signing/canonical-json.ts'
import { digestsBy } from '../../signing/digests.ts'
import type { Caller, Outcome, RequestInfo } from '../ledger.ts'
import type { TenantPolicies } from '../ports.ts'
import type { SubjectKeys } from '../subjects/subject-keys.ts'
import { AGAIN, type AppendDeps, Appender, type Attempt } from './appender.ts'
import { type DecideInput, decide, type PendingCommand, pendingCommand } from './decide.ts'
import { type LargeDeps, LargeValues } from './large-values.ts'
import { decideRedacted, withCallKey } from './redaction.ts'
import type { RunAggregate } from './run-aggregate.ts'
import { UnrecordedAnswers } from './unrecorded-answers.ts'
import {
  contended,
  idempotencyInFlight,
  keyReused,
  loadRefusal,
  notAttempted,
  refused,
  revisionConflict,
} from './write-refusals.ts'

/** Number of times a decision that conflicts with other writers is made before the caller is asked to retry. */
const DECIDE_AGAIN_MAX = 8
const DECIDE_AGAIN_MS = 5

const JUDGED_BY_RESULTS: ReadonlySet<RunCommand['kind']> = new Set<RunCommand['kind']>(['envelope', 'branch', 'join'])

export interface WriteDeps extends AppendDeps, LargeDeps {
  readonly ledgerId: string
  readonly tenantPolicy?: TenantPolicies | undefined
  readonly stoppedLog: DecideInput['stoppedLog']
  /** Keys of data subjects whose values are kept encrypted. */
  readonly subjects?: SubjectKeys | undefined
  /** If absent, large decisions are made as they arrive and are not charged to any caller. */
  readonly work?: WorkQueue | undefined
}

type Loaded = { readonly hot: RunAggregate } | { readonly refusal: Refusal }

interface Decided<D = Decision> {
  readonly decision: D
  /** The canonical texts that were written for the decision. */
  readonly texts: CanonicalTexts
}

/** The operations through which commands reach their runs. */
export type RunWrites = Pick<WritePath, 'execute' | 'executeInOrder'>

export class WritePath {
  readonly #deps: WriteDeps
  readonly #appender: Appender
  readonly #unrecorded: UnrecordedAnswers
  readonly #large: LargeValues
  readonly #inFlight = new Set<string>()

  constructor(deps: WriteDeps) {
    this.#deps = deps
    this.#appender = new Appender(deps)
    this.#unrecorded = new UnrecordedAnswers(deps)
    this.#large = new LargeValues(deps, this.#unrecorded)
  }

  execute(caller: Caller, runId: string, command: RunCommand, info: RequestInfo): Promise<Outcome> {
    const pending = pendingCommand(caller, runId, { command, info })
    return pending.requestId === undefined ? this.#settled(pending) : this.#settledOnce(pending)
  }

  /** Refuses a repeated request while the first one is being processed. */
  async #settledOnce(pending: PendingCommand): Promise<Outcome> {
    const inFlight = `${pending.caller.tenant}\n${pending.runId}\n${pending.requestId}`
    if (this.#inFlight.has(inFlight)) return refused(idempotencyInFlight())
    this.#inFlight.add(inFlight)
    try {
      return await this.#settled(pending)
    } finally {
      this.#inFlight.delete(inFlight)
    }
  }

  /** Executes commands of one run, decided in order and as far as possible without waiting for each other's disk write. */
  async executeInOrder(
    caller: Caller,
    runId: string,
    items: readonly { readonly command: RunCommand; readonly info: RequestInfo }[],
  ): Promise<Outcome[]> {
    const jobs = items.map((item) => pendingCommand(caller, runId, item))
    return decidedInOrder(jobs, {
      load: (pending) => this.#load(pending),
      pass: (pending) => this.#deps.work?.writes.pass(pending.info.bodyBytes ?? 0, caller.tenant),
      attempt: (run, pending) => this.#try(run, pending),
      answered: (pending, settled) =>
        settled.then((tried) => (tried === 'again' ? tried : this.#withTerms(pending, tried)), this.#failed),
      settled: (pending) => this.#settled(pending),
    })
  }

  async #untilSettled(pending: PendingCommand): Promise<Outcome> {
    const { effects } = this.#deps
    for (let tries = 0; tries < DECIDE_AGAIN_MAX; ) {
      const turn = this.#deps.work?.writes.pass(pending.info.bodyBytes ?? 0, pending.caller.tenant)
      if (turn !== undefined) await turn
      if (tries > 1) await effects.sleep(DECIDE_AGAIN_MS * 2 ** tries * effects.random())
      const loading = this.#load(pending)
      const run = loading instanceof Promise ? await loading : loading
      if ('refusal' in run) return refused(run.refusal)
      if (run.hot.paused !== undefined) {
        await run.hot.paused
        continue
      }
      tries += 1
      const attempt = this.#try(run.hot, pending)
      const { settled } = attempt instanceof Promise ? await attempt : attempt
      try {
        const outcome = await settled
        if (outcome !== 'again') return outcome
      } catch (error) {
        return this.#failed(error)
      }
    }
    return refused(contended())
  }

  #settled(pending: PendingCommand): Promise<Outcome> {
    const settled = this.#untilSettled(pending)
    if (pending.command.kind !== 'start') return settled
    return settled.then((outcome) => this.#withTerms(pending, outcome))
  }

  /** Adds the limits of this ledger to the answer to the start or resumption of a run; they are not recorded. */
  #withTerms({ caller, command }: PendingCommand, outcome: Outcome): Outcome {
    if (command.kind !== 'start' || !outcome.ok) return outcome
    const run = this.#deps.runs.get(caller.tenant, outcome.runId)
    const state = run instanceof Promise ? undefined : run.state
    const first = state && claimedFirst(state, this.#deps.tenantPolicy?.(caller.tenant))
    const terms = { valueMaxBytes: this.#large.maxBytes, ...(first !== undefined && { claimFirst: first }) }
    const told = { ...outcome, body: { ...outcome.body, ...terms } }
    if (run instanceof Promise || state?.policy.redaction === undefined) return told
    return withCallKey(this.#deps.sealer, run, told)
  }

  /** Synchronous if the run is in memory. */
  #load(pending: PendingCommand): Loaded | Promise<Loaded> {
    const run = this.#deps.runs.get(pending.caller.tenant, pending.runId)
    return run instanceof Promise ? run.then((hot) => ({ hot }), this.#loadRefused) : { hot: run }
  }

  readonly #loadRefused = (error: unknown): { refusal: Refusal } => ({ refusal: loadRefusal(error, this.#deps.store) })

  readonly #failed = (error: unknown): Outcome => refused(loadRefusal(error, this.#deps.store))

  /** Decides and seals at once, or as soon as a decision that yields is made; `settled` waits for the disk. The run must not be paused. */
  #try(run: RunAggregate, pending: PendingCommand): Attempt | Promise<Attempt> {
    if (run.dead || !this.#deps.runs.owns(run)) return AGAIN
    // Values stored apart from the events are evidence too.
    if (run.evidence.unread.length > 0 && JUDGED_BY_RESULTS.has(pending.command.kind)) {
      return this.#large.readFirst(run, partyOf(pending.caller))
    }
    const repeated = pending.requestId === undefined ? undefined : run.state?.requests[safeKey(pending.requestId)]
    if (repeated !== undefined && pending.reusedKey !== true) {
      return { refusedNow: false, undecided: true, settled: this.#unrecorded.repeat(run, pending, repeated) }
    }
    const { ifMatch } = pending.info
    // A reused key takes precedence over the revision check: no revision would make the request valid.
    if (ifMatch !== undefined && ifMatch !== run.revision && pending.reusedKey !== true) {
      return this.#unrecorded.refuse(run, revisionConflict(ifMatch, run.revision))
    }
    const { work } = this.#deps
    const texts = new CanonicalTexts(run.memberTexts)
    if (work === undefined) {
      const decided = this.#decide(run, pending, texts)
      return this.#carryOut(run, pending, { decision: isYielding(decided) ? finish(decided) : decided, texts })
    }
    return work.writes.doing(partyOf(pending.caller), () => {
      const deciding = this.#decide(run, pending, texts)
      if (!isYielding(deciding)) return this.#carryOut(run, pending, { decision: deciding, texts })
      const first = deciding.next()
      return first.done === true
        ? this.#carryOut(run, pending, { decision: first.value, texts })
        : this.#tryInTurns(run, pending, { deciding, texts, work })
    })
  }

  async #tryInTurns(
    run: RunAggregate,
    pending: PendingCommand,
    by: { readonly deciding: Yielding<Decision>; readonly texts: CanonicalTexts; readonly work: WorkQueue },
  ): Promise<Attempt> {
    const { deciding, texts, work } = by
    const party = partyOf(pending.caller)
    const goOn = run.pause()
    try {
      const decision = await work.writes.inTurns(deciding, party)
      // An append that the decision was based on may have failed in the meantime.
      if (run.dead || !this.#deps.runs.owns(run)) return AGAIN
      return work.writes.doing(party, () => this.#carryOut(run, pending, { decision, texts }))
    } finally {
      goOn()
    }
  }

  #decide(run: RunAggregate, pending: PendingCommand, texts: CanonicalTexts): Decision | Yielding<Decision> {
    const tenant = this.#deps.tenantPolicy?.(run.tenant)
    // The fast path: most runs have no redaction rules.
    if ((tenant?.redaction ?? run.state?.policy.redaction ?? declaredRules(pending)) === undefined)
      return this.#decideAsIs(run, pending, texts)
    const asIs = (): Decision | Yielding<Decision> => this.#decideAsIs(run, pending, texts)
    return decideRedacted({ run, pending, tenant, sealer: this.#deps.sealer, subjects: this.#deps.subjects }, asIs)
  }

  #decideAsIs(run: RunAggregate, pending: PendingCommand, texts: CanonicalTexts): Decision | Yielding<Decision> {
    const env = this.#env(run, pending, texts)
    const decision =
      pending.reusedKey === true && run.state !== undefined
        ? refuseOnRecord(run.state, env, { refusal: keyReused(), fingerprint: pending.info.idempotency?.key ?? '' })
        : decide({ run, pending, env, texts, tenantPolicy: this.#deps.tenantPolicy, stoppedLog: this.#deps.stoppedLog })
    if (run.state?.disclosed !== true) return decision
    return isYielding(decision) ? thenWithoutAppend(decision) : withoutAppend(decision)
  }

  #env(run: RunAggregate, pending: PendingCommand, texts: CanonicalTexts): Env {
    const { effects, leases, ledgerId } = this.#deps
    return {
      nowMs: effects.nowMs(),
      leaseLeftMs: leases.leftMs,
      reservationLeftMs: leases.reservationLeftMs,
      actor: pending.caller.actor,
      principal: pending.caller.principal,
      via: pending.caller.via,
      roles: pending.caller.roles,
      newId: effects.newId,
      ledgerId,
      headDigest: run.head?.digest,
      digestOf: digestsBy(texts),
      sizeOf: texts.sizeOf,
      tenantPolicy: this.#deps.tenantPolicy?.(run.tenant),
      sent: pending.sent,
    }
  }

  #carryOut(run: RunAggregate, pending: PendingCommand, { decision, texts }: Decided): Attempt {
    switch (decision.kind) {
      case 'append':
        if (!mayBeLarge(pending.command)) return this.#appender.append(run, pending, { decision, texts })
        return this.#large.placed(run, pending, { decision, texts }, (placed) =>
          this.#appender.append(run, pending, { decision: placed, texts }),
        )
      case 'refuse':
        return this.#carryOutRefusal(run, pending, { decision, texts })
      case 'as-is':
        return this.#unrecorded.asIs(run, pending.command)
      case 'recorded-call':
        return { refusedNow: false, settled: this.#unrecorded.recordedCall(run, pending, decision.callId) }
      case 'needs-context':
        return {
          refusedNow: false,
          undecided: true,
          settled: this.#unrecorded.readContext(run, pending, decision.revision),
        }
      case 'needs-events':
        return {
          refusedNow: false,
          undecided: true,
          settled: this.#unrecorded.readEvents(run, pending, decision.revisions),
        }
    }
  }

  #carryOutRefusal(
    run: RunAggregate,
    pending: PendingCommand,
    { decision, texts }: Decided<Extract<Decision, { kind: 'refuse' }>>,
  ): Attempt {
    const env = this.#env(run, pending, texts)
    const decided = answeredOnRecord(run.state, { command: pending.command, decided: decision }, env)
    const { before = [], record, refusal } = decided
    if (record !== undefined) {
      return this.#appender.append(run, pending, { decision: { kind: 'append', drafts: [...before, record] }, texts })
    }
    if (before.length === 0) return this.#unrecorded.refuse(run, refusal)
    // Facts that were found along the way are no answer: the request is not remembered, as with any request that records nothing of its own.
    const met = { kind: 'append', drafts: before } as const
    const append = (placed: Decision & { kind: 'append' }): Attempt =>
      this.#appender.append(run, pending, { decision: placed, texts, instead: refusal })
    return mayBeLarge(pending.command)
      ? this.#large.placed(run, pending, { decision: met, texts }, append)
      : append(met)
  }
}

function* thenWithoutAppend(deciding: Yielding<Decision>): Yielding<Decision> {
  return withoutAppend(yield* deciding)
}

function declaredRules({ command }: PendingCommand): unknown {
  return command.kind === 'start' && typeof command.body.policy === 'object' ? command.body.policy.redaction : undefined
}

/** Whether the command may hold a large value: arguments, a result, or the input or output of a run. */
function mayBeLarge({ kind }: RunCommand): boolean {
  return kind === 'claim' || kind === 'settle' || kind === 'resolve' || kind === 'start' || kind === 'complete'
}

function partyOf({ tenant, subject, actor }: Caller): Party {
  return { tenant, caller: subject ?? actor }
}

// Decides commands of one run that arrived together: in order, and as far as possible without waiting for each other's disk write.

/** The steps of deciding one command. */
interface DecidingOne {
  readonly load: (
    pending: PendingCommand,
  ) => { hot: RunAggregate } | { refusal: Refusal } | Promise<{ hot: RunAggregate } | { refusal: Refusal }>
  readonly pass: (pending: PendingCommand) => Promise<unknown> | undefined
  readonly attempt: (run: RunAggregate, pending: PendingCommand) => Attempt | Promise<Attempt>
  readonly answered: (pending: PendingCommand, settled: Attempt['settled']) => Promise<Outcome | 'again'>
  /** Decides the command on its own until it is answered. */
  readonly settled: (pending: PendingCommand) => Promise<Outcome>
}

async function decidedInOrder(jobs: readonly PendingCommand[], by: DecidingOne): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  let envelopeRefused = false
  while (outcomes.length < jobs.length) {
    const rest = jobs.slice(outcomes.length)
    const tries = await tryAhead(rest, { by, envelopeRefused })
    for (const [index, pending] of rest.slice(0, tries.length).entries()) {
      const envelope = pending.command.kind === 'envelope'
      const tried = await by.answered(pending, tries[index]?.settled ?? AGAIN.settled)
      const skipped: boolean = envelope && envelopeRefused
      const outcome: Outcome =
        tried === 'again' ? await (skipped ? refused(notAttempted()) : by.settled(pending)) : tried
      envelopeRefused ||= envelope && !outcome.ok
      outcomes.push(outcome)
    }
  }
  return outcomes
}

/** Decides as many commands as possible now. After a refused envelope, later ones are left until its outcome is known. */
async function tryAhead(
  jobs: readonly PendingCommand[],
  { by, envelopeRefused }: { readonly by: DecidingOne; readonly envelopeRefused: boolean },
): Promise<Attempt[]> {
  const [first] = jobs
  const run = first === undefined ? undefined : await by.load(first)
  if (run === undefined || 'refusal' in run) return [AGAIN]
  const tries: Attempt[] = []
  let refusedOne = envelopeRefused
  for (const pending of jobs) {
    const turn = by.pass(pending)
    // The run may have been dropped in the meantime; the item is then left for the next round.
    if (turn !== undefined) await turn
    while (run.hot.paused !== undefined) await run.hot.paused
    const skipped = refusedOne && pending.command.kind === 'envelope'
    const trying = skipped ? AGAIN : by.attempt(run.hot, pending)
    const attempt = trying instanceof Promise ? await trying : trying
    // Results are awaited in order later; this keeps an earlier failure from being an unhandled rejection.
    attempt.settled.catch(() => undefined)
    tries.push(attempt)
    if (pending.command.kind === 'envelope' && attempt.refusedNow) refusedOne = true
    if (attempt.undecided === true && !skipped) break
  }
  return tries
}

// Records refusals that a run's code may catch, so that a resumed run gets the same refusal at the same request (RUN-191). Pure.

/** Returns the refusal, with an event that records it and the request it answers, if code may catch the refusal and no event records it yet. */
function answeredOnRecord(
  state: RunState | undefined,
  { command, decided }: { readonly command: RunCommand; readonly decided: Refused },
  env: Env,
): Refused {
  const { refusal, record } = decided
  if (record !== undefined || state?.status !== 'open' || !ANSWERS_TO_CODE.has(refusal.code)) return decided
  const fingerprint = requestMark(command)
  if (fingerprint === undefined || !('body' in command)) return decided
  const told = { ...refusal, ...toldRefusal(refusal.detail, refusal.evidence) }
  const { runFence } = command.body as { readonly runFence?: number }
  return { ...decided, ...refuseOnRecord(state, env, { refusal: told, fingerprint, runFence }) }
}
