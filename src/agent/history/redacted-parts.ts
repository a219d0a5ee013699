/** @module Errors for values that redaction left out of a record: code never receives a marker in place of a value (RUN-98). */
import { lacks } from '../../../schemas/redacted-parts.ts'
import type { Redacted } from '../../../schemas/redaction.ts'
import { AgentError } from '../errors.ts'

/** Halts a resume, and ends a replay, at a call. */
export function redactedResultError(tool: string, callId: string): AgentError {
  const message = `what ${tool} gave was left out of the record by the policy (call ${callId}), at least in part: get the value elsewhere, or give the tool a check that returns it`
  return new AgentError('result-redacted', message, { tool, callId })
}

/** A run that is replayed or branched must have a complete record of the values its code received and of the calls it made. Throws `result-redacted`. */
export function mustBeWhole({
  runId,
  redacted,
}: {
  readonly runId: string
  readonly redacted: readonly string[]
}): void {
  const [first] = redacted
  if (first === undefined) return
  const message = `the policy left ${first} of the run ${runId} out of the record: its code cannot be run again on what is left`
  throw new AgentError('result-redacted', message, { runId, member: first })
}

/** A worker has the input of a run from its record only. Throws `result-redacted`. */
export function mustHaveInput({
  runId,
  redacted,
}: {
  readonly runId: string
  readonly redacted: readonly string[]
}): void {
  if (!redacted.includes(PART_NAMES.input)) return
  const message = `the input of the run ${runId} was left out of the record by the policy, at least in part: no worker can carry it on; resume it by cs.run with its input`
  throw new AgentError('result-redacted', message, { runId, member: PART_NAMES.input })
}

/** The error for a run whose redacted input another run is to start with. */
export function redactedInputError(runId: string): AgentError {
  const message = `the input of the run ${runId} was left out of the record by the policy, at least in part: another run cannot begin with it`
  return new AgentError('result-redacted', message, { runId, member: PART_NAMES.input })
}

/** The error for a completed run whose redacted output is requested. */
export function redactedOutputError(runId: string): AgentError {
  const message = `the run ${runId} is completed, and its output was left out of the record by the policy, at least in part`
  return new AgentError('result-redacted', message, { runId, member: PART_NAMES.output })
}

/** Names the redacted members of a body that the code of a run needs. */
export function redactedParts(body: object): string[] {
  return 'redacted' in body
    ? (['input', 'args', 'output'] as const).flatMap((each) => redactedPart(body, each) ?? [])
    : []
}

/** The name of the member, for messages; undefined if the body has the whole member. */
export function redactedPart(body: object, member: 'input' | 'args' | 'output'): string | undefined {
  const { redacted } = body as { readonly redacted?: Redacted }
  return lacks(redacted, member) ? PART_NAMES[member] : undefined
}

const PART_NAMES = { input: 'the input', args: 'arguments of calls', output: 'the output' } as const
