/** @module Revoked access tokens as callers of the ledger see them (HTTP-82 to HTTP-84). */
import type { RevokedToken, RevokedTokenAnswer, RevokedTokensAnswer } from '../../../schemas/answers/tokens.ts'
import type { RevokeToken } from '../../../schemas/token.ts'
import type { Caller } from '../../access/caller.ts'
import { StoreUnavailableError } from '../../store/event-store.ts'
import type { Answered } from '../subjects/subjects.ts'

/** Revoked tokens by their `jti`, in the order in which they were revoked. */
export type Revoked = ReadonlyMap<string, RevokedToken>

export interface Tokens {
  /** Resolves once the revocation is recorded and in effect in this process. Repeated it answers the same. */
  revoke(caller: Caller, asked: RevokeToken): Promise<Answered<RevokedTokenAnswer>>
  list(caller: Caller): Promise<Answered<RevokedTokensAnswer>>
  /**
   * The revocations of the tenant, at most a second old; without a promise if they were read that lately. Rejects with `RevocationsUnknownError` if they
   * cannot be read.
   */
  revocations(tenant: string): Revocations | Promise<Revocations>
}

export interface Revocations {
  /**
   * Whether the token with this `jti` is revoked; `issuedMs` is when it was issued, in milliseconds since 1970, if it says so. Throws
   * `RevocationsUnknownError` if an event that cannot be read may have revoked it.
   */
  isRevoked(token: string, issuedMs: number | undefined): boolean
}

/** Whether a token was revoked cannot be read: it cannot be accepted. */
export class RevocationsUnknownError extends StoreUnavailableError {}
