/**
 * @module What a disk may hold after the power went at some moment of a recorded history. Synced is safe and nothing else: of what was written
 * to a file since its last sync any sectors may be there, and of the names made, moved and removed in a folder since its last sync the
 * first few.
 */
import { dirname } from 'node:path'
import type { DiskOperation } from './recorded-disk.ts'

const SECTOR_BYTES = 512

/** How much of what was not synced is on the disk: nothing, everything, what was done first, or any sectors. */
const STYLES = ['none', 'all', 'first', 'any'] as const

interface StoredFile {
  synced: Buffer
  readonly pending: DiskOperation[]
}

interface NameChange {
  readonly removes?: string
  readonly adds?: { readonly path: string; readonly file: StoredFile | 'folder' }
}

interface Folder {
  readonly synced: Map<string, StoredFile | 'folder'>
  readonly pending: NameChange[]
}

/** Every file and folder that is on the disk, by its whole path. */
export type DiskImage = ReadonlyMap<string, Buffer | 'folder'>

export class PowerCut {
  readonly #files = new Map<bigint, StoredFile>()
  readonly #folders = new Map<string, Folder>()
  /** Names as running processes see them. */
  readonly #names = new Map<string, StoredFile | 'folder'>()
  readonly #root: string

  /** `root` is there from the beginning. */
  constructor(root: string) {
    this.#root = root
    this.#folders.set(root, { synced: new Map(), pending: [] })
  }

  /** The processes did this, and the disk said that it is done. */
  apply(operation: DiskOperation): void {
    const { kind, path, other, inode } = operation
    // An inode is used again after its file is gone.
    if (kind === 'create') this.#files.set(inode, { synced: Buffer.alloc(0), pending: [] })
    if (kind === 'make-folder') this.#folders.set(path, { synced: new Map(), pending: [] })
    if (kind === 'write' || kind === 'truncate') this.#fileOf(inode).pending.push(operation)
    if (kind === 'sync') this.#sync(this.#fileOf(inode))
    if (kind === 'sync-folder') this.#syncFolder(path)

    if (kind === 'create') this.#change({ adds: { path, file: this.#fileOf(inode) } })
    if (kind === 'make-folder') this.#change({ adds: { path, file: 'folder' } })
    if (kind === 'rename') this.#change({ removes: path, adds: { path: other, file: this.#named(path) } })
    if (kind === 'link') this.#change({ adds: { path: other, file: this.#named(path) } })
    if (kind === 'unlink') this.#change({ removes: path })
  }

  /** What may be there if the power goes now. */
  image(random: () => number): DiskImage {
    const image = new Map<string, Buffer | 'folder'>()
    const contents = new Map<StoredFile, Buffer>()
    const add = (folder: string): void => {
      for (const [path, file] of this.#namesIn(folder, random)) {
        if (file === 'folder') {
          image.set(path, 'folder')
          add(path)
        } else {
          const bytes = contents.get(file) ?? contentOf(file, random)
          contents.set(file, bytes)
          image.set(path, bytes)
        }
      }
    }
    add(this.#root)
    return image
  }

  #namesIn(folder: string, random: () => number): ReadonlyMap<string, StoredFile | 'folder'> {
    const { synced, pending } = this.#folders.get(folder) ?? { synced: new Map(), pending: [] }
    const names = new Map(synced)
    // A journal keeps the order of names, so that it is the last of them that are lost.
    for (const change of pending.slice(0, survivors(pending.length, random))) applyChange(names, change)
    return names
  }

  #fileOf(inode: bigint): StoredFile {
    const file = this.#files.get(inode)
    if (file === undefined) throw new Error(`the trace has no beginning of the file with inode ${inode}`)
    return file
  }

  #named(path: string): StoredFile | 'folder' {
    const file = this.#names.get(path)
    if (file === undefined) throw new Error(`the trace has no beginning of ${path}`)
    return file
  }

  #change(change: NameChange): void {
    const place = dirname(change.adds?.path ?? change.removes ?? '')
    this.#folders.get(place)?.pending.push(change)
    applyChange(this.#names, change)
  }

  #sync(file: StoredFile): void {
    file.synced = after(file.synced, file.pending)
    file.pending.length = 0
  }

  #syncFolder(path: string): void {
    const folder = this.#folders.get(path)
    for (const change of folder?.pending.splice(0) ?? []) applyChange(folder?.synced ?? new Map(), change)
  }
}

function applyChange(names: Map<string, StoredFile | 'folder'>, { removes, adds }: NameChange): void {
  if (removes !== undefined) names.delete(removes)
  if (adds !== undefined) names.set(adds.path, adds.file)
}

/** How many of the changes that were not synced are there, from the first on. */
function survivors(pending: number, random: () => number): number {
  const draw = random()
  if (draw < 0.3) return 0
  if (draw < 0.6) return pending
  return Math.floor(random() * (pending + 1))
}

function contentOf({ synced, pending }: StoredFile, random: () => number): Buffer {
  const style = STYLES[Math.floor(random() * STYLES.length)]
  if (style === 'none' || pending.length === 0) return synced
  if (style === 'all') return after(synced, pending)
  if (style === 'first') {
    const whole = Math.floor(random() * pending.length)
    const torn = pending[whole]
    return after(synced, [...pending.slice(0, whole), ...(torn === undefined ? [] : beginningOf(torn, random()))])
  }
  const share = random()
  return after(
    synced,
    pending.flatMap(sectorsOf).filter(() => random() < share),
  )
}

/** As many whole sectors of a write as were on the disk when it ended. */
function beginningOf(operation: DiskOperation, share: number): readonly DiskOperation[] {
  const sectors = operation.kind === 'write' ? sectorsOf(operation) : []
  return sectors.slice(0, Math.floor(share * sectors.length))
}

/** A write as the sectors of the file that it touches; anything else is one. */
function sectorsOf(operation: DiskOperation): readonly DiskOperation[] {
  if (operation.kind !== 'write') return [operation]
  const sectors: DiskOperation[] = []
  const end = operation.at + operation.bytes.length
  for (let at = operation.at; at < end; ) {
    const next = Math.min(end, (Math.floor(at / SECTOR_BYTES) + 1) * SECTOR_BYTES)
    sectors.push({ ...operation, at, bytes: operation.bytes.subarray(at - operation.at, next - operation.at) })
    at = next
  }
  return sectors
}

/** The file after writes and truncations; what lies between its old end and a write behind it reads as zeros. */
function after(before: Buffer, operations: readonly DiskOperation[]): Buffer {
  const ends = operations.map(({ at, bytes }) => at + bytes.length)
  const file = Buffer.alloc(ends.reduce((most, end) => Math.max(most, end), before.length))
  before.copy(file)
  let length = before.length
  for (const { kind, at, bytes } of operations) {
    if (kind === 'truncate') {
      if (at < length) file.fill(0, at, length)
      length = at
    } else {
      bytes.copy(file, at)
      length = Math.max(length, at + bytes.length)
    }
  }
  return file.subarray(0, length)
}
