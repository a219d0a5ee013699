/**
 * @module Detects losses in events as they are read: each event is checked by its seal, a run by its links, and the history of a tenant leaf by leaf
 * against its log. A document made from the events has to include the losses.
 */
import { LOSSES_MAX, type Loss } from '../../../schemas/loss.ts'
import { HASH_BYTES, sameHash } from '../../merkle/hashes.ts'
import { TILE_WIDTH } from '../../merkle/tile-path.ts'
import type { Position } from '../../store/event-store.ts'
import type { LeafReader } from '../../store/log-store.ts'
import type { LedgerEvent } from '../ledger-event.ts'
import { leafHashAt } from '../log/leaf-hash.ts'
import { leavesUpTo } from '../log/leaf-places.ts'
import { digestBytes } from '../log/log-deps.ts'

export interface EventReading {
  /** Takes the next event, in the order of the history. */
  take(event: LedgerEvent): void
  /** To be called after the last event. */
  end(): void
  /** The losses found so far, at most twenty. */
  readonly losses: readonly Loss[]
}

/** Called for each missing event. */
export type OnMissing = (place: { readonly stream: string; readonly revision: number }) => void

abstract class Reading implements EventReading {
  readonly losses: Loss[] = []
  readonly #onMissing: OnMissing

  constructor(onMissing: OnMissing = () => undefined) {
    this.#onMissing = onMissing
  }

  abstract take(event: LedgerEvent): void

  end(): void {}

  protected lose(code: string, { stream, revision }: Pick<LedgerEvent['header'], 'stream' | 'revision'>): void {
    if (this.losses.length >= LOSSES_MAX) return
    this.losses.push({ scope: 'run', code, stream, revision })
    if (code === 'missing') this.#onMissing({ stream, revision })
  }

  /** False, with the loss recorded, if the event is not the one that was sealed. */
  protected isSealed({ seal, header }: LedgerEvent): boolean {
    if (seal !== 'invalid') return true
    this.lose('seal', header)
    return false
  }
}

/** Events that match a query, from any streams: each one is checked on its own. */
export class SealReading extends Reading {
  take(event: LedgerEvent): void {
    this.isSealed(event)
  }
}

/** A run, from its first event on. */
export class RunReading extends Reading {
  #next = 0
  #digest: string | undefined

  take(event: LedgerEvent): void {
    const { header, digest } = event
    const { revision } = header
    for (; this.#next < revision && this.losses.length < LOSSES_MAX; this.#next += 1)
      this.lose('missing', { stream: header.stream, revision: this.#next })
    const follows = this.#digest === undefined || revision === 0 || header.prev === this.#digest
    if (this.isSealed(event) && !follows) this.lose('prev', header)
    this.#next = revision + 1
    this.#digest = digest
  }
}

export interface LeafRange {
  readonly tenant: string
  /** Number of leaves of the log where the reading was pinned. */
  readonly size: number
  /** Exclusive. */
  readonly after: Position | undefined
  /** Inclusive. */
  readonly until: Position
}

export interface LeafSourceOfReading {
  readonly leaves: Pick<LeafReader, 'leaf' | 'leafOf' | 'tile'>
  readonly comparePositions: (a: Position, b: Position) => number
}

/** A range of the history of a tenant: its events have to be exactly the leaves of the log there, in order. */
export class LeafReading extends Reading {
  readonly #source: LeafSourceOfReading
  readonly #range: LeafRange
  #next: number
  #tile: { readonly index: number; readonly hashes: Uint8Array } | undefined

  constructor(source: LeafSourceOfReading, range: LeafRange, onMissing?: OnMissing) {
    super(onMissing)
    this.#source = source
    this.#range = range
    this.#next = range.after === undefined ? 0 : leavesUpTo(source, range, range.after)
  }

  /** Index of the leaf of the event; undefined if it has none. */
  take(event: LedgerEvent): number | undefined {
    const isSealed = this.isSealed(event)
    const leaf = digestBytes(event.digest)
    if (this.#isLeaf(this.#next, leaf)) {
      this.#next += 1
      return this.#next - 1
    }
    const { tenant, size } = this.#range
    const found = this.#source.leaves.leafOf(tenant, event.header.id)
    if (found === undefined || found.index < this.#next || found.index >= size) {
      if (isSealed) this.lose('not-in-log', event.header)
      return undefined
    }
    this.#missingUpTo(found.index)
    if (isSealed && !this.#isLeaf(found.index, leaf)) this.lose('leaf', event.header)
    this.#next = found.index + 1
    return found.index
  }

  override end(): void {
    this.#missingUpTo(leavesUpTo(this.#source, this.#range, this.#range.until))
  }

  #isLeaf(index: number, leaf: Uint8Array): boolean {
    const hash = leafHashAt({ tile: this.#tileOf }, { tenant: this.#range.tenant, index })
    return hash !== undefined && sameHash(hash, leaf)
  }

  /** Each tile is read once for all its leaves; the last tile of a log is read again once it has grown. */
  readonly #tileOf = (tenant: string, level: number, index: number): Uint8Array | undefined => {
    const isLong = (this.#tile?.hashes.length ?? 0) > (this.#next % TILE_WIDTH) * HASH_BYTES
    if (this.#tile?.index !== index || !isLong) {
      const hashes = this.#source.leaves.tile(tenant, level, index)
      this.#tile = hashes && { index, hashes }
    }
    return this.#tile?.hashes
  }

  #missingUpTo(index: number): void {
    for (; this.#next < index && this.losses.length < LOSSES_MAX; this.#next += 1) {
      const row = this.#source.leaves.leaf(this.#range.tenant, this.#next)
      if (row === undefined) this.losses.push({ scope: 'tenant', code: 'log-file' })
      else this.lose('missing', row)
    }
  }
}
