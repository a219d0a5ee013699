/** @module The current sealing key, and the run keys of all keys of the ring; replaced together when the ring changes. */

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

/** A stored event that is not the one that was sealed for its place. */
export interface SealFault {
  readonly stream: string
  readonly revision: number
  readonly code: string
  readonly message: string
}

/** Maximum number of faults that are kept for the first listener. */
const UNHEARD_MAX = 1_000

export class Sealer {
  readonly #onFault: ((fault: SealFault) => void)[] = []
  /** Faults found at the start, before a listener was registered. */
  readonly #unheard: SealFault[] = []
  readonly #source: KeySource
  readonly #maxKeyBytes: number | undefined
  #ring: KeyRing
  #runKeys: RunKeyCache
  #kid: string

  /** `memory` bounds the cache of run keys. */
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

  /** Registers a listener for every event that is read and does not verify, called each time it is read. */
  onFault(listener: (fault: SealFault) => void): void {
    this.#onFault.push(listener)
    for (const fault of this.#unheard.splice(0)) listener(fault)
  }

  /** To be called by code that verifies the contents of the store. */
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

  /** Index of the sealing key in the ring; within a stream it never decreases. */
  get ringIndex(): number {
    return ringIndex(this.#ring, this.#kid)
  }

  /** The key for new events of a stream. */
  current(tenant: string, stream: string): StreamKey {
    const key = this.#runKeys.keyFor(this.#kid, tenant, stream)
    if (key === undefined) throw new TypeError(`the ring holds no key ${this.#kid}`)
    return { kid: this.#kid, key }
  }

  /** The key with which an event was sealed; for an unknown `kid` the ring is reloaded first. */
  keyOf(kid: string, tenant: string, stream: string): MacKey | undefined {
    if (ringIndex(this.#ring, kid) < 0) this.reload()
    return this.#runKeys.keyFor(kid, tenant, stream)
  }

  /** Uses the ring of the source for verification. The sealing key stays the same until `sealWith`. */
  reload(): void {
    const { ring } = this.#source.current()
    if (ring === this.#ring) return
    this.#ring = ring
    this.#runKeys = this.#keysOf(ring)
  }

  /** Seals with key `index` if that is newer than the current one: a process that does not know of a rotation yet must not fall behind it. */
  notBefore(index: number | undefined): void {
    const key = index === undefined || index <= this.ringIndex ? undefined : this.#ring.keys[index]
    if (key !== undefined) this.#kid = key.kid
  }

  /** Seals new events with this key from now on, once its KeyRotated event is recorded. */
  sealWith(kid: string): void {
    this.#kid = kid
  }
}
