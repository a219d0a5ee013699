/** @module Detects when a full disk has free space again by writing and removing a small file, at growing intervals while free space does not last. */
import { rmSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'

/** Larger than a typical append, so that a disk that would be full again at once does not count as free. */
const ROOM_BYTES = 1024 * 1024
const FIRST_MS = 500
const LONGEST_MS = 15_000
/** If free space lasted this long, the intervals start over. */
const LASTING_MS = 60_000

export class RoomWatch {
  readonly #path: string
  #timer: NodeJS.Timeout | undefined
  #waitMs = FIRST_MS
  #stoppedAtMs = Number.NEGATIVE_INFINITY

  /** `path` must be a name that nothing else uses, on the disk that is full. */
  constructor(path: string) {
    this.#path = path
    // A process that was killed during a probe may have left the file.
    rmSync(path, { force: true })
  }

  /** Calls `onRoom` once, unless it is stopped before. */
  watch(onRoom: () => void): void {
    this.stop()
    if (performance.now() - this.#stoppedAtMs > LASTING_MS) this.#waitMs = FIRST_MS
    this.#timer = setTimeout(() => {
      this.#look(onRoom).catch(() => undefined)
    }, this.#waitMs).unref()
    this.#waitMs = Math.min(2 * this.#waitMs, LONGEST_MS)
  }

  stop(): void {
    if (this.#timer === undefined) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#stoppedAtMs = performance.now()
  }

  async #look(onRoom: () => void): Promise<void> {
    const timer = this.#timer
    const hasRoom = await writeFile(this.#path, Buffer.alloc(ROOM_BYTES), { mode: 0o600 }).then(
      () => true,
      () => false,
    )
    await rm(this.#path, { force: true })
    if (this.#timer !== timer) return
    if (hasRoom) onRoom()
    else this.watch(onRoom)
  }
}
