/** @module `cs.run` inside a run: starts a child run that is also a call of the enclosing run (RUN-56 to RUN-58). */
import { LedgerError, UnreachableError } from '../../client/errors.ts'
import { callTool } from '../calls/call.ts'
import { childSpec, childToolName } from '../calls/child-run.ts'
import type { CallContext } from '../calls/tool-options.ts'
import { AgentError, LedgerRefused, OutcomeUnknown } from '../errors.ts'
import { outcomeOf, type RunOutcome } from '../saga/outcome.ts'
import { currentExecution, type ExecutionContext } from './execution-context.ts'
import type { Home, RunRequest } from './live-run.ts'
import { type RunOptions, startRequest } from './run-options.ts'

/** A run to be started, and its start function. */
export interface Starting<Input, Output> {
  readonly kind: 'run' | 'saga'
  readonly options: RunOptions<Input>
  /** Name of the body function, used if the options have no name. */
  readonly name: string
  readonly start: (request: RunRequest<Input>) => Promise<Output>
}

/** Inside the function of a run of this ledger, starts a call of that run unless `detached` is set; otherwise starts an independent run. */
export function startHere<Input, Output>(home: Home, starting: Starting<Input, Output>): Promise<Output> {
  const { options, start } = starting
  const execution = currentExecution()
  const isWithin = execution?.session.registry === home.registry && execution.undoing !== true
  if (isWithin && options.detached !== true) return startWithin(home, execution, starting)
  return home.running.start(starting, () => start({ options }))
}

async function startWithin<Input, Output>(
  { registry }: Home,
  execution: ExecutionContext,
  { options, name: fallback, start }: Starting<Input, Output>,
): Promise<Output> {
  const { session } = execution
  const { name } = startRequest(options, fallback, registry.codecs)
  const { whenOwned = session.whenOwned, whenWaiting = session.whenWaiting, ...own } = options
  const execute = async (_: unknown, { callId, signal }: CallContext): Promise<Output> => {
    let ended: RunOutcome | undefined
    const callers = currentExecution()?.ancestors ?? []
    const fence = callers.at(-1)?.fence ?? 1
    try {
      return await start({
        options: { signal, ...own, whenWaiting, ...(whenOwned !== undefined && { whenOwned }) },
        childOf: { run: session.runId, callId, fence },
        outer: {
          ...{ leaving: session.leaving, callers, runs: session.runs },
          isCarried: session.isCarried,
          ownRuns: session.ownRuns,
        },
        onStarted: ({ runId }) => session.ownRuns.add(runId),
        onFailed: (outcome) => {
          ended = outcome
        },
      })
    } catch (error) {
      throw failureIn(execution, error, ended ?? outcomeOf(error))
    }
  }
  const spec = { ...childSpec(childToolName(name), execute), codecs: registry.codecs }
  return (await callTool(execution, spec, options.input ?? null)) as Output
}

/** After these refusals the state of the child run is unknown. */
const STAYS_OPEN: ReadonlySet<string> = new Set([
  'run-exists',
  'run-owned',
  'run-taken-over',
  'stale-fence',
  'unauthenticated',
])

/** If the child is halted without having ended, the enclosing run is halted, too, so that it can be resumed. */
function failureIn({ session }: ExecutionContext, error: unknown, outcome: RunOutcome | undefined): unknown {
  if (outcome === undefined ? mayStayOpen(error) : outcome.status === 'OPEN') {
    return session.halt(error instanceof Error ? error : new TypeError(String(error)))
  }
  if (outcome?.status !== 'IN_DOUBT') return error
  return new OutcomeUnknown(`the run ${outcome.runId} ended in doubt`, { cause: error })
}

function mayStayOpen(error: unknown): boolean {
  if (error instanceof LedgerRefused) return STAYS_OPEN.has(error.code)
  if (error instanceof AgentError) return error.code.endsWith('-diverged')
  return error instanceof UnreachableError || error instanceof LedgerError
}
