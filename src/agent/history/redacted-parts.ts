/** @module What redaction left out of a record is nothing that code can go on with: it is told, and never handed a marker (RUN-98). */
import { lacks } from '../../../schemas/redacted-parts.ts'
import type { Redacted } from '../../../schemas/redaction.ts'
import { AgentError } from '../errors.ts'

/** Halts a resume, and ends a replay, at a call. */
export function redactedResultError(tool: string, callId: string): AgentError {
  const message = `what ${tool} gave was left out of the record by the policy (call ${callId}), at least in part: whoever needs the value gets it elsewhere, or gives the tool a check that tells it`
  return new AgentError('result-redacted', message, { tool, callId })
}

/** Of a run that is replayed or branched: what its code was handed, and which calls it made, must stand in the record. */
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

/** Of a run that another is to begin like. */
export function redactedInputError(runId: string): AgentError {
  const message = `the input of the run ${runId} was left out of the record by the policy, at least in part: another run cannot begin with it`
  return new AgentError('result-redacted', message, { runId, member: PART_NAMES.input })
}

/** Of a run that has ended. */
export function redactedOutputError(runId: string): AgentError {
  const message = `the run ${runId} is completed, and its output was left out of the record by the policy, at least in part`
  return new AgentError('result-redacted', message, { runId, member: PART_NAMES.output })
}

/** What the code of a run would need of a body, and what is not there. */
export function redactedParts(body: object): string[] {
  return 'redacted' in body
    ? (['input', 'args', 'output'] as const).flatMap((each) => redactedPart(body, each) ?? [])
    : []
}

/** As a text, for whoever is told: undefined where the body has the member whole. */
export function redactedPart(body: object, member: 'input' | 'args' | 'output'): string | undefined {
  const { redacted } = body as { readonly redacted?: Redacted }
  return lacks(redacted, member) ? PART_NAMES[member] : undefined
}

const PART_NAMES = { input: 'the input', args: 'arguments of calls', output: 'the output' } as const
