/** @module Refuses tokens that were revoked, after everything else about them was verified (HTTP-82, HTTP-84). */
import { onlyReadsMetrics, type TokenResult, type TokenVerifier } from '../signing/tokens.ts'

type Verifier = Pick<TokenVerifier, 'verify'>

/** What is asked of a tenant's list of revoked tokens. */
type Ids = Pick<ReadonlySet<string>, 'has'>

/**
 * `revoked` gives the ids of the tenant's revoked tokens, each time a token is checked; if it throws or rejects, so does `verify`. A token without an id
 * cannot be revoked. A token that only reads metrics is accepted while the list cannot be read: counters must be seen in an outage.
 */
export function revocable(verifier: Verifier, revoked: (tenant: string) => Ids | Promise<Ids>): Verifier {
  const judged = (result: TokenResult): TokenResult | Promise<TokenResult> => {
    if (!result.ok) return result
    const { tenant, tokenId, scopes } = result.claims
    if (tokenId === undefined) return result
    const judge = (ids: Ids): TokenResult => (ids.has(tokenId) ? { ok: false, code: 'token-revoked' } : result)
    if (onlyReadsMetrics(scopes)) return judgedOrAccepted(() => revoked(tenant), judge, result)
    const ids = revoked(tenant)
    return ids instanceof Promise ? ids.then(judge) : judge(ids)
  }
  return {
    verify: (token) => {
      const verified = verifier.verify(token)
      return verified instanceof Promise ? verified.then(judged) : judged(verified)
    },
  }
}

async function judgedOrAccepted(
  revoked: () => Ids | Promise<Ids>,
  judge: (ids: Ids) => TokenResult,
  accepted: TokenResult,
): Promise<TokenResult> {
  try {
    return judge(await revoked())
  } catch {
    return accepted
  }
}
