/** @module The ledger interface that the runtime uses, the same over HTTP and in process. */

import type { AnswerTo } from '../../../schemas/answers/commands.ts'
import type { ContextAnswer, RunAnswer } from '../../../schemas/answers/runs.ts'
import type { LedgerErrorCode } from '../../../schemas/error-code.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { DuePage, DueQuery } from '../../client/client.ts'
import type { BatchItem, Command } from '../../client/commands.ts'
import { UnreachableError } from '../../client/errors.ts'
import type { RunFilter, TailOptions } from './read-types.ts'

/** A refusal of the ledger: a stable code, a sentence, and its evidence. */
export interface Problem {
  readonly code: LedgerErrorCode
  readonly detail: string
  readonly retryAfterMs?: number
  /** Revision of the event that records the refusal, if the ledger returns it. */
  readonly revision?: number
  readonly evidence: JsonObject
}

export type Reply<Body extends JsonObject = JsonObject> =
  /** `created`: the command appended something new. */
  | { readonly ok: true; readonly created: boolean; readonly body: Body }
  | { readonly ok: false; readonly problem: Problem }

export interface ExecuteOptions {
  readonly idempotencyKey?: string
  /** Default: the trace context of the calling code. */
  readonly traceparent?: string | undefined
}

/** A command of a batch, with the trace context of the code that requested it. */
export interface TracedCommand {
  readonly command: Command
  readonly traceparent?: string | undefined
}

/** An event as the runtime reads it. */
export interface RunEvent {
  readonly type: string
  readonly time: string
  readonly data: JsonObject
  /** Digest of the sealed header, as the answering ledger reports it. */
  readonly digest?: string
}

/** An event as a tail returns it. `runId` is absent for the ledger's own events. */
export interface TailedEvent {
  readonly eventId: string
  readonly runId?: string
  readonly revision: number
  readonly type: string
  /** RFC 3339 in UTC. */
  readonly time: string
  readonly actor: string
  readonly data: JsonObject
  /** Digest of the sealed header. */
  readonly digest: string
  /** `invalid`: the event differs from what was sealed. */
  readonly seal?: 'valid' | 'invalid'
}

export function tracedItem(runId: string, command: Command, traceparent: string | undefined): BatchItem {
  return traceparent === undefined ? { runId, command } : { runId, command, traceparent }
}

/** Adds the owning process to a claim; other commands are returned unchanged. */
export function ownedBy<C extends Command>(owner: string | undefined, command: C): C {
  return owner === undefined || command.kind !== 'claim' ? command : { ...command, body: { ...command.body, owner } }
}

/** A worker that is to stop asks a ledger that it could not reach no further (RUN-278); a retry is of no use. */
export class NotAskedAgain extends UnreachableError {}

/** Refusals are returned as replies. Methods throw `UnreachableError` if no answer arrives, and `LedgerError` for a refused read. */
export interface Connection extends AsyncDisposable {
  /** Id of this process as the holder of its leases; set only if the ledger could prove the death of the process. */
  readonly owner?: string
  /** URL at which this process serves the ledger, if it does. */
  readonly url?: string
  /** A path or a URL, for messages. */
  readonly place: string
  execute<C extends Command>(runId: string, command: C, options?: ExecuteOptions): Promise<Reply<AnswerTo<C>>>
  /** Commands of one run, executed in order. */
  batch(runId: string, commands: readonly TracedCommand[]): Promise<readonly Reply[]>
  /** State of a run: totals, open calls, and pending waits. */
  run(runId: string): Promise<RunAnswer>
  /** The currently established context. */
  context(runId: string): Promise<ContextAnswer>
  /** All calls of a run, ordered by their latest claim. */
  calls(runId: string): Promise<readonly JsonObject[]>
  /** Each rollback with its plan. */
  compensations(runId: string): Promise<readonly JsonObject[]>
  /** Approvals of the tenant that can still be decided, with the arguments. */
  approvals(): AsyncIterable<JsonObject>
  approval(runId: string, approvalId: string): Promise<JsonObject>
  /** A large value that an event of the run references by its digest. */
  value(runId: string, digest: string): Promise<Json>
  /** Spent and reserved amounts, with the limits. */
  budget(runId: string): Promise<JsonObject>
  /** Events by revision, restricted to `type` if given. */
  events(runId: string, type?: string): AsyncIterable<RunEvent>
  /** Ids of runs with this status, started at or after `since` (RFC 3339) if given. */
  runs(filter: {
    readonly status: 'open' | 'compensated'
    /** Result of the last rollback. */
    readonly compensation?: NonNullable<RunFilter['compensation']>
    readonly since?: string
  }): AsyncIterable<string>
  /** Rows of the run list, with any filter. */
  runRows(filter: RunFilter): AsyncIterable<JsonObject>
  /** Runs that a worker may carry on; if there are none, waits for one, for at most `waitSeconds`. */
  due(query: DueQuery, wait: { readonly waitSeconds: number; readonly signal: AbortSignal }): Promise<DuePage>
  /** Events of a run or of the tenant: the existing ones, then new ones. Ends when the signal is aborted. */
  tail(options: Omit<TailOptions, 'types'>): AsyncIterable<TailedEvent>
  /** The JSONL export of a run. */
  exportRun(runId: string): AsyncIterable<string>
}

/** The read access to a run that code within it needs. */
export type Reads = Pick<Connection, 'value' | 'calls' | 'budget'>
