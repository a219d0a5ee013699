/**
 * @module Facts about actions of callers, such as exports, in the ledger stream of a tenant: durable once recorded, in order, with several concurrent
 * writers.
 */

import type { AppendRecord } from '../../../schemas/header.ts'
import type { Json } from '../../../schemas/json.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import { type Expectation, firstExpectation } from '../../signing/check.ts'
import { type Append, type AppendResult, NO_STREAM, StoreUnavailableError } from '../../store/event-store.ts'
import { wasWritten } from '../../store/was-written.ts'
import { type KnownEnd, refuseLostEnd } from '../read/lost-end.ts'
import { expectedNext } from '../read/verified-events.ts'
import { type Fact, type FactDeps, sealFact } from './append-fact.ts'

/** Reads are recorded before the answer is sent, and that record cannot be written, as on a full disk. The requested data may well be readable. */
export class NotOnRecordError extends StoreUnavailableError {}

/** Number of attempts, because checkpoints and other processes write to the same stream. */
const APPEND_AGAIN_MAX = 8
const APPEND_AGAIN_MS = 5
const RETRY_AFTER_MS = 1_000

export interface LedgerFactsDeps extends FactDeps {
  /** What the log knows of a stream; absent if no log is kept. */
  readonly knownHead?: KnownEnd | undefined
}

/** A lost end of the stream behind which a fact is written, because the fact acknowledges that loss (LOG-74). */
export interface BehindLoss {
  /** Place and predecessor of the fact. */
  readonly at: Expectation
  /** Records that hold the places of lost events, from the end of the store's stream on; none if damaged events still hold them. */
  readonly held: readonly AppendRecord[]
  /** Bodies of further facts of the same type: the loss is larger than one of them can name. */
  readonly more: readonly Json[]
}

export class LedgerFacts {
  readonly #deps: LedgerFactsDeps
  readonly #turns = new Map<string, Promise<void>>()

  constructor(deps: LedgerFactsDeps) {
    this.#deps = deps
  }

  /**
   * Resolves once the fact is durable. Throws `NotOnRecordError` if the store does not accept it, which may or may not have written it then, and
   * `DamagedStreamError` if the end of the stream is lost (LOG-70). `exists` is evaluated on everything before the place of the fact: if two processes
   * find the same fact, only one records it.
   */
  async record(
    fact: Omit<Fact, 'at'>,
    exists?: () => Promise<boolean>,
    behind?: () => Promise<BehindLoss | undefined>,
  ): Promise<void> {
    const before = this.#turns.get(fact.tenant) ?? Promise.resolve()
    const turn = before.catch(() => undefined).then(() => this.#append(fact, exists, behind))
    this.#turns.set(fact.tenant, turn)
    try {
      await turn
    } finally {
      if (this.#turns.get(fact.tenant) === turn) this.#turns.delete(fact.tenant)
    }
  }

  async #append(
    fact: Omit<Fact, 'at'>,
    exists: (() => Promise<boolean>) | undefined,
    behind: (() => Promise<BehindLoss | undefined>) | undefined,
  ): Promise<void> {
    const { effects, store } = this.#deps
    for (let tries = 0; tries < APPEND_AGAIN_MAX; tries += 1) {
      if (tries > 0) await effects.sleep(APPEND_AGAIN_MS * 2 ** tries * effects.random())
      const loss = await behind?.()
      const at = loss?.at ?? (await this.#expectation(ledgerStream(fact.tenant)))
      if ((await exists?.()) === true) return
      const append = behindHeld(this.#sealed({ ...fact, at }, loss?.more ?? []), loss?.held ?? [])
      const result = await store.append(append)
      if (result.kind === 'appended') return
      if (result.kind === 'unknown' && (await wasWritten(store, append))) return
      if (result.kind !== 'conflict') throw unavailable(result)
    }
    throw new NotOnRecordError(`other writers hold ${ledgerStream(fact.tenant)}`, RETRY_AFTER_MS)
  }

  #sealed(fact: Fact, more: readonly Json[]): Append {
    let { append, next } = sealFact(this.#deps, fact)
    for (const data of more) {
      const sealed = sealFact(this.#deps, { ...fact, data, at: next })
      append = { ...append, records: [...append.records, ...sealed.append.records] }
      next = sealed.next
    }
    return append
  }

  /** The expectation for the next event, from the last event of the stream. */
  async #expectation(stream: string): Promise<Expectation> {
    const { store, sealer } = this.#deps
    const head = await store.head(stream)
    await refuseLostEnd(this.#deps, stream, head)
    if (head === NO_STREAM) return firstExpectation(stream)
    for await (const page of store.readStream(stream, { from: head, to: head })) {
      const [record] = page
      if (record === undefined) break
      const expected = expectedNext(sealer, record)
      sealer.notBefore(expected.minRingIndex)
      return expected
    }
    throw new StoreUnavailableError(`${stream} @ ${head} cannot be read`, RETRY_AFTER_MS)
  }
}

/** One append, so that the places are held and the loss is acknowledged, or neither. */
function behindHeld({ stream, expectedRevision, records }: Append, held: readonly AppendRecord[]): Append {
  return { stream, expectedRevision: expectedRevision - held.length, records: [...held, ...records] }
}

function unavailable(result: Exclude<AppendResult, { kind: 'appended' | 'conflict' }>): NotOnRecordError {
  const detail = 'detail' in result ? result.detail : `the request id ${result.requestId} is known`
  return new NotOnRecordError(detail, 'retryAfterMs' in result ? result.retryAfterMs : RETRY_AFTER_MS)
}
