/** @module Whether a token opens what was asked for: one judgement for the API, the items of a batch, and the pages. */
import { type Refusal, refusal } from '../domain/refusal.ts'
import type { Principal } from '../signing/tokens.ts'
import type { TokenAccess } from './access.ts'
import { ofAllAgents, withinRun } from './token-binding.ts'

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
