/** @module The audit document of a saga, and its text report. */
import type { Json } from '../../../schemas/json.ts'
import type { Failure } from '../../../schemas/values.ts'
import type { CallRef, CompensatedCall, RollbackLists, RollbackStatus } from './outcome.ts'

/** The outcome of a step, including its compensation. */
export type StepStatus =
  | 'succeeded'
  | 'failed'
  | 'in-doubt'
  | 'compensated'
  | 'compensation-failed'
  | 'compensation-in-doubt'
  | 'not-run'

/** One step of a saga, as it ended. */
export interface StepReport {
  readonly id: string
  /** Number of the group, counted from 1. */
  readonly group: number
  readonly tool: string
  readonly args: Json
  readonly status: StepStatus
  readonly attempts: number
  readonly callId?: string
  readonly result?: Json
  readonly error?: Failure
  readonly startedAt?: string
  readonly endedAt?: string
  /** When the ledger recorded the compensation; present only for a step that was undone. */
  readonly compensatedAt?: string
}

/** The audit document of a saga as plain JSON: the outcome of the saga and of each step, and the calls that were undone. Times are RFC 3339 in UTC. */
export interface SagaResult {
  readonly runId: string
  readonly scope: string
  /** `PARTLY_SUCCEEDED`: some steps failed, but the saga continued because of their `onFailure`. After a rollback, the status of the rollback. */
  readonly status: 'SUCCESS' | 'PARTLY_SUCCEEDED' | RollbackStatus
  /** Number of attempts of the whole saga. */
  readonly tries: number
  readonly startedAt: string
  readonly endedAt: string
  readonly steps: readonly StepReport[]
  readonly error?: Failure
  readonly compensated: readonly CompensatedCall[]
  readonly standing: readonly CallRef[]
  readonly failed: readonly CallRef[]
  readonly unknown: readonly CallRef[]
}

/** Passes the last failure of a saga to the run that it is. */
export class SagaFailed extends Error {
  readonly result: SagaResult

  constructor(result: SagaResult, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.name = 'SagaFailed'
    this.result = result
  }
}

/** Updates the status of steps after a rollback. */
export function afterRollback(steps: readonly StepReport[], lists: RollbackLists): StepReport[] {
  const compensated = new Map(lists.compensated.map((call) => [call.callId, call]))
  const failed = idsOf(lists.failed)
  const unknown = idsOf(lists.unknown)
  return steps.map((step) => {
    const { callId = '' } = step
    const undone = compensated.get(callId)
    if (undone !== undefined) {
      const { compensatedAt } = undone
      return { ...step, status: 'compensated', ...(compensatedAt !== undefined && { compensatedAt }) }
    }
    if (failed.has(callId)) return { ...step, status: 'compensation-failed' }
    if (unknown.has(callId) && step.status === 'succeeded') return { ...step, status: 'compensation-in-doubt' }
    return step
  })
}

function idsOf(refs: readonly CallRef[]): ReadonlySet<string> {
  return new Set(refs.map(({ callId }) => callId))
}

/**
 * Formats the audit document as a text table.
 * @example
 * ```ts
 * import { open, sagaReport } from 'countersign/agent'
 *
 * await using cs = await open({ path: ':memory:' })
 * const pay = cs.tool(async (cents: number) => `p-${cents}`, { name: 'pay', compensate: 'not-needed' })
 * const result = await cs.saga([{ tool: pay, args: [100] }], { name: 'order' })
 * console.log(sagaReport(result))
 * ```
 */
export function sagaReport(result: SagaResult): string {
  const { runId, scope, status, tries, startedAt, endedAt, steps, error } = result
  const rows = steps.map((step) => [
    step.id,
    step.tool,
    step.status,
    `${step.attempts}`,
    step.startedAt !== undefined && step.endedAt !== undefined
      ? `${Date.parse(step.endedAt) - Date.parse(step.startedAt)} ms`
      : '',
    step.error?.message ?? [short(step.result), undoneText(step)].filter((text) => text !== '').join('; '),
  ])
  const table = columns([['step', 'tool', 'status', 'attempts', 'took', 'result or error'], ...rows])
  const begun = tries === 1 ? '' : `, begun ${tries} times`
  const tookMs = Date.parse(endedAt) - Date.parse(startedAt)
  const head = `saga ${scope} of run ${runId}: ${status}${begun} (${startedAt}, ${tookMs} ms)`
  return [head, ...table, ...(error === undefined ? [] : [`error: ${plain(error.message)}`])].join('\n')
}

function undoneText({ compensatedAt }: StepReport): string {
  return compensatedAt === undefined ? '' : `undone ${compensatedAt}`
}

const SHORT_CHARS = 60

function short(value: Json | undefined): string {
  const text = value === undefined ? '' : JSON.stringify(value)
  return text.length > SHORT_CHARS ? `${text.slice(0, SHORT_CHARS)}…` : text
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const printed = rows.map((row) => row.map(plain))
  const widths = (printed[0] ?? []).map((_, i) => Math.max(...printed.map((row) => row[i]?.length ?? 0)))
  return printed.map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  ')}`.trimEnd())
}

/** One line without control characters, so that the output of a tool cannot control a terminal. */
function plain(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ')
}
