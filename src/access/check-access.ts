/** @module Whether a token opens what was requested, by its scopes and by the run or the agent that it is bound to: one judgement for the API, the items of a batch, and the pages. */
import type { Command } from '../../schemas/commands.ts'
import { type Refusal, refusal } from '../domain/refusal.ts'
import type { Principal } from '../signing/tokens.ts'
import type { TokenAccess } from './access.ts'
import { runBelongsToAll } from './agent-work.ts'
import type { Caller } from './caller.ts'

/** Refused where the token lacks the scope or is bound to another run or to one agent. `run`: the one in the path, where there is one. */
export function accessRefusal(access: TokenAccess, caller: Principal, run: string | undefined): Refusal | undefined {
  return (
    scopeRefusal(access, caller) ??
    (access.runNamedBehind === true ? undefined : withinRun(caller, run)) ??
    (access.allAgents === true ? ofAllAgents(caller) : undefined)
  )
}

/** Whether a page may offer it. */
export function mayOpen(access: TokenAccess, caller: Principal, run?: string): boolean {
  return accessRefusal(access, caller, run) === undefined
}

function scopeRefusal({ scopes, scopeIfBound }: TokenAccess, caller: Principal): Refusal | undefined {
  if (!scopes.some((scope) => caller.scopes.has(scope))) {
    return refusal('scope-missing', `this needs the scope ${scopes.join(' or ')}`, {
      evidence: { required: [...scopes] },
    })
  }
  const isBound = caller.run !== undefined || caller.agent !== undefined
  if (scopeIfBound === undefined || !isBound || caller.scopes.has(scopeIfBound)) return undefined
  return refusal('scope-missing', `a bound token needs the scope ${scopeIfBound} for this`, {
    evidence: { required: [scopeIfBound] },
  })
}

/** Refused where the token is bound to a run and this is another, or none in particular. */
export function withinRun({ run }: Caller, runId: string | undefined): Refusal | undefined {
  if (run === undefined || run === runId) return undefined
  return refusal('run-mismatch', `the token is bound to the run ${run}`, { evidence: { bound: run } })
}

/** Refused where the token is bound to an agent: audit and export are about all of them. */
export function ofAllAgents({ agent }: Caller): Refusal | undefined {
  if (agent === undefined) return undefined
  return refusal('agent-mismatch', `the token is bound to the agent ${agent}; audit and export are about all agents`, {
    evidence: { bound: agent },
  })
}

/** Refused to every token that is bound: the tenant's whole history. */
export function ofWholeTenant(caller: Caller): Refusal | undefined {
  return withinRun(caller, undefined) ?? ofAllAgents(caller)
}

/** Refused where the command is about another run than the token's, or speaks for another agent. */
export function commandRefusal(caller: Caller, runId: string, command: Command): Refusal | undefined {
  const outside = withinRun(caller, runId)
  if (outside !== undefined) return command.kind === 'start' ? { ...outside, pointer: '/id' } : outside
  return runBelongsToAll(caller, command) ?? foreignAgent(caller, command)
}

function foreignAgent({ agent }: Caller, command: Command): Refusal | undefined {
  if (agent === undefined) return undefined
  const foreign = agentsOf(command).find(([, named]) => named !== undefined && named !== agent)
  if (foreign === undefined) return undefined
  const evidence = { bound: agent }
  return refusal('agent-mismatch', `the token is bound to the agent ${agent}`, { pointer: foreign[0], evidence })
}

/** By pointer into the body. */
function agentsOf(command: Command): readonly (readonly [string, string | undefined])[] {
  switch (command.kind) {
    case 'envelope':
    case 'fork':
    case 'branch':
    case 'reserve':
    case 'usage':
      return [['/agent', command.body.agent]]
    case 'claim':
      return [
        ['/agent', command.body.agent],
        ['/reserve/agent', command.body.reserve?.agent],
      ]
    default:
      return []
  }
}

/** A claim, a fork or a branch's report under a token of one agent is that agent's, where the body names none. */
export function asAgent({ agent }: Caller, command: Command): Command {
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
