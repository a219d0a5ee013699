/**
 * @module Access checks: whether a token allows a request, by its scopes, its run or its agent, and the owner of the work. The API, the
 * items of a batch, the pages and the ledger share these checks.
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

/** A refusal if the token lacks the scope or is bound to another run or to one agent. `run` is the run in the path, if there is one. */
export function accessRefusal(access: TokenAccess, caller: Principal, run: string | undefined): Refusal | undefined {
  return (
    scopeRefusal(access, caller) ??
    (access.runNamedBehind === true ? undefined : withinRun(caller, run)) ??
    (access.allAgents === true ? ofAllAgents(caller) : undefined)
  )
}

/** Whether a page may offer a link or an action to this caller. */
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

/** A refusal if the token is bound to a run and the request is for another run or for no particular one. */
export function withinRun({ run }: Caller, runId: string | undefined): Refusal | undefined {
  if (run === undefined || run === runId) return undefined
  return refusal('run-mismatch', `the token is bound to the run ${run}`, { evidence: { bound: run } })
}

/** A refusal if the token is bound to an agent: audit and export cover all agents. */
export function ofAllAgents({ agent }: Caller): Refusal | undefined {
  if (agent === undefined) return undefined
  return refusal('agent-mismatch', `the token is bound to the agent ${agent}; audit and export are about all agents`, {
    evidence: { bound: agent },
  })
}

/** A refusal for every bound token: the request is for the tenant's whole history. */
export function ofWholeTenant(caller: Caller): Refusal | undefined {
  return withinRun(caller, undefined) ?? ofAllAgents(caller)
}

/** A refusal for every bound token: the request is for runs as a whole, such as those that a worker may carry on. */
export function ofWholeRuns(caller: Caller): Refusal | undefined {
  return withinRun(caller, undefined) ?? ofNoAgent(caller)
}

/** A refusal if the command is for another run than the token's or names another agent. */
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

/** The agents that the command names, by JSON Pointer into its body. */
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

/** Fills in the agent of a claim, a fork or a branch's report from a token that is bound to one agent, if the body names none. */
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

// A token that is bound to an agent may change the work of that agent only, not that of the run or of another agent.

/** Commands for the run's owner: an agent must not be able to end the run, rewind it or widen its own limits. */
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
  'leave',
  'carry',
  'complete',
  'fail',
])

/** A refusal that does not depend on the run's state. */
function runBelongsToAll(caller: Caller, { kind }: RunCommand): Refusal | undefined {
  return OF_THE_RUN.has(kind) ? ofNoAgent(caller) : undefined
}

function ofNoAgent({ agent }: Caller): Refusal | undefined {
  if (agent === undefined) return undefined
  return refusal(
    'agent-mismatch',
    `this token speaks for the agent ${agent}; what concerns the whole run takes one that is bound to no agent`,
  )
}

/** A refusal if the target of the command belongs to another agent or to no agent in particular. */
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

const NO_AGENTS = 'no agent’s in particular'

/** Owners of the calls, reservations and forks that a command refers to; empty if they do not exist. */
function ownersOf(state: RunState, command: RunCommand, env: Env): readonly string[] {
  switch (command.kind) {
    case 'start':
      // Resuming a run takes it away from its current owner.
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
  return call === undefined ? [] : [call.agent ?? NO_AGENTS]
}

/** A claim may take over a call whose lease has expired, and a compensating claim undoes another call: both have the owner of that call. */
function claimOwners(state: RunState, claim: ClaimCall, env: Env): readonly string[] {
  const phase = claim.phase ?? 'forward'
  const known = callByKey(state, phase, callKey(claim, env.digestOf))
  const owners = known === undefined ? [] : [known.agent ?? NO_AGENTS]
  return phase === 'compensation' ? [...owners, ...callOwner(state, claim.key ?? '')] : owners
}
