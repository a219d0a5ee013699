/** @module Refuses tokens that were revoked, after everything else about them was verified (HTTP-82, HTTP-84). */
import { onlyReadsMetrics, type TokenResult, type TokenVerifier } from '../signing/tokens.ts'

type Verifier = Pick<TokenVerifier, 'verify'>

interface Revocations {
  /** `issuedMs`: when the token was issued, in milliseconds since 1970, if it says so. Throws if it is not known whether the token is revoked. */
  isRevoked(token: string, issuedMs: number | undefined): boolean
}

/**
 * `revocations` gives those of the tenant, each time a token is checked; if it throws or rejects, so does `verify`. A token without an id cannot be revoked.
 * A token that only reads metrics is accepted while they cannot be read: counters must be seen in an outage.
 */
export function revocable(
  verifier: Verifier,
  revocations: (tenant: string) => Revocations | Promise<Revocations>,
): Verifier {
  const judged = (result: TokenResult): TokenResult | Promise<TokenResult> => {
    if (!result.ok) return result
    const { tenant, tokenId, issuedAt, scopes } = result.claims
    if (tokenId === undefined) return result
    const judge = (of: Revocations): TokenResult =>
      of.isRevoked(tokenId, issuedAt) ? { ok: false, code: 'token-revoked' } : result
    if (onlyReadsMetrics(scopes)) return judgedOrAccepted(() => revocations(tenant), judge, result)
    const of = revocations(tenant)
    return of instanceof Promise ? of.then(judge) : judge(of)
  }
  return {
    verify: (token) => {
      const verified = verifier.verify(token)
      return verified instanceof Promise ? verified.then(judged) : judged(verified)
    },
  }
}

async function judgedOrAccepted(
  revocations: () => Revocations | Promise<Revocations>,
  judge: (of: Revocations) => TokenResult,
  accepted: TokenResult,
): Promise<TokenResult> {
  try {
    return judge(await revocations())
  } catch {
    return accepted
  }
}
