/** @module The answers that a host was given last. A resumed stream brings them again, and only the same bytes may pass a second time. */
import type { Buffer } from 'node:buffer'
import { bytesDigest } from '../signing/digests.ts'

const KEPT = 1_000

export class LatestGiven {
  readonly #digests = new Set<string>()

  add(message: Buffer): void {
    this.#digests.add(bytesDigest(message))
    const [oldest] = this.#digests
    if (this.#digests.size > KEPT && oldest !== undefined) this.#digests.delete(oldest)
  }

  has(message: Buffer): boolean {
    return this.#digests.has(bytesDigest(message))
  }
}
