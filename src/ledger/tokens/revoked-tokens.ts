/**
 * @module Revoked access tokens of a tenant (HTTP-82 to HTTP-84): recorded in its ledger stream, and followed by every process that checks tokens. What is
 * not known about the list is never taken for "not revoked".
 */
import type { RevokedTokenAnswer, RevokedTokensAnswer } from '../../../schemas/answers/tokens.ts'
import { EVENTS, type EventBody } from '../../../schemas/events.ts'
import { type Json, parseJsonOrUndefined } from '../../../schemas/json.ts'
import type { RevokeToken } from '../../../schemas/token.ts'
import type { Caller } from '../../access/caller.ts'
import { ofWholeTenant } from '../../access/check-access.ts'
import { readHeader } from '../../signing/header-reader.ts'
import {
  type EventStore,
  type ReadRecord,
  StoreUnavailableError,
  StoreWentBackError,
  StreamDeletedError,
} from '../../store/event-store.ts'
import type { LedgerFacts } from '../identity/ledger-facts.ts'
import { isIssued } from '../identity/service-reads.ts'
import type { Effects } from '../ports.ts'
import { type ReadSoFar, TenantFold, type TenantFoldDeps } from '../read/tenant-fold.ts'
import type { Answered } from '../subjects/subjects.ts'
import { loadRefusal } from '../write/write-refusals.ts'
import { type Revocations, RevocationsUnknownError, type Revoked, type Tokens } from './tokens.ts'

/** How long a list is used without a look at the store, in milliseconds: with the check of open streams, below 2 seconds. */
const FRESH_MS = 1_000
const RETRY_AFTER_MS = 1_000
const LISTED = 1_000
/** By how much a token may say that it was issued later than it was (`clockTolerance` of the verifier), in milliseconds. */
const ISSUED_LATE_MS = 30_000
const NONE: Revoked = new Map()

export interface TokensDeps extends TenantFoldDeps {
  readonly store: EventStore
  readonly facts: Pick<LedgerFacts, 'record'>
  readonly effects: Pick<Effects, 'monotonicMs' | 'nowMs'>
}

/** The list after one more event whose seal is valid. If a token is revoked twice, the first revocation is kept. */
export function withRevocation(revoked: Revoked, { header: text, data }: Pick<ReadRecord, 'header' | 'data'>): Revoked {
  const read = readHeader(text)
  if (!read.ok || read.header.type !== 'TokenRevoked') return revoked
  const { time, actor, principal } = read.header
  const { token, reason } = EVENTS.TokenRevoked.schema.parse(parseJsonOrUndefined(data))
  if (revoked.has(token)) return revoked
  const entry = { token, revokedBy: principal ?? actor, revokedAt: time, ...(reason !== undefined && { reason }) }
  return new Map(revoked).set(token, entry)
}

export function openTokens(deps: TokensDeps): Tokens {
  const fold = new TenantFold<Revoked>(deps, { none: NONE, withEvent: withRevocation, mayBe: 'a revoked token' })
  const followed = new FollowedRevocations((tenant) => fold.read(tenant), deps.effects)
  const within = async <T>(caller: Caller, work: () => Promise<T>): Promise<Answered<T>> => {
    const outside = ofWholeTenant(caller)
    if (outside !== undefined) return { ok: false, refusal: outside }
    try {
      return { ok: true, value: await work() }
    } catch (error) {
      return { ok: false, refusal: loadRefusal(error, deps.store) }
    }
  }
  const revoke = async (caller: Caller, { token, reason }: RevokeToken): Promise<RevokedTokenAnswer> => {
    const { tenant } = caller
    const data: EventBody<'TokenRevoked'> = { v: 1, token, ...(reason !== undefined && { reason }) }
    const exists = async (): Promise<boolean> => (await fold.read(tenant)).state.has(token)
    await deps.facts.record({ tenant, type: 'TokenRevoked', data: data as unknown as Json, by: caller }, exists)
    followed.forget(tenant)
    await followed.of(tenant)
    const found = (await fold.read(tenant)).state.get(token)
    if (found === undefined) throw new Error('a revocation was recorded, and the list of revoked tokens lacks it')
    return { ...found, known: await isIssued(deps.store, tenant, token) }
  }
  return {
    revoke: (caller, asked) => within(caller, () => revoke(caller, asked)),
    list: (caller) => within(caller, async () => listed(await fold.of(caller.tenant))),
    revocations: (tenant) => followed.of(tenant),
  }
}

function listed(revoked: Revoked): RevokedTokensAnswer {
  return { items: [...revoked.values()].slice(-LISTED).reverse(), count: revoked.size }
}

/**
 * Events that cannot be read may have revoked the tokens that existed when they were recorded: such a token is neither revoked nor accepted. `nowMs`: when
 * they were first found, for events that nothing readable follows.
 */
function revocationsIn({ state, unreadable }: ReadSoFar<Revoked>, nowMs: number): Revocations {
  if (unreadable === undefined) return { isRevoked: (token) => state.has(token) }
  const { error, beforeMs = nowMs } = unreadable
  const untilMs = beforeMs + ISSUED_LATE_MS
  const until = new Date(untilMs).toISOString()
  return {
    isRevoked: (token, issuedMs) => {
      if (state.has(token)) return true
      if (issuedMs !== undefined && issuedMs > untilMs) return false
      const message = `${error.message}, or acknowledge the loss; a token that is issued after ${until} is accepted`
      throw new RevocationsUnknownError(message, RETRY_AFTER_MS, { cause: error })
    },
  }
}

interface Known {
  /** When the reading began. */
  readonly atMs: number
  readonly revocations: Revocations
}

/** The lists as they were read last; one reading of a tenant at a time. */
class FollowedRevocations {
  readonly #read: (tenant: string) => Promise<ReadSoFar<Revoked>>
  readonly #effects: TokensDeps['effects']
  readonly #known = new Map<string, Known>()
  readonly #reading = new Map<string, Promise<Revocations>>()
  /** When events that cannot be read were first found. */
  readonly #unreadableSince = new Map<string, number>()

  constructor(read: (tenant: string) => Promise<ReadSoFar<Revoked>>, effects: TokensDeps['effects']) {
    this.#read = read
    this.#effects = effects
  }

  of(tenant: string): Revocations | Promise<Revocations> {
    const known = this.#known.get(tenant)
    if (known !== undefined && this.#effects.monotonicMs() - known.atMs < FRESH_MS) return known.revocations
    const reading = this.#reading.get(tenant)
    if (reading !== undefined) return reading
    const begun = this.#begin(tenant)
    this.#reading.set(tenant, begun)
    return begun
  }

  /** What is asked for from now on is read after this; a reading that is under way is not kept. */
  forget(tenant: string): void {
    this.#known.delete(tenant)
    this.#reading.delete(tenant)
  }

  #begin(tenant: string): Promise<Revocations> {
    const atMs = this.#effects.monotonicMs()
    const isCurrent = (): boolean => this.#reading.get(tenant) === reading
    const reading: Promise<Revocations> = this.#read(tenant)
      .then(
        (found) => {
          const revocations = revocationsIn(found, this.#sinceMs(tenant, found))
          if (isCurrent()) this.#known.set(tenant, { atMs, revocations })
          return revocations
        },
        (error: unknown) => {
          throw asUnknown(error)
        },
      )
      .finally(() => {
        if (isCurrent()) this.#reading.delete(tenant)
      })
    return reading
  }

  #sinceMs(tenant: string, { unreadable }: ReadSoFar<Revoked>): number {
    const since = this.#unreadableSince.get(tenant) ?? this.#effects.nowMs()
    if (unreadable === undefined) this.#unreadableSince.delete(tenant)
    else this.#unreadableSince.set(tenant, since)
    return since
  }
}

function asUnknown(error: unknown): unknown {
  if (error instanceof StoreWentBackError) return error
  if (error instanceof StreamDeletedError)
    return new RevocationsUnknownError(error.message, RETRY_AFTER_MS, { cause: error })
  if (error instanceof StoreUnavailableError)
    return new RevocationsUnknownError(error.message, error.retryAfterMs, { cause: error })
  return error
}
