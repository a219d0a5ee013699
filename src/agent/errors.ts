/** @module Every error of the runtime: a stable code, and what a program or a person needs to go on. */
import type { Json, JsonObject } from '../../schemas/json.ts'
import type { Failure } from '../../schemas/values.ts'
import type { Established, Finding } from './pipeline/handoff-types.ts'
import type { Problem } from './runtime/connection.ts'

export type AgentErrorCode =
  | 'no-active-run'
  | 'tool-unnamed'
  | 'run-unnamed'
  | 'tool-registered-twice'
  | 'unknown-tool'
  | 'unknown-compensation'
  | 'invalid-arguments'
  | 'invalid-saga'
  | 'invalid-budget'
  | 'invalid-model-message'
  | 'max-turns'
  | 'script-over'
  | 'not-recordable'
  | 'invalid-codec'
  | 'codec-failed'
  | 'codec-missing'
  | 'invalid-manifest'
  | 'handoff-in-step'
  | 'handoff-in-branch'
  | 'handoff-refused'
  | 'invalid-step'
  | 'invalid-agent'
  | 'invalid-output'
  | 'invalid-slice'
  | 'invalid-embedding'
  | 'invalid-token-count'
  | 'missing-key'
  | 'missing-query'
  | 'recursive-call'
  | 'call-in-doubt'
  | 'resume-diverged'
  | 'replay-diverged'
  | 'branch-diverged'
  | 'parent-not-readable'
  | 'run-not-found'
  | 'invalid-fork'
  | 'invalid-score'
  | 'fork-failed'
  | 'fork-conflict'
  | 'result-not-recorded'
  | 'outcome-not-recorded'
  | 'run-rolled-back'
  | 'run-failed'
  | 'not-an-export'
  | 'setting-missing'
  | 'package-missing'
  | 'closed'

/** A fault that the runtime found itself. */
export class AgentError extends Error {
  readonly code: string
  /** What was expected and what came, or what is at fault: plain JSON. */
  readonly evidence: JsonObject

  constructor(
    code: AgentErrorCode | (string & {}),
    message: string,
    evidence: JsonObject = {},
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = new.target.name
    this.code = code
    this.evidence = evidence
  }
}

/** The ledger refused: `code` is the ledger's own. */
export class LedgerRefused extends AgentError {
  readonly retryAfterMs: number | undefined

  constructor({ code, detail, evidence, retryAfterMs }: Problem) {
    super(code, detail, evidence)
    this.retryAfterMs = retryAfterMs
  }
}

/** To be thrown by a tool that cannot tell whether it did what it was asked for. */
export class OutcomeUnknown extends Error {
  readonly code = 'outcome-unknown'

  constructor(message = 'the outcome is not known', options?: ErrorOptions) {
    super(message, options)
    this.name = 'OutcomeUnknown'
  }
}

/** Whether a call was executed is not known: find out, then resolve it. It is never run again silently. */
export class InDoubt extends AgentError {
  constructor(call: { tool: string; callId: string }, options?: ErrorOptions) {
    const details = { tool: call.tool, callId: call.callId }
    super('call-in-doubt', `whether ${call.tool} was executed is not known (call ${call.callId})`, details, options)
  }
}

/** Of a resume, of a replay, or of the part of another run that a branch is served. */
export type DivergenceCode = 'resume-diverged' | 'replay-diverged' | 'branch-diverged'

/** The code asks for something else than the record holds. Nothing ran; the run stays open. */
export class ResumeDiverged extends AgentError {
  constructor(message: string, details: JsonObject, code: DivergenceCode = 'resume-diverged') {
    super(code, message, details)
  }
}

/** What an agent gave contradicts what was established, or its manifest: the run was rewound, and no repair is left. */
export class HandoffRefused extends AgentError {
  readonly findings: readonly Finding[]
  /** What is established now. */
  readonly restored: Established
  /** How often the agent was asked. */
  readonly attempts: number

  constructor(agent: string, attempts: number, refused: { findings: readonly Finding[]; restored: Established }) {
    const { findings, restored } = refused
    const first = findings.find(({ severity }) => severity === 'error') ?? findings[0]
    const why = first === undefined ? '' : `: ${first.rule} at ${first.path || 'the whole'}: ${first.message}`
    super('handoff-refused', `the handoff of ${agent} was refused${why}`, {
      agent,
      attempts,
      findings: findings as unknown as Json,
      restoredStep: restored.step,
    })
    this.findings = findings
    this.restored = restored
    this.attempts = attempts
  }
}

/** A failure of a tool as the record holds it: served on resume and replay in place of the error that was thrown then. */
export class RecordedFailure extends Error {
  readonly code: string | undefined
  readonly evidence: Json | undefined

  constructor({ message, code, details }: Failure) {
    super(message)
    this.name = nameIn(details) ?? 'RecordedFailure'
    this.code = code
    this.evidence = details
  }
}

/** The tool ran and what it did could not be recorded: `result` is what it gave. */
export class OutcomeNotRecorded extends AgentError {
  readonly result: unknown

  constructor(call: { tool: string; callId: string }, result: unknown, options?: ErrorOptions) {
    const details = { tool: call.tool, callId: call.callId }
    super('outcome-not-recorded', `the outcome of ${call.tool} could not be recorded`, details, options)
    this.result = result
  }
}

const MESSAGE_MAX_CHARS = 16_000
const NAME_MAX_CHARS = 256

/** What the record keeps of anything that was thrown. */
export function failureOf(error: unknown): Failure {
  if (!(error instanceof Error)) return { message: clip(String(error), MESSAGE_MAX_CHARS) }
  const code = 'code' in error && typeof error.code === 'string' ? clip(error.code, NAME_MAX_CHARS) : ''
  return {
    message: clip(error.message, MESSAGE_MAX_CHARS),
    ...(code !== '' && { code }),
    details: { name: clip(error.name, NAME_MAX_CHARS) },
  }
}

/** Cut, and without half a surrogate pair. */
export function clip(text: string, maxChars: number): string {
  return text
    .slice(0, maxChars)
    .replaceAll(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, '\ufffd')
}

function nameIn(details: Json | undefined): string | undefined {
  if (typeof details !== 'object' || details === null || !('name' in details)) return undefined
  return typeof details.name === 'string' ? details.name : undefined
}
