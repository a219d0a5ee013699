/** @module Who asks: bearer tokens, scopes, and the run and agent a token is bound to. */
import type { Principal, Scope, TokenFault, TokenVerifier } from '../signing/tokens.ts'
import { type Problem, problem } from './problems.ts'

/** RFC 6750 section 2.1: the header, and no other place. */
const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i

const REALM = 'Bearer realm="countersign"'

export type Authenticated =
  | { readonly ok: true; readonly principal: Principal }
  /** `fault` is for the log alone. */
  | { readonly ok: false; readonly fault: TokenFault | 'token-missing' | 'token-not-bearer'; readonly problem: Problem }

/** The token of a request that carries one in the header. */
export function bearerToken(header: string | undefined): string | undefined {
  return header === undefined ? undefined : BEARER.exec(header)?.[1]
}

export async function authenticate(
  header: string | undefined,
  verifier: Pick<TokenVerifier, 'verify'>,
): Promise<Authenticated> {
  if (header === undefined) return { ok: false, fault: 'token-missing', problem: missing }
  const token = bearerToken(header)
  if (token === undefined) return { ok: false, fault: 'token-not-bearer', problem: tokenRefused }

  const result = await verifier.verify(token)
  return result.ok ? { ok: true, principal: result.claims } : { ok: false, fault: result.code, problem: tokenRefused }
}

/** One body for every fault: what is wrong with a token is nobody's business but its issuer's. */
const DETAIL = 'this needs a valid bearer token'
const missing = problem('unauthenticated', DETAIL, { headers: { 'www-authenticate': REALM } })
export const tokenRefused = problem('unauthenticated', DETAIL, {
  headers: { 'www-authenticate': `${REALM}, error="invalid_token"` },
})

/** Refused where the token has none of `scopes`. */
export function scopeFault(principal: Principal, scopes: readonly Scope[]): Problem | undefined {
  if (scopes.some((scope) => principal.scopes.has(scope))) return undefined
  return problem('scope-missing', `this needs the scope ${scopes.join(' or ')}`, {
    evidence: { required: [...scopes] },
    headers: { 'www-authenticate': `${REALM}, error="insufficient_scope", scope="${scopes[0] ?? ''}"` },
  })
}

/** Refused where the token is bound to a run and this is another, or none in particular. */
export function runBondFault(principal: Principal, run: string | undefined): Problem | undefined {
  if (principal.run === undefined || principal.run === run) return undefined
  return problem('run-mismatch', `the token is bound to the run ${principal.run}`, {
    evidence: { bound: principal.run },
  })
}

/** Refused where the token is bound to an agent and the route is for auditors alone: it tells of all agents. */
export function historyBondFault(principal: Principal, scopes: readonly Scope[]): Problem | undefined {
  if (principal.agent === undefined || !scopes.every((scope) => scope.startsWith('audit:'))) return undefined
  return problem(
    'agent-mismatch',
    `the token is bound to the agent ${principal.agent}; audit and export are about all`,
    {
      evidence: { bound: principal.agent },
    },
  )
}

/** Refused where a bound token sets what agents may do: that takes a scope of its own. */
export function manifestBondFault({ run, agent, scopes }: Principal): Problem | undefined {
  if ((run === undefined && agent === undefined) || scopes.has('runs:admin')) return undefined
  return problem('scope-missing', 'a bound token sets manifests only with the scope runs:admin', {
    evidence: { required: ['runs:admin'] },
    headers: { 'www-authenticate': `${REALM}, error="insufficient_scope", scope="runs:admin"` },
  })
}

/** Refused where the token is bound to an agent and the body speaks for another. */
export function agentBondFault(principal: Principal, agent: unknown, pointer: string): Problem | undefined {
  if (principal.agent === undefined || agent === undefined || agent === principal.agent) return undefined
  return problem('agent-mismatch', `the token is bound to the agent ${principal.agent}`, {
    pointer,
    evidence: { bound: principal.agent },
  })
}
