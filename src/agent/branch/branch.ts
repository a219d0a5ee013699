/** @module A new run from a past step of another: what came before is served, the rest is live (RUN-26). */

import type { JsonObject } from '../../../schemas/json.ts'
import { memberValue } from '../calls/stored-value.ts'
import { AgentError } from '../errors.ts'
import { redactedInputError, redactedPart } from '../history/redacted-parts.ts'
import { type Body, type Home, liveRun } from '../runtime/live-run.ts'
import type { RunOptions } from '../runtime/run-options.ts'

/** Where a branch leaves the other run, and its own id, tags, budget and signal. */
export interface BranchRunOptions extends Omit<RunOptions, 'input'> {
  /** The accepted handoff to branch behind; 0: the start. What was called up to it is served and never charged, renewed or undone here. */
  readonly atStep: number
}

/**
 * Input, name and policy are the other run's; the budget is the branch's own. Throws `branch-diverged` before anything is carried out where
 * the code does not ask for what that run had done by then.
 */
export async function branchRun<Input, Output>(
  home: Home,
  {
    run,
    options,
    body,
  }: { readonly run: string; readonly options: BranchRunOptions; readonly body: Body<Input, Output> },
): Promise<Awaited<Output>> {
  const { atStep, ...own } = options
  const { name, input, policy } = await startOf(home, run)
  const request = { name, policy, ...own, ...(input !== undefined && { input }) } as RunOptions<Input>
  const asked = { kind: `branch of ${run} at ${atStep}`, options: request, name: body.name }
  return home.running.start(asked, () => liveRun(home, { options: request, branchOf: { run, atStep } }, body))
}

async function startOf({ connection }: Home, run: string): Promise<JsonObject> {
  for await (const { data } of connection.events(run, 'RunStarted')) {
    if (redactedPart(data, 'input') !== undefined) throw redactedInputError(run)
    if (data.inputRef === undefined) return data
    return { ...data, input: await memberValue(connection, { runId: run, body: data, name: 'input' }) }
  }
  throw new AgentError('run-not-found', `there is no run ${run}`, { run })
}
