/** @module Starts a new run from a past step of another run: the earlier calls are served, the rest is live (RUN-26). */

import type { JsonObject } from '../../../schemas/json.ts'
import { memberValue } from '../calls/stored-value.ts'
import { AgentError } from '../errors.ts'
import { redactedInputError, redactedPart } from '../history/redacted-parts.ts'
import { type Body, type Home, liveRun } from '../runtime/live-run.ts'
import type { RunOptions } from '../runtime/run-options.ts'

/** The step to branch from, and the id, tags, budget and signal of the branch. */
export interface BranchRunOptions extends Omit<RunOptions, 'input'> {
  /**
   * The accepted handoff after which the branch starts; 0 is the start of the run. Calls up to it are served, and are never charged, renewed or undone here.
   */
  readonly atStep: number
}

/**
 * Input, name and policy are those of the other run; the budget is the branch's own. Throws `branch-diverged`, before anything is executed, if the code does
 * not request the calls that the other run had made by then.
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
