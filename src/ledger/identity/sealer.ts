/** @module The key that seals now, and the run keys of every key there was; swapped as one when the ring changes. */

import type { MemoryBudget } from '../../resources/memory-budget.ts'
import type { MacKey } from '../../signing/digests.ts'
import {
  createRunKeys,
  currentKey,
  type KeyRing,
  type RunKeyCache,
  type RunKeys,
  ringIndex,
} from '../../signing/key-ring.ts'
import type { KeySource } from '../ports.ts'

export interface StreamKey {
  readonly kid: string
  readonly key: MacKey
}

/** An event of the store that is not the one that was sealed for its place. */
export interface SealFault {
  readonly stream: string
  readonly revision: number
  readonly code: string
  readonly message: string
}

/** Faults that are kept for the first who listens. */
const UNHEARD_MAX = 1_000

export class Sealer {
  readonly #onFault: ((fault: SealFault) => void)[] = []
  /** Found at the start, before anybody listened. */
  readonly #unheard: SealFault[] = []
  readonly #source: KeySource
  readonly #maxKeyBytes: number | undefined
  #ring: KeyRing
  #runKeys: RunKeyCache
  #kid: string

  /** `memory` bounds the run keys that are kept. */
  constructor(source: KeySource, memory?: MemoryBudget) {
    this.#maxKeyBytes = memory?.limitOf('run-keys')
    this.#source = source
    this.#ring = source.current().ring
    this.#runKeys = this.#keysOf(this.#ring)
    memory?.watch('run-keys', () => this.#runKeys.bytes)
    this.#kid = currentKey(this.#ring).kid
  }

  #keysOf(ring: KeyRing): RunKeyCache {
    return createRunKeys(ring, this.#maxKeyBytes === undefined ? {} : { maxBytes: this.#maxKeyBytes })
  }

  /** Calls back for every event that was read and did not verify, as often as it is read. */
  onFault(listener: (fault: SealFault) => void): void {
    this.#onFault.push(listener)
    for (const fault of this.#unheard.splice(0)) listener(fault)
  }

  /** Called by whoever checks what the store holds. */
  faultFound(fault: SealFault): void {
    for (const listener of this.#onFault) listener(fault)
    if (this.#onFault.length === 0 && this.#unheard.length < UNHEARD_MAX) this.#unheard.push(fault)
  }

  get ring(): KeyRing {
    return this.#ring
  }

  get runKeys(): RunKeys {
    return this.#runKeys
  }

  get kid(): string {
    return this.#kid
  }

  /** Place of the sealing key in the ring: within a stream it never falls. */
  get ringIndex(): number {
    return ringIndex(this.#ring, this.#kid)
  }

  /** The key for new events of a stream. */
  current(tenant: string, stream: string): StreamKey {
    const key = this.#runKeys.keyFor(this.#kid, tenant, stream)
    if (key === undefined) throw new TypeError(`the ring holds no key ${this.#kid}`)
    return { kid: this.#kid, key }
  }

  /** The key an event was sealed with; on an unknown `kid` the ring is read again before it is judged. */
  keyOf(kid: string, tenant: string, stream: string): MacKey | undefined {
    if (ringIndex(this.#ring, kid) < 0) this.reload()
    return this.#runKeys.keyFor(kid, tenant, stream)
  }

  /** Takes the source's ring over for checking. What seals stays the same until `sealWith`. */
  reload(): void {
    const { ring } = this.#source.current()
    if (ring === this.#ring) return
    this.#ring = ring
    this.#runKeys = this.#keysOf(ring)
  }

  /** The key for an event behind one that key `index` sealed: a process that has not heard of a rotation must not fall behind it. */
  notBefore(index: number | undefined): void {
    const key = index === undefined || index <= this.ringIndex ? undefined : this.#ring.keys[index]
    if (key !== undefined) this.#kid = key.kid
  }

  /** From now on new events are sealed with this key: KeyRotated is on record. */
  sealWith(kid: string): void {
    this.#kid = kid
  }
}
