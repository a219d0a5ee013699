/** @module The growing tree of one tenant: its changes since the last save, and the hashes of any of its subtrees. */
import { EVENTS } from '../../../schemas/events.ts'
import type { Header } from '../../../schemas/header.ts'
import { parseJsonOrUndefined } from '../../../schemas/json.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import { CompactTree } from '../../merkle/compact-tree.ts'
import { HASH_BYTES } from '../../merkle/hashes.ts'
import { type HashReader, rangeRoot } from '../../merkle/subtrees.ts'
import { tileHashReader } from '../../merkle/tile-hashes.ts'
import { TILE_HEIGHT, TILE_WIDTH } from '../../merkle/tile-path.ts'
import type { ReadRecord } from '../../store/event-store.ts'
import type { LogHole, LogRow, LogStamp, LogStop, LogStore, TileRow } from '../../store/log-store.ts'

const TILE_BYTES = TILE_WIDTH * HASH_BYTES
/** Size in bytes without the tiles: the hashes of the right edge, one per level, and the members of the object. */
const TREE_BYTES = 4_096

interface OpenTile {
  readonly level: number
  readonly index: number
  readonly bytes: Uint8Array
  /** Bytes in use. */
  length: number
}

export class TenantTree {
  readonly tenant: string
  readonly read: HashReader
  lastFactIndex: number
  signedSize: number
  note: string | undefined
  stamp: LogStamp | undefined
  stopped: LogStop | undefined
  holes: readonly LogHole[]
  readonly #store: Pick<LogStore, 'tile'>
  readonly #tree: CompactTree
  /** The last tile of each level. */
  readonly #open: OpenTile[] = []
  readonly #dirty = new Set<OpenTile>()

  constructor(store: Pick<LogStore, 'tile'>, tenant: string, row: LogRow | undefined) {
    this.#store = store
    this.tenant = tenant
    this.read = tileHashReader((level, index) => this.#tile(level, index))
    this.lastFactIndex = row?.lastFactIndex ?? -1
    this.signedSize = row?.signedSize ?? 0
    this.note = row?.note
    this.stamp = row?.stamp
    this.stopped = row?.stopped
    this.holes = row?.holes ?? []
    this.#tree = CompactTree.of(row?.size ?? 0, this.read)
  }

  get size(): number {
    return this.#tree.size
  }

  /** Memory that the saved tree takes, in bytes. */
  get bytes(): number {
    return TREE_BYTES + TILE_BYTES * this.#open.length + 2 * (this.note?.length ?? 0)
  }

  append(leaf: Uint8Array): void {
    this.#tree.append(leaf, (level, index, hash) => {
      if (level % TILE_HEIGHT === 0) this.#push(level / TILE_HEIGHT, index, hash)
    })
  }

  /** Root of the first `size` leaves. Throws `RangeError` if there are fewer, or if `size` is 0. */
  rootAt(size: number): Uint8Array {
    return rangeRoot({ begin: 0, end: size }, this.read)
  }

  /** The changes that `save` has to write; they count as written from then on. */
  takeChanges(): { readonly log: LogRow; readonly tiles: readonly TileRow[] } {
    const tiles = [...this.#dirty].map(({ level, index, bytes, length }) => {
      return { tenant: this.tenant, level, index, hashes: bytes.subarray(0, length) }
    })
    this.#dirty.clear()
    const { tenant, size, lastFactIndex, signedSize, note, stamp, stopped, holes } = this
    const log = {
      tenant,
      size,
      lastFactIndex,
      signedSize,
      ...(note !== undefined && { note }),
      ...(stamp && { stamp }),
      ...(stopped && { stopped }),
      ...(holes.length > 0 && { holes }),
    }
    return { log, tiles }
  }

  #push(level: number, index: number, hash: Uint8Array): void {
    const tileIndex = Math.floor(index / TILE_WIDTH)
    const at = (index % TILE_WIDTH) * HASH_BYTES
    let tile = this.#open[level]
    if (tile?.index !== tileIndex) {
      tile = { level, index: tileIndex, bytes: new Uint8Array(TILE_BYTES), length: at }
      if (at > 0) tile.bytes.set(this.#stored(level, tileIndex, at))
      this.#open[level] = tile
    }
    tile.bytes.set(hash, at)
    tile.length = at + HASH_BYTES
    this.#dirty.add(tile)
  }

  #stored(level: number, index: number, length: number): Uint8Array {
    const bytes = this.#store.tile(this.tenant, level, index)
    if (bytes === undefined || bytes.length < length)
      throw new RangeError(`tile ${level}/${index} is missing or too short`)
    return bytes.subarray(0, length)
  }

  /** Full tiles that are not saved yet are among the dirty ones. */
  #tile(level: number, index: number): Uint8Array | undefined {
    const open = this.#open[level]
    if (open?.index === index) return open.bytes.subarray(0, open.length)
    for (const tile of this.#dirty) {
      if (tile.level === level && tile.index === index) return tile.bytes.subarray(0, tile.length)
    }
    return this.#store.tile(this.tenant, level, index)
  }
}

export function isCheckpoint({ type, stream, tenant }: Header): boolean {
  return type === 'CheckpointSigned' && stream === ledgerStream(tenant)
}

export function isStamp({ type, stream, tenant }: Header): boolean {
  return type === 'CheckpointTimestamped' && stream === ledgerStream(tenant)
}

/** Readers of a token take it from its event and compare it with the checkpoint; here it only determines when the next one is due. */
export function takeStamp(tree: TenantTree, { time }: Header, { data }: Pick<ReadRecord, 'data'>): void {
  const body = EVENTS.CheckpointTimestamped.schema.safeParse(parseJsonOrUndefined(data))
  const size = body.data?.size ?? 0
  if (size > (tree.stamp?.size ?? 0) && size <= tree.signedSize) tree.stamp = { size, leaf: tree.size, time }
}
