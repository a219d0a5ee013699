/** @module Who asks: bearer tokens, and the challenges that answer those that do not open what was requested. */
import type { Refusal } from '../domain/refusal.ts'
import type { Principal, TokenFault, TokenVerifier } from '../signing/tokens.ts'
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

/** A token that is good and does not open this: what it lacks, with the challenge of RFC 6750 section 3 where that is a scope. */
export function forbidden(refused: Refusal): Problem {
  const required = refused.code === 'scope-missing' ? refused.evidence?.required : undefined
  if (!Array.isArray(required)) return refused
  const challenge = `${REALM}, error="insufficient_scope", scope="${required[0] ?? ''}"`
  return { ...refused, headers: { 'www-authenticate': challenge } }
}
