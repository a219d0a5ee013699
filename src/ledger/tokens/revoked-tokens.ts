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
import type { Effects } from '../ports.ts'
import { TenantFold, type TenantFoldDeps } from '../read/tenant-fold.ts'
import { DamagedStreamError } from '../read/verified-events.ts'
import type { Answered } from '../subjects/subjects.ts'
import { loadRefusal } from '../write/write-refusals.ts'
import { RevocationsUnknownError, type Revoked, type Tokens } from './tokens.ts'

/** How long a list is used without a look at the store, in milliseconds: with the check of open streams, below 2 seconds. */
const FRESH_MS = 1_000
const RETRY_AFTER_MS = 1_000
const LISTED = 1_000
const NONE: Revoked = new Map()

export interface TokensDeps extends TenantFoldDeps {
  readonly store: EventStore
  readonly facts: Pick<LedgerFacts, 'record'>
  readonly effects: Pick<Effects, 'monotonicMs'>
}

/** The list after one more event whose seal is valid. Whoever revoked a token first stays named. */
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
  const followed = new FollowedRevocations((tenant) => fold.of(tenant), deps.effects)
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
    const exists = async (): Promise<boolean> => (await fold.of(tenant)).has(token)
    await deps.facts.record({ tenant, type: 'TokenRevoked', data: data as unknown as Json, by: caller }, exists)
    followed.forget(tenant)
    const found = (await followed.of(tenant)).get(token)
    if (found === undefined) throw new Error('a token was revoked on record, and the list is without it')
    return found
  }
  return {
    revoke: (caller, asked) => within(caller, () => revoke(caller, asked)),
    list: (caller) => within(caller, async () => listed(await fold.of(caller.tenant))),
    revoked: (tenant) => followed.of(tenant),
  }
}

function listed(revoked: Revoked): RevokedTokensAnswer {
  return { items: [...revoked.values()].slice(-LISTED).reverse(), count: revoked.size }
}

interface Known {
  /** When the reading began. */
  readonly atMs: number
  readonly revoked: Revoked
}

/** The lists as they were read last; one reading of a tenant at a time. */
class FollowedRevocations {
  readonly #read: (tenant: string) => Promise<Revoked>
  readonly #effects: Pick<Effects, 'monotonicMs'>
  readonly #known = new Map<string, Known>()
  readonly #reading = new Map<string, Promise<Revoked>>()

  constructor(read: (tenant: string) => Promise<Revoked>, effects: Pick<Effects, 'monotonicMs'>) {
    this.#read = read
    this.#effects = effects
  }

  of(tenant: string): Revoked | Promise<Revoked> {
    const known = this.#known.get(tenant)
    if (known !== undefined && this.#effects.monotonicMs() - known.atMs < FRESH_MS) return known.revoked
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

  #begin(tenant: string): Promise<Revoked> {
    const atMs = this.#effects.monotonicMs()
    const isCurrent = (): boolean => this.#reading.get(tenant) === reading
    const reading: Promise<Revoked> = this.#read(tenant)
      .then(
        (revoked) => {
          if (isCurrent()) this.#known.set(tenant, { atMs, revoked })
          return revoked
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
}

function asUnknown(error: unknown): unknown {
  if (error instanceof StoreWentBackError) return error
  if (error instanceof DamagedStreamError || error instanceof StreamDeletedError)
    return new RevocationsUnknownError(error.message, RETRY_AFTER_MS, { cause: error })
  if (error instanceof StoreUnavailableError)
    return new RevocationsUnknownError(error.message, error.retryAfterMs, { cause: error })
  return error
}
