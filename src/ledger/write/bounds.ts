/** @module What a token is bound to: one run, one agent, or neither. */
import { type Refusal, refusal } from '../../domain/refusal.ts'
import type { Caller, Command } from '../ledger.ts'
import { runBelongsToAll } from './token-binding.ts'

/** Refused where the token is good for another run. */
export function bounds(caller: Caller, runId: string | undefined): Refusal | undefined {
  if (caller.run === undefined || caller.run === runId) return undefined
  return refusal('run-mismatch', 'this token is good for one run, and this is another')
}

/** Refused where a history is asked for that is not the run's or the agent's of the token alone. */
export function tenantBounds(caller: Caller): Refusal | undefined {
  return bounds(caller, undefined) ?? historyBounds(caller)
}

/** Refused where audit or export is asked for on behalf of one agent: they are about all of them. */
export function historyBounds({ agent }: Caller): Refusal | undefined {
  if (agent === undefined) return undefined
  return refusal(
    'agent-mismatch',
    `this token speaks for the agent ${agent}; audit and export take one that is bound to no agent`,
  )
}

/** Refused where the body names an agent that the token does not speak for. */
export function agentFault(caller: Caller, command: Command): Refusal | undefined {
  if (caller.agent === undefined) return undefined
  const ofTheRun = runBelongsToAll(caller, command)
  if (ofTheRun !== undefined) return ofTheRun
  const named = agentsOf(command).find((agent) => agent !== undefined && agent !== caller.agent)
  if (named === undefined) return undefined
  return refusal('agent-mismatch', `this token speaks for one agent, and ${named} is another`, { pointer: '/agent' })
}

function agentsOf(command: Command): readonly (string | undefined)[] {
  switch (command.kind) {
    case 'envelope':
    case 'fork':
    case 'branch':
    case 'reserve':
    case 'usage':
      return [command.body.agent]
    case 'claim':
      return [command.body.agent, command.body.reserve?.agent]
    default:
      return []
  }
}

/** A claim, a fork or a branch's report under a token of one agent is that agent's, where the body names none. */
export function asAgent(caller: Caller, command: Command): Command {
  const { agent } = caller
  if (agent === undefined) return command
  switch (command.kind) {
    case 'claim':
      return { ...command, body: { agent, ...command.body } }
    case 'fork':
      return { ...command, body: { agent, ...command.body } }
    case 'branch':
      return { ...command, body: { agent, ...command.body } }
    default:
      return command
  }
}
