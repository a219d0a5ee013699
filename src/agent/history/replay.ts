/** @module Replay: runs the same code over a recorded run. No tool is called and nothing is written; the first divergence ends the replay. */
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { canonicalJson } from '../../signing/canonical-json.ts'
import { recordIn } from '../branch/read-record.ts'
import { CALL_VALUE, recordable } from '../calls/recordable.ts'
import { memberValue } from '../calls/stored-value.ts'
import type { ToolRegistry } from '../calls/tool-spec.ts'
import { ResumeDiverged } from '../errors.ts'
import { RecordedRequests } from '../models/conversation.ts'
import type { Connection, RunEvent } from '../runtime/connection.ts'
import { type ExecutionContext, runWithin } from '../runtime/execution-context.ts'
import { awaitForgotten, type Body } from '../runtime/live-run.ts'
import { runOf } from '../runtime/run.ts'
import { Session } from '../runtime/session.ts'
import { outcomeIn, type RunOutcome } from '../saga/outcome.ts'
import { notRecordable } from '../too-large.ts'
import { inRunSpan } from '../tracing/run-span.ts'
import { isOnRecord, readExport } from './read-export.ts'
import { RecordedHistory } from './recorded-history.ts'
import type { RecordedRun } from './recorded-run.ts'
import { mustBeWhole } from './redacted-parts.ts'

/** The run to replay: its id in the ledger, or the file of its JSONL export. */
export type ReplaySource = string | { readonly file: string }

/** The result of a replay that reached the recorded end of the run. */
export interface ReplayResult<Output> {
  readonly verdict: 'exact'
  readonly runId: string
  /**
   * How the record was verified before use. `seals`: the connected ledger holds these events and checked their MACs. `links`: the file is from another ledger,
   * and only its digests and links were checked, which anyone who has the file can recompute. `countersign verify` checks it with that ledger's keys.
   */
  readonly checked: 'seals' | 'links'
  /** Number of forward calls that were served. */
  readonly calls: number
  readonly end: 'completed' | 'failed' | 'compensated' | 'open'
  /** Set if the run completed. */
  readonly output?: Output
  /** Set if the run failed: the error that the code threw, and the outcome of a rollback. */
  readonly error?: unknown
  readonly outcome?: RunOutcome
}

/** Runs the code on a record. Throws `ResumeDiverged` (code `replay-diverged`), whose `evidence` holds the expected and the actual value. */
export async function replayRun<Input, Output>(
  home: { readonly connection: Connection; readonly registry: ToolRegistry },
  source: ReplaySource,
  body: Body<Input, Output>,
): Promise<ReplayResult<Awaited<Output>>> {
  const { runId, events, checked } = await sourceOf(home.connection, source)
  const record = await recordIn(home.connection, { runId, events }, Number.POSITIVE_INFINITY)
  mustBeWhole(record)
  mustTellRequests(record)
  const recollection = new RecordedHistory(record, 'replay-diverged')
  const session = new Session({ runId, registry: home.registry, history: recollection, values: home.connection })
  const calls = [...new Set(record.calls.values())].filter(({ phase }) => phase !== 'compensation').length
  const document = { verdict: 'exact', runId, checked, calls, end: record.end?.kind ?? 'open' } as const

  const input = home.registry.codecs.decode(
    await memberValue(home.connection, { runId, body: record, name: 'input' }),
  ) as Input
  const attributes = { 'gen_ai.conversation.id': runId, 'countersign.replayed': true }
  const came = await inRunSpan({ name: record.name, attributes }, (span) => {
    const execution: ExecutionContext = { session, dedupe: 'args', ancestors: [], ...(span && { span }) }
    return ended(session, () => runWithin(execution, () => body(runOf(execution, input))))
  })
  if (session.halted !== undefined) throw session.halted
  session.mustBeSpent()
  if ('error' in came) {
    if (record.end?.kind === 'completed') throw diverged('completed', { failed: String(came.error) }, came.error)
    return {
      ...document,
      error: came.error,
      ...(record.end?.kind === 'compensated' && { outcome: outcomeIn(record, runId) }),
    }
  }
  await mustMatchEnd(home.connection, record, came.output)
  return { ...document, output: home.registry.codecs.decode(came.output) as Awaited<Output> }
}

/** Checks that every model request that the record holds as a change can be restored in full. Throws `conversation-broken`. */
function mustTellRequests({ calls }: RecordedRun): void {
  const requests = new RecordedRequests()
  for (const { phase, args } of new Set(calls.values())) if (phase === 'model') requests.whole(args)
}

async function ended(
  session: Session,
  body: () => unknown,
): Promise<{ readonly output: Json } | { readonly error: unknown }> {
  try {
    const came = await body()
    await awaitForgotten(session)
    const output = recordable(came, session.registry.codecs, CALL_VALUE)
    if (!output.ok) throw notRecordable('the output of the run', output)
    return { output: output.value }
  } catch (error) {
    return { error }
  } finally {
    session.close()
  }
}

async function mustMatchEnd(connection: Connection, { runId, end }: RecordedRun, output: Json): Promise<void> {
  if (end === undefined) return
  if (end.kind !== 'completed') throw diverged(end.kind, { completed: output })
  const recorded = await memberValue(connection, { runId, body: end, name: 'output' })
  if (canonicalJson(recorded) !== canonicalJson(output)) throw diverged({ output: recorded }, { output })
}

function diverged(expected: Json, actual: JsonObject, cause?: unknown): ResumeDiverged {
  const error = new ResumeDiverged(
    'the code comes to another end than the record',
    { expected, actual },
    'replay-diverged',
  )
  if (cause !== undefined) error.cause = cause
  return error
}

async function sourceOf(
  connection: Connection,
  source: ReplaySource,
): Promise<{ runId: string; events: AsyncIterable<RunEvent>; checked: ReplayResult<unknown>['checked'] }> {
  if (typeof source === 'string') return { runId: source, events: connection.events(source), checked: 'seals' }
  const exported = await readExport(source.file)
  const isVerified = await isOnRecord(connection, source.file, exported)
  return { runId: exported.runId, events: each(exported.events), checked: isVerified ? 'seals' : 'links' }
}

async function* each(events: readonly RunEvent[]): AsyncGenerator<RunEvent, void> {
  yield* events
}
