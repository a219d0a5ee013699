/** @module What a token that speaks for one agent may do in a run: what is that agent's own, and nothing that is the run's or another's. */
import { callByKey, type RunState, slot } from '../../projections/run-state.ts'
import type { ClaimCall } from '../../schemas/requests.ts'
import { callKey } from '../domain/calls.ts'
import type { Env } from '../domain/decision.ts'
import { type Refusal, refusal } from '../domain/refusal.ts'
import type { RunCommand } from '../domain/run-command.ts'
import type { Caller } from './caller.ts'

/** Given by whoever holds the run: an agent's word must not end it, turn it back, or widen its own bounds. */
const OF_THE_RUN: ReadonlySet<RunCommand['kind']> = new Set<RunCommand['kind']>([
  'manifest',
  'rollback',
  'judgement',
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
export function runBelongsToAll(caller: Caller, { kind }: RunCommand): Refusal | undefined {
  if (caller.agent === undefined || !OF_THE_RUN.has(kind)) return undefined
  return refusal(
    'agent-mismatch',
    `this token speaks for the agent ${caller.agent}; what concerns the whole run takes one that is bound to no agent`,
  )
}

/** Refused where what the command is about belongs to another agent, or to none. */
export function foreignWork(
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
      const reservation = state.reservations[slot(command.reservationId)]
      return reservation === undefined ? [] : [reservation.agent]
    }
    case 'join': {
      const fork = state.forks[slot(command.forkId)]
      return fork === undefined ? [] : [fork.agent]
    }
    default:
      return []
  }
}

function callOwner(state: RunState, callId: string): readonly string[] {
  const call = state.calls[slot(callId)]
  return call === undefined ? [] : [call.agent ?? NOBODYS]
}

/** A claim may take a call over whose lease has ended, and one that compensates undoes what another call did. */
function claimOwners(state: RunState, claim: ClaimCall, env: Env): readonly string[] {
  const phase = claim.phase ?? 'forward'
  const known = callByKey(state, phase, callKey(claim, env.digestOf))
  const owners = known === undefined ? [] : [known.agent ?? NOBODYS]
  return phase === 'compensation' ? [...owners, ...callOwner(state, claim.key ?? '')] : owners
}
