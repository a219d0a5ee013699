/** @module The ledger as the runtime sees it: the same over HTTP and in process. */
import type { AnswerTo } from '../../../schemas/answers/commands.ts'
import type { ContextAnswer, RunAnswer } from '../../../schemas/answers/runs.ts'
import type { LedgerErrorCode } from '../../../schemas/error-code.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import type { BatchItem, Command } from '../../client/commands.ts'
import type { RunFilter, TailOptions } from './read-types.ts'

/** A refusal of the ledger: a stable code, a sentence, and its evidence. */
export interface Problem {
  readonly code: LedgerErrorCode
  readonly detail: string
  readonly retryAfterMs?: number
  /** Of the event that records the refusal, where the ledger tells it. */
  readonly revision?: number
  readonly evidence: JsonObject
}

export type Reply<Body extends JsonObject = JsonObject> =
  /** `created`: the command recorded something new. */
  | { readonly ok: true; readonly created: boolean; readonly body: Body }
  | { readonly ok: false; readonly problem: Problem }

export interface ExecuteOptions {
  readonly idempotencyKey?: string
  /** Default: that of the code which asks. */
  readonly traceparent?: string | undefined
}

/** A command of a batch, in whose place it was requested. */
export interface TracedCommand {
  readonly command: Command
  readonly traceparent?: string | undefined
}

/** An event as the runtime reads it. */
export interface RunEvent {
  readonly type: string
  readonly time: string
  readonly data: JsonObject
  /** Of its sealed header, as the ledger that answers names it. */
  readonly digest?: string
}

/** An event as it comes. `runId` is absent of the ledger's own. */
export interface TailedEvent {
  readonly eventId: string
  readonly runId?: string
  readonly revision: number
  readonly type: string
  /** RFC 3339 in UTC. */
  readonly time: string
  readonly actor: string
  readonly data: JsonObject
  /** Of its sealed header. */
  readonly digest: string
  /** `invalid`: it is not as it was sealed. */
  readonly seal?: 'valid' | 'invalid'
}

export function tracedItem(runId: string, command: Command, traceparent: string | undefined): BatchItem {
  return traceparent === undefined ? { runId, command } : { runId, command, traceparent }
}

/** A claim names the process that will carry it out. */
export function ownedBy<C extends Command>(owner: string | undefined, command: C): C {
  return owner === undefined || command.kind !== 'claim' ? command : { ...command, body: { ...command.body, owner } }
}

/** Refusals are replies. Methods throw `UnreachableError` where no answer comes, and `LedgerError` for a refused read. */
export interface Connection extends AsyncDisposable {
  /** This process as the ledger knows it, where its death could be proved: holder of the leases of what it claims. */
  readonly owner?: string
  /** Where this process serves the ledger, where it does. */
  readonly url?: string
  /** A path or a URL, for messages. */
  readonly place: string
  execute<C extends Command>(runId: string, command: C, options?: ExecuteOptions): Promise<Reply<AnswerTo<C>>>
  /** Commands of one run, carried out in order. */
  batch(runId: string, commands: readonly TracedCommand[]): Promise<readonly Reply[]>
  /** State of a run: totals, what is open, what it waits for. */
  run(runId: string): Promise<RunAnswer>
  /** The context that is established now. */
  context(runId: string): Promise<ContextAnswer>
  /** All calls of a run, in order of their latest claim. */
  calls(runId: string): Promise<readonly JsonObject[]>
  /** Each rollback with its plan. */
  compensations(runId: string): Promise<readonly JsonObject[]>
  /** What somebody in the tenant can still decide, with the arguments. */
  approvals(): AsyncIterable<JsonObject>
  approval(runId: string, approvalId: string): Promise<JsonObject>
  /** A large value that the run's events name by its digest. */
  value(runId: string, digest: string): Promise<Json>
  /** What was spent and reserved, with the limits. */
  budget(runId: string): Promise<JsonObject>
  /** Events by revision, of one type where it is named. */
  events(runId: string, type?: string): AsyncIterable<RunEvent>
  /** Ids of the runs of a status, started since a time where one is named (RFC 3339). */
  runs(filter: {
    readonly status: 'open' | 'compensated'
    /** How the last rollback ended. */
    readonly compensation?: NonNullable<RunFilter['compensation']>
    readonly since?: string
  }): AsyncIterable<string>
  /** The same, and any other run, as the list shows them. */
  runRows(filter: RunFilter): AsyncIterable<JsonObject>
  /** Events of a run or of the tenant: those there are, then those that come. Ends with the signal. */
  tail(options: Omit<TailOptions, 'types'>): AsyncIterable<TailedEvent>
  /** The JSONL export of a run. */
  exportRun(runId: string): AsyncIterable<string>
}

/** What is read of a run by its id. */
export type Reads = Pick<Connection, 'value' | 'calls' | 'budget'>
