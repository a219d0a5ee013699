/**
 * @module Whether a token opens what was requested: by its scopes, by the run or the agent that it is bound to, and, where it speaks for one agent, by whose the
 * work is. One judgement for the API, the items of a batch, the pages and the ledger.
 */
import { callByKey, type RunState, safeKey } from '../../projections/run-state.ts'
import type { Command } from '../../schemas/commands.ts'
import type { ClaimCall } from '../../schemas/requests.ts'
import { callKey } from '../domain/calls.ts'
import type { Env } from '../domain/decision.ts'
import { type Refusal, refusal } from '../domain/refusal.ts'
import type { RunCommand } from '../domain/run-command.ts'
import type { Principal } from '../signing/tokens.ts'
import type { TokenAccess } from './access.ts'
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

// What a token that speaks for one agent may do in a run: what is that agent's own, and nothing that is the run's or another's.

/** Given by whoever holds the run: an agent's word must not end it, turn it back, or widen its own bounds. */
const OF_THE_RUN: ReadonlySet<RunCommand['kind']> = new Set<RunCommand['kind']>([
  'manifest',
  'rollback',
  'judgement',
  'review',
  'grant',
  'deny',
  'withdraw',
  'wait',
  'signal',
  'compensate',
  'complete',
  'fail',
])

/** Refused whatever the run's state. */
function runBelongsToAll(caller: Caller, { kind }: RunCommand): Refusal | undefined {
  if (caller.agent === undefined || !OF_THE_RUN.has(kind)) return undefined
  return refusal(
    'agent-mismatch',
    `this token speaks for the agent ${caller.agent}; what concerns the whole run takes one that is bound to no agent`,
  )
}

/** Refused where what the command is about belongs to another agent, or to none. */
export function othersWork(
  state: RunState,
  { caller, command, env }: { readonly caller: Caller; readonly command: RunCommand; readonly env: Env },
): Refusal | undefined {
  const { agent } = caller
  if (agent === undefined) return undefined
  const owners = ownersOf(state, command, env)
  const foreign = owners.find((owner) => owner !== agent)
  if (foreign === undefined) return undefined
  return refusal('agent-mismatch', `this token speaks for the agent ${agent}, and this is ${foreign}`)
}

const NOBODYS = 'no agent’s in particular'

/** Whose the calls, reservations and forks are that a command is about; none where they are not there. */
function ownersOf(state: RunState, command: RunCommand, env: Env): readonly string[] {
  switch (command.kind) {
    case 'start':
      // Who takes a run up again takes it from whoever has it now.
      return ['the whole run’s']
    case 'child-started':
      return callOwner(state, command.body.childOf.callId)
    case 'settle':
    case 'renew':
    case 'resolve':
      return callOwner(state, command.callId)
    case 'usage':
      return command.body.callId === undefined ? [] : callOwner(state, command.body.callId)
    case 'claim':
      return claimOwners(state, command.body, env)
    case 'settle-reservation':
    case 'release': {
      const reservation = state.reservations[safeKey(command.reservationId)]
      return reservation === undefined ? [] : [reservation.agent]
    }
    case 'join': {
      const fork = state.forks[safeKey(command.forkId)]
      return fork === undefined ? [] : [fork.agent]
    }
    default:
      return []
  }
}

function callOwner(state: RunState, callId: string): readonly string[] {
  const call = state.calls[safeKey(callId)]
  return call === undefined ? [] : [call.agent ?? NOBODYS]
}

/** A claim may take a call over whose lease has ended, and one that compensates undoes what another call did. */
function claimOwners(state: RunState, claim: ClaimCall, env: Env): readonly string[] {
  const phase = claim.phase ?? 'forward'
  const known = callByKey(state, phase, callKey(claim, env.digestOf))
  const owners = known === undefined ? [] : [known.agent ?? NOBODYS]
  return phase === 'compensation' ? [...owners, ...callOwner(state, claim.key ?? '')] : owners
}
