/** @module Starts a run for a worker to carry on, and waits for the end of a run (RUN-220, RUN-221). */
import { LATEST_MS } from '../../../schemas/value-forms.ts'
import { LedgerError } from '../../client/errors.ts'
import { pause } from '../../client/transport.ts'
import { onAbort } from '../../resources/linked-signal.ts'
import { AgentError, LedgerRefused } from '../errors.ts'
import { aName, aSignal, checkOptions, type OptionRules } from '../option-rules.ts'
import { checkStart } from '../runtime/check-run.ts'
import type { RunEvent } from '../runtime/connection.ts'
import { currentExecution } from '../runtime/execution-context.ts'
import { type Home, recordedEnd } from '../runtime/live-run.ts'
import { type StartOptions, startRequest } from '../runtime/run-options.ts'

/** A run that was recorded for a worker. */
export interface StartedRun {
  readonly runId: string
  /** Status of the run; it has ended unless this is `open`. */
  readonly status: 'open' | 'completed' | 'failed' | 'compensated'
}

/** Options of waiting for the end of a run. */
export interface ResultOptions {
  /** An abort ends the wait with the signal's reason; the run continues. */
  readonly signal?: AbortSignal
}

const RESULT: OptionRules<ResultOptions> = { signal: aSignal }

export async function startForWorkers(
  { connection, registry }: Home,
  { name, input }: { readonly name: string; readonly input: unknown },
  startOptions: StartOptions = {},
): Promise<StartedRun> {
  checkStart(startOptions)
  const { after, ...options } = startOptions
  if (options.id === undefined && repeatsOnResume())
    throw new AgentError(
      'invalid-option',
      `cs.start in the code of a run takes an id, such as \`\${run.id}-${name}\`: without one each resume would start another run`,
    )
  const misnamed = aName(name)
  if (misnamed !== undefined) throw new AgentError('invalid-option', `cs.start takes the name of the run: ${misnamed}`)
  const body = startRequest({ ...options, name, ...(input !== undefined && { input }) }, name, registry.codecs)
  const started = await connection.execute(options.id ?? '', { kind: 'start', body: { ...body, after: timeOf(after) } })
  if (!started.ok) throw new LedgerRefused(started.problem)
  return { runId: started.body.runId, status: started.body.status }
}

/** Whether the calling code is the code of a run, which a resume runs again, rather than a tool, whose work is recorded. */
function repeatsOnResume(): boolean {
  const here = currentExecution()
  return here !== undefined && here.context === undefined
}

/** A time in the past, which the ledger takes as the present by its own clock. */
const AT_ONCE = '1970-01-01T00:00:00.000Z'

function timeOf(after: StartOptions['after']): string {
  if (after === undefined) return AT_ONCE
  const ms = after instanceof Date ? after.getTime() : typeof after === 'number' ? Date.now() + after : Number.NaN
  if (!(ms >= 0 && ms <= LATEST_MS))
    throw new AgentError('invalid-option', 'cs.start: after is a Date from 1970 to 9999, or milliseconds from now')
  return new Date(ms).toISOString()
}

const ENDS = { completed: 'RunCompleted', failed: 'RunFailed', compensated: 'RunCompensated' } as const

/** How an event of this type ends a run; undefined if it does not. */
function endBy(type: string): keyof typeof ENDS | undefined {
  return (Object.keys(ENDS) as (keyof typeof ENDS)[]).find((status) => ENDS[status] === type)
}

/** How long a run is left alone between two looks at it. */
const LOOK_MS = 500
const LOOK_MAX_MS = 5_000

/** Events of the run up to its end. If the tenant has no slot for another tail, the run is polled. */
async function* eventsToEnd(
  { connection }: Pick<Home, 'connection'>,
  runId: string,
  signal: AbortSignal,
): AsyncGenerator<Pick<RunEvent, 'type' | 'data'>, void> {
  for (let pauseMs = LOOK_MS; ; pauseMs = Math.min(2 * pauseMs, LOOK_MAX_MS)) {
    try {
      return yield* connection.tail({ runId, signal })
    } catch (error) {
      if (!isNoSlot(error)) throw error
    }
    const { status } = await connection.run(runId)
    if (status !== 'open') return yield* connection.events(runId, ENDS[status])
    await pause(pauseMs, signal).catch(() => undefined)
    if (signal.aborted) return
  }
}

function isNoSlot(error: unknown): boolean {
  return error instanceof LedgerError && error.code === 'too-many-streams'
}

/** Whether the calling code belongs to this run, to a tool of it, or to a run within it, and is still in progress. */
function isWithin({ registry }: Home, runId: string): boolean {
  const here = currentExecution()
  if (here === undefined || here.session.registry !== registry) return false
  const { session, undoing } = here
  return session.runs.includes(runId) && (undoing === true || !session.isClosed)
}

/** Waits for the end of a run and resolves with its output. Throws `run-failed`, `run-rolled-back`, and `recursive-call` inside the run. */
export async function resultOf(home: Home, runId: string, options: ResultOptions = {}): Promise<unknown> {
  checkOptions('cs.result', options, RESULT)
  if (typeof runId !== 'string' || runId === '')
    throw new AgentError('invalid-option', 'cs.result takes the id of a run, a text that is not empty')
  if (isWithin(home, runId))
    throw new AgentError(
      'recursive-call',
      `the code of the run ${runId} waits for its own result, and neither would end: use what it has, or ask outside of the run`,
      { id: runId },
    )
  const { connection } = home
  const { signal } = options
  signal?.throwIfAborted()
  const over = new AbortController()
  const leave = signal && onAbort(signal, () => over.abort())
  try {
    for await (const { type, data } of eventsToEnd(home, runId, over.signal)) {
      const status = endBy(type)
      if (status === undefined) continue
      const { redacted: outputRedacted, ...ended } = data
      const lacking = type === 'RunCompleted' && outputRedacted !== undefined ? { outputRedacted } : {}
      return await recordedEnd(home, { runId, isChild: false }, {
        ...ended,
        ...lacking,
        status,
      } as Parameters<typeof recordedEnd>[2])
    }
  } finally {
    leave?.()
    over.abort()
  }
  signal?.throwIfAborted()
  throw new AgentError('closed', `${connection.place} was closed before the run ${runId} ended`)
}
