/** @module Fork and join: branches run concurrently on one frozen context, each in its own scope (RUN-38). */
import type { JsonObject } from '../../../schemas/json.ts'
import { BRANCHES_MAX } from '../../../schemas/value-forms.ts'
import { allEnded } from '../../resources/all-ended.ts'
import { linkedSignal } from '../../resources/linked-signal.ts'
import { failureOf, LedgerRefused } from '../errors.ts'
import { HALTING } from '../halting.ts'
import { asRecorded } from '../history/budget-refusal.ts'
import { refusedAsThen } from '../history/refused-as-then.ts'
import { aName, callable, checkOptions, groups, type OptionRules, oneOf } from '../option-rules.ts'
import { BESIDE_PAYLOAD } from '../pipeline/check-handoff.ts'
import { register } from '../pipeline/handoff.ts'
import type { Established } from '../pipeline/handoff-types.ts'
import type { ExecutionContext } from '../runtime/execution-context.ts'
import { settleLeftovers } from '../runtime/leftovers.ts'
import type { Turn } from '../runtime/outcome-order.ts'
import { liveOf, reach, textOf } from '../runtime/session.ts'
import { fateOfItem, fatesIn, isCovered } from '../saga/outcome.ts'
import { RollbackTurn, rollBackScope } from '../saga/roll-back-scope.ts'
import { TOO_LARGE, wasTooLarge } from '../too-large.ts'
import type { BranchOf, BranchRollback, ForkOptions, ForkResult } from './fork-types.ts'
import { resultOf, type Verdict, verdictOf } from './fork-verdict.ts'
import { type ForkPlan, forkRequest, type PlannedBranch, planFork } from './plan-fork.ts'
import { isOffer, type RecordedFork } from './recorded-forks.ts'
import { type Reported, runBranch } from './run-branch.ts'

const FAILED: ReadonlySet<string> = new Set(['fork-failed', 'fork-conflict'])

export interface ForkAt<Run> {
  readonly execution: ExecutionContext
  /** Creates the run object for a scope below. */
  readonly runOf: (execution: ExecutionContext) => Run
}

/** Runs the branches concurrently and joins them. Throws `invalid-fork`, `ForkFailed`, `resume-diverged`, and any error that halts the run. */
export async function fork<Run>(
  at: ForkAt<Run>,
  branches: readonly BranchOf<Run>[],
  options: ForkOptions,
): Promise<ForkResult> {
  const { session } = at.execution
  session.mustBeActive()
  checkFork(branches, options)
  const plan = planFork(at.execution, branches, options)
  const key = `fork ${plan.branches.map(({ scope }) => scope).join('\n')}`
  return session.joined(key, 'run.fork', () =>
    session.order.inOrder((turn) => new Fork(at, { plan, options, turn }).result()),
  )
}

class Fork<Run> {
  readonly #place: ExecutionContext
  readonly #runOf: ForkAt<Run>['runOf']
  readonly #plan: ForkPlan<Run>
  readonly #options: ForkOptions
  readonly #turn: Turn
  readonly #reports: RecordedFork['reports'] = new Map()
  /** Aborts every branch that is still running. */
  readonly #giveUp = new AbortController()
  #forkId = ''

  constructor(at: ForkAt<Run>, { plan, options, turn }: { plan: ForkPlan<Run>; options: ForkOptions; turn: Turn }) {
    this.#turn = turn
    this.#place = at.execution
    this.#runOf = at.runOf
    this.#plan = plan
    this.#options = options
  }

  async result(): Promise<ForkResult> {
    const { session } = this.#place
    const recorded = this.#known()
    for (const [name, report] of recorded?.reports ?? []) this.#reports.set(name, report)
    if (recorded?.verdict !== undefined) return this.#served(recorded, recorded.verdict)
    if (recorded === undefined) this.#refusedAsThen()
    if (session.live === undefined) return this.#notInRecord()
    this.#turn.live()
    const frozen = await this.#open(recorded !== undefined)
    const running = this.#plan.branches.map((branch) => this.#carry(branch, frozen))
    const verdict = await this.#joined(running)
    return this.#ended(verdict, this.#establish(verdict.body), running)
  }

  /** A replay has reached a fork whose verdict is not recorded. */
  #notInRecord(): Promise<never> {
    const { session } = this.#place
    const fault = session.forks.unknown(this.#plan)
    if (session.history?.endsByThrow !== true) throw session.halt(fault)
    for (const { scope } of this.#plan.branches) this.#pass(scope)
    this.#turn.live()
    return session.underWayAtTheEnd(this.#place, () => fault)
  }

  #known(): RecordedFork | undefined {
    const { session } = this.#place
    try {
      return session.forks.served(this.#plan)
    } catch (error) {
      throw error instanceof Error ? session.halt(error) : error
    }
  }

  #refusedAsThen(): void {
    const { session } = this.#place
    for (const { manifest } of this.#plan.branches)
      if (manifest !== undefined) refusedAsThen(session, this.#turn, { kind: 'manifest', body: manifest.body })
    refusedAsThen(session, this.#turn, { kind: 'fork', body: forkRequest(this.#plan, session.fence) })
  }

  /** Winner and order come from the record. The calls of the branches count as requested. */
  async #served(recorded: RecordedFork, verdict: NonNullable<RecordedFork['verdict']>): Promise<ForkResult> {
    const { pipeline } = this.#place.session
    this.#turn.recorded(verdict.index)
    for (const { scope } of this.#plan.branches) this.#pass(scope)
    // The handoff of a join is recorded directly after the verdict.
    pipeline.view.passed(verdict.index + 1)
    this.#forkId = recorded.started.forkId
    return this.#ended({ verdict: verdict.body }, pipeline.view.now(), [])
  }

  #pass(scope: string): void {
    this.#place.session.passedOver((inner) => isCovered(scope, inner))
  }

  /** Opens the fork and returns the frozen context. On a resume, the ledger returns that of the open fork, which the record holds. */
  async #open(isHeld: boolean): Promise<JsonObject> {
    const { session } = this.#place
    const name = this.#plan.branches.map((branch) => branch.name).join(', ')
    await session.mayGoLive(this.#place, { what: 'fork', name, scope: this.#place.scope, expected: { isHeld } })
    const policies = [session.pipeline.policy, ...this.#plan.branches.map(({ manifest }) => manifest?.body.policy)]
    if (policies.some((policy) => policy?.judge === 'reject')) await session.judging.settled()
    for (const { manifest } of this.#plan.branches)
      if (manifest !== undefined) await register(session, manifest, this.#turn)
    const { connection } = liveOf(session)
    const body = forkRequest(this.#plan, session.fence)
    const reply = await reach(session, () => connection.execute(session.runId, { kind: 'fork', body }))
    if (!reply.ok) {
      this.#turn.refusedWith(reply.problem)
      throw this.#refused(new LedgerRefused(asRecorded(reply.problem)))
    }
    this.#forkId = textOf(reply.body, 'forkId')
    return reply.body.frozen as JsonObject
  }

  /** Runs a branch and reports it; resolves with whether it is valid. A branch that was reported earlier is not run again. */
  async #carry(planned: PlannedBranch<Run>, frozen: JsonObject): Promise<boolean> {
    const { name, scope } = planned
    const { session } = this.#place
    const earlier = this.#reports.get(name)
    if (earlier !== undefined) {
      this.#pass(scope)
      return isOffer(earlier)
    }
    // An earlier process already had a winner.
    if (this.#plan.join === 'first_wins' && [...this.#reports.values()].some(isOffer)) {
      this.#pass(scope)
      return false
    }
    const score = this.#options.join === 'vote' ? this.#options.score : undefined
    const outer = this.#place.branch?.signal ?? session.signal
    const signal = linkedSignal(this.#giveUp.signal, outer)
    const execution = this.#place
    const abandoned = this.#giveUp.signal
    const forks = [...(execution.branch?.forks ?? []), this.#turn]
    let report = await runBranch({ execution, planned, forks, runOf: this.#runOf, frozen, signal, abandoned, score })
    if (this.#giveUp.signal.aborted || session.failed !== undefined) return false
    const { connection } = liveOf(session)
    const ask = (reported: Reported) => {
      const body = { branch: name, ...reported, runFence: session.fence }
      const command = { kind: 'branch', forkId: this.#forkId, body } as const
      return reach(session, () => connection.execute(session.runId, command))
    }
    let reply = await ask(report)
    // The branch has ended, but its payload is too large to record.
    if (!reply.ok && TOO_LARGE.has(reply.problem.code)) {
      report = { error: failureOf(new LedgerRefused(reply.problem)) }
      reply = await ask(report)
    }
    if (!reply.ok && reply.problem.code === 'fork-joined') return false
    if (!reply.ok) throw this.#refused(new LedgerRefused(reply.problem))
    this.#note(planned, report, reply.body)
    return reply.body.status === 'offered'
  }

  #note({ name, agent }: PlannedBranch<Run>, { output, add }: Reported, answer: JsonObject): void {
    const { status, error, findings } = answer
    const offered = { payload: output, ...(add !== undefined && { add }), output: answer.output }
    const report = status === 'offered' ? offered : { status, error, findings }
    this.#reports.set(name, { branch: name, agent, report: '', ...report } as never)
  }

  /** Joins as soon as the strategy allows: at the first valid branch, or when all have reported. */
  async #joined(running: readonly Promise<boolean>[]): Promise<{ verdict: Verdict; body: JsonObject }> {
    const { session } = this.#place
    try {
      await (this.#plan.join === 'first_wins' ? firstValid(running) : Promise.all(running))
      if (session.failed !== undefined) throw session.failed
      const { connection } = liveOf(session)
      const command = { kind: 'join', forkId: this.#forkId, body: { runFence: session.fence } } as const
      const reply = await reach(session, () => connection.execute(session.runId, command))
      if (reply.ok) {
        this.#turn.answered(reply.body)
        return { verdict: verdictOf(reply.body), body: reply.body }
      }
      this.#turn.refusedWith(reply.problem)
      const refusal = new LedgerRefused(reply.problem)
      if (!FAILED.has(refusal.code)) throw this.#refused(refusal)
      return { verdict: verdictOf(refusal.evidence), body: refusal.evidence }
    } catch (error) {
      // If the run is halted, no branch has lost: concurrent branches are finished instead of aborted.
      if (session.halted === undefined) this.#abort(failureOf(error).message)
      await Promise.allSettled(running)
      throw error
    }
  }

  /** Adds the handoff of the join, in the form that a replay would read. */
  #establish(answer: JsonObject): Established {
    const { pipeline } = this.#place.session
    if (answer.outcome === 'joined') {
      const { step, agent, context, contextDigest } = answer
      const body = { v: 1, step, agent, mode: 'replace', payload: context, context: contextDigest, confidence: 1 }
      const index = this.#place.session.indexOf(answer)
      const fact = { kind: 'accepted', index, scope: undefined, occurrence: undefined, body }
      const before = pipeline.view.now().context
      pipeline.add(fact as never)
      pipeline.view.passed(index)
      const joined = { step: Number(step), agent: String(agent), before, after: context as JsonObject, findings: [] }
      this.#place.session.judging.consider(joined)
    }
    return pipeline.view.now()
  }

  /** Abandons and undoes the losers. The winner of `first_wins` is returned at once; otherwise the fork ends only when everything is undone. */
  async #ended(
    { verdict }: { readonly verdict: Verdict },
    established: Established,
    running: readonly Promise<boolean>[],
  ): Promise<ForkResult> {
    const { session } = this.#place
    this.#abort(`branch ${verdict.winners[0] ?? ''} has won`)
    // A branch that is stopped may never ask for what an earlier life recorded of it, and nothing waits for that.
    for (const { name, scope } of this.#plan.branches) if (!this.#reports.has(name)) this.#pass(scope)
    const isBehind = verdict.join === 'first_wins' && verdict.outcome === 'joined'
    const unwound = session.behind(() =>
      session.order.inOrder(
        async (turn) => {
          const unwinding = { verdict, isKept: this.#isKept(verdict), part: new RollbackTurn(session, turn) }
          return unwind(this.#place, this.#plan, { ...unwinding, running })
        },
        // What the fork itself waits for has no turn of its own.
        { isEarly: !isBehind },
      ),
    )
    if (!isBehind) await unwound
    return resultOf(verdict, { reports: this.#reports, established, unwound })
  }

  /** Whether the fork failed because something was too large to record: nothing is undone then, as for a run (RUN-196). */
  #isKept({ outcome }: Verdict): boolean {
    return (
      outcome !== 'joined' &&
      [...this.#reports.values()].some((report) => !isOffer(report) && wasTooLarge(report.error))
    )
  }

  #abort(reason: string): void {
    this.#giveUp.abort(new DOMException(`the branch was given up: ${reason}`, 'AbortError'))
  }

  #refused(refusal: LedgerRefused): LedgerRefused {
    return HALTING.has(refusal.code) ? this.#place.session.halt(refusal) : refusal
  }
}

/** Resolves at the first valid branch, or when none is left; rejects if a branch is halted. */
function firstValid(running: readonly Promise<boolean>[]): Promise<void> {
  return new Promise((resolve, reject) => {
    let remaining = running.length
    for (const branch of running) {
      branch.then((valid) => {
        remaining -= 1
        if (valid || remaining === 0) resolve()
      }, reject)
    }
  })
}

// Validation rules for the options of a fork and of its branches, applied at the call (RUN-192).

type VoteOptions = Extract<ForkOptions, { join: 'vote' }>

const BRANCH: OptionRules<BranchOf<never>> = { ...BESIDE_PAYLOAD, agent: aName, name: aName, run: callable }

const UNION: OptionRules<Exclude<ForkOptions, VoteOptions>> = {
  agent: aName,
  onDiscard: oneOf('compensate', 'keep'),
  join: oneOf('union', 'first_wins', 'vote'),
}
const VOTE: OptionRules<VoteOptions> = { ...UNION, score: callable }

/** Validates the branches and the options of `run.fork`. Throws `invalid-option`. */
function checkFork(branches: unknown, options: unknown): void {
  checkOptions('run.fork', { branches }, { branches: groups(BRANCHES_MAX, BRANCH, ['agent', 'run']) })
  const isVote = typeof options === 'object' && options !== null && 'join' in options && options.join === 'vote'
  checkOptions('run.fork', options, isVote ? VOTE : UNION, ['join'])
}

// Rolls back the branches that were not merged, like sagas (RUN-41).

interface Unwinding {
  readonly verdict: Verdict
  readonly isKept: boolean
  readonly part: RollbackTurn
  /** The branches that this life has begun. */
  readonly running: readonly Promise<unknown>[]
}

/** Undoes the branches unless `isKept`. A resume continues an interrupted rollback; a replay reads its result. */
async function unwind(
  execution: ExecutionContext,
  plan: ForkPlan<never>,
  { verdict, isKept, part, running }: Unwinding,
): Promise<readonly BranchRollback[]> {
  const { session } = execution
  const { history } = session
  const lost = verdict.receipts.flatMap(({ branch, status }) => {
    const scope = status === 'merged' ? undefined : plan.branches.find(({ name }) => name === branch)?.scope
    return scope === undefined ? [] : [{ branch, status, scope }]
  })
  const scopes = lost.map(({ scope }) => scope)
  const held = scopes.filter((scope) => history?.holdsWithin(scope) === true)
  const letGo = async (): Promise<void> => {
    await Promise.allSettled(running)
    if (history !== undefined) await settleLeftovers(session, scopes)
  }
  // Where nothing is to be undone, no event tells when the branches have ended: the code hears of it directly after the join, as from the record.
  if (plan.onDiscard === 'keep' || !scopes.some((scope) => held.includes(scope) || session.hasRequestedIn(scope))) {
    part.expects([])
    void session.behind(letGo)
    return []
  }
  part.expects(running.length > 0 ? undefined : held)
  await letGo()
  const withCalls = await scopesWithCalls(execution)
  const rollbacks = lost.map(async ({ branch, status, scope }): Promise<BranchRollback[]> => {
    const inherited = history?.run.inherited?.scopes.has(scope) === true
    if (!inherited && !withCalls.some((inner) => isCovered(scope, inner))) return []
    // Records of earlier versions contain the rollback of such a branch.
    if (isKept && history?.rolledBackAfter(scope) === undefined) return []
    const reason = new Error(`branch ${branch} of fork ${verdict.forkId} is ${status}`)
    const outcome = await rollBackScope(execution, scope, { error: reason, part })
    if (outcome.status === 'OPEN' || outcome.status === 'FAILED') return []
    const { compensated, standing, failed, unknown } = outcome
    return [{ branch, status: outcome.status, compensated, standing, failed, unknown }]
  })
  return (await allEnded(rollbacks)).flat()
}

async function scopesWithCalls({ session }: ExecutionContext): Promise<readonly string[]> {
  const { live, history, runId } = session
  const calls =
    live === undefined
      ? fatesIn(history?.run)
      : (await live.connection.calls(runId)).filter(({ phase }) => phase === 'forward').map((item) => fateOfItem(item))
  return calls.flatMap(({ scope }) => scope ?? [])
}
