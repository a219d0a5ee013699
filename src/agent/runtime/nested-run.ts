/** @module `cs.run` inside a run: a run of its own that is a call of the one around it (RUN-56 to RUN-58). */
import { LedgerError, UnreachableError } from '../../client/errors.ts'
import { callTool } from '../calls/call.ts'
import { childSpec, childToolName } from '../calls/child-run.ts'
import type { CallContext } from '../calls/tool-options.ts'
import { AgentError, LedgerRefused, OutcomeUnknown } from '../errors.ts'
import { outcomeOf, type RunOutcome } from '../saga/outcome.ts'
import { currentExecution, type ExecutionContext } from './execution-context.ts'
import type { Home, RunRequest } from './live-run.ts'
import { type RunOptions, startRequest } from './run-options.ts'

/** A run that is to be started, and how. */
export interface Starting<Input, Output> {
  readonly kind: 'run' | 'saga'
  readonly options: RunOptions<Input>
  /** Of its function, where the options name none. */
  readonly name: string
  readonly start: (request: RunRequest<Input>) => Promise<Output>
}

/** Inside the function of a run of this ledger: a call of that run, unless `detached` is requested. Else a run of its own. */
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
    const fence = currentExecution()?.ancestors.at(-1)?.fence ?? 1
    try {
      return await start({
        options: { signal, ...own, whenWaiting, ...(whenOwned !== undefined && { whenOwned }) },
        childOf: { run: session.runId, callId, fence },
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

/** After these nobody can say what became of the child. */
const STAYS_OPEN: ReadonlySet<string> = new Set([
  'run-exists',
  'run-owned',
  'run-taken-over',
  'stale-fence',
  'unauthenticated',
])

/** Where the child goes no further and has not ended, the run around it stays as it is, too: to be resumed. */
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
