/**
 * @module Stores large values apart from the events (REC-19, REC-20): each in its own stream, named by its digest, durable before the event that
 * references it is appended. A crash in between leaves an unreferenced value, never a reference without its value.
 */

import type { EventBody } from '../../../schemas/events.ts'
import { type Json, parseJson } from '../../../schemas/json.ts'
import { runStream, valueStream } from '../../../schemas/names.ts'
import type { ValueRef } from '../../../schemas/values.ts'
import type { Refusal } from '../../domain/refusal.ts'
import { AdmissionQueue } from '../../resources/admission-queue.ts'
import type { MemoryBudget } from '../../resources/memory-budget.ts'
import { weigh } from '../../resources/memory-budget.ts'
import { cacheWithin, type SizedCache } from '../../resources/sized-cache.ts'
import { type Expectation, firstExpectation, nextExpectation } from '../../signing/check.ts'
import type { Append, AppendResult, EventStore } from '../../store/event-store.ts'
import { wasWritten } from '../../store/was-written.ts'
import { sealFact } from '../identity/append-fact.ts'
import type { Sealer } from '../identity/sealer.ts'
import type { Caller } from '../ledger.ts'
import type { Effects } from '../ports.ts'
import { checkInStream, DamagedStreamError } from '../read/verified-events.ts'
import { notTaken, storeFull, storeUnavailable } from '../write/write-refusals.ts'
import { partsFault, salted, valueParts } from './value-parts.ts'

/** Limit of concurrent writes: each value is in memory as text, split, and sealed. */
const PUTS = { atOnce: 4, waiting: 1_000 } as const
const TRIES_MAX = 8
const RETRY_MS = 1_000

export interface ValueStoreDeps {
  readonly store: EventStore
  readonly sealer: Sealer
  readonly effects: Effects
  readonly memory: MemoryBudget
}

/** The run to which a value belongs. */
export interface ValueOwner {
  readonly tenant: string
  readonly runId: string
}

export type PutResult =
  | { readonly ok: true; readonly ref: ValueRef }
  | { readonly ok: false; readonly refusal: Refusal }

/** The parts of a value that its stream holds. */
interface Standing {
  readonly parts: EventBody<'ValueStored'>[]
  readonly next: Expectation
}

export class ValueStore {
  readonly #deps: ValueStoreDeps
  readonly #recent: SizedCache<{ readonly value: Json }>
  readonly #puts = new AdmissionQueue('large values that have to be written', PUTS)

  constructor(deps: ValueStoreDeps) {
    this.#deps = deps
    this.#recent = cacheWithin(deps.memory, 'values', 1)
  }

  /** The reference to a value of the run, whether the value is stored or not. */
  refOf({ tenant, runId }: ValueOwner, text: string): ValueRef {
    return salted(text, this.#keyOf({ tenant, runId })).ref
  }

  #keyOf({ tenant, runId }: ValueOwner) {
    return this.#deps.sealer.current(tenant, runStream(tenant, runId)).key
  }

  /** Resolves once the value is durable; a value that is already stored is not stored again. Throws `OverloadedError`. */
  put(owner: ValueOwner, by: Caller, of: { readonly value: Json; readonly text: string }): Promise<PutResult> {
    return this.#puts.pass(async () => {
      const value = salted(of.text, this.#keyOf(owner))
      const refusal = await this.#write(owner, by, valueParts(owner.runId, of.text, value))
      if (refusal !== undefined) return { ok: false, refusal }
      this.#remember(owner, value.ref.digest, of.value)
      return { ok: true, ref: value.ref }
    })
  }

  async #write(
    { tenant }: ValueOwner,
    by: Caller,
    bodies: readonly EventBody<'ValueStored'>[],
  ): Promise<Refusal | undefined> {
    const stream = valueStream(tenant, bodies[0]?.digest ?? '')
    let at = firstExpectation(stream)
    for (let tries = 0; at.revision < bodies.length; ) {
      const { append, next } = this.#sealed(bodies, { tenant, by, at })
      const result = await this.#deps.store.append(append)
      const refusal = refusalOf(this.#deps.store, result)
      if (refusal !== undefined) return refusal
      if (result.kind === 'appended' || (result.kind === 'unknown' && (await wasWritten(this.#deps.store, append)))) {
        at = next
        continue
      }
      // Another writer has begun to write the same value, or a crash interrupted it: writing continues after the existing parts.
      tries += 1
      if (tries > TRIES_MAX) return storeUnavailable('the value could not be written', RETRY_MS)
      at = (await this.#standing(stream))?.next ?? firstExpectation(stream)
    }
    return undefined
  }

  /** As many parts as fit into one append. */
  #sealed(
    bodies: readonly EventBody<'ValueStored'>[],
    { tenant, by, at }: { readonly tenant: string; readonly by: Caller; readonly at: Expectation },
  ): { readonly append: Append; readonly next: Expectation } {
    const { store } = this.#deps
    let next = at
    let bytes = 0
    const records: Append['records'][number][] = []
    for (const data of bodies.slice(at.revision)) {
      const sealed = sealFact(this.#deps, { tenant, type: 'ValueStored', data: data as unknown as Json, by, at: next })
      const [record] = sealed.append.records
      if (record === undefined) break
      bytes += record.salt.length + Buffer.byteLength(record.header) + Buffer.byteLength(record.data)
      if (bytes > store.maxAppendBytes && records.length > 0) break
      records.push(record)
      next = sealed.next
    }
    return { append: { stream: at.stream, expectedRevision: at.revision - 1, records }, next }
  }

  async #standing(stream: string): Promise<Standing | undefined> {
    const { store, sealer } = this.#deps
    const parts: EventBody<'ValueStored'>[] = []
    let next = firstExpectation(stream)
    for await (const page of store.readStream(stream)) {
      for (const record of page) {
        next = nextExpectation(checkInStream(sealer, record, next))
        parts.push(parseJson(record.data) as EventBody<'ValueStored'>)
      }
    }
    return parts.length === 0 ? undefined : { parts, next }
  }

  /** The canonical text; undefined if the run has no such value. Throws `DamagedStreamError` for an altered value. */
  async text({ tenant, runId }: ValueOwner, digest: string): Promise<string | undefined> {
    const stream = valueStream(tenant, digest)
    const standing = await this.#standing(stream)
    if (standing === undefined || standing.parts[0]?.run !== runId) return undefined
    const { parts } = standing
    if (parts.length < (parts[0]?.parts ?? 0)) return undefined
    const fault = partsFault(parts, digest)
    if (fault !== undefined) throw new DamagedStreamError(stream, 0, fault)
    return parts.map((part) => part.text).join('')
  }

  /** The value, from memory if it was used recently. Throws like `text`, and also if the value is missing, because an event references it. */
  async value(owner: ValueOwner, digest: string): Promise<Json> {
    const recent = this.#recent.get(`${owner.tenant}/${owner.runId} ${digest}`)
    if (recent !== undefined) return recent.value
    const text = await this.text(owner, digest)
    if (text === undefined) throw new DamagedStreamError(valueStream(owner.tenant, digest), 0, 'the value is missing')
    const value = parseJson(text)
    this.#remember(owner, digest, value)
    return value
  }

  /** The possible digests of a text: the salt depends on the key at the time, and keys are rotated. */
  #digestsOf({ tenant, runId }: ValueOwner, text: string): ReadonlySet<string> {
    const { sealer } = this.#deps
    const stream = runStream(tenant, runId)
    const keys = sealer.ring.keys.map(({ kid }) => sealer.keyOf(kid, tenant, stream))
    return new Set(keys.flatMap((key) => (key === undefined ? [] : [salted(text, key).ref.digest])))
  }

  /** Whether a reference refers to this text. */
  async isOf(owner: ValueOwner, ref: ValueRef, text: string): Promise<boolean> {
    if (ref.kept === false) return this.#digestsOf(owner, text).has(ref.digest)
    return ref.bytes === Buffer.byteLength(text) && (await this.text(owner, ref.digest)) === text
  }

  #remember({ tenant, runId }: ValueOwner, digest: string, value: Json): void {
    this.#recent.set(`${tenant}/${runId} ${digest}`, { value }, weigh(value))
  }
}

function refusalOf(store: Pick<EventStore, 'status'>, result: AppendResult): Refusal | undefined {
  if (result.kind === 'full') return storeFull(result.detail)
  return result.kind === 'unavailable' ? notTaken(store, result.detail, result.retryAfterMs) : undefined
}
