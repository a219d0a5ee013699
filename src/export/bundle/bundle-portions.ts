/** @module The tar of a bundle in portions, counted and hashed as they are produced. */
import { createHash } from 'node:crypto'
import type { BodyPortion, Portions } from '../export-body.ts'
import { type BundleHost, type BundleRequest, type PendingBundle, planBundle } from './plan-bundle.ts'
import { tarChunks } from './write-tar.ts'

/** Produces bundles outside the thread that writes. */
export interface BundleMaker {
  bundle(request: BundleRequest, host: Pick<BundleHost, 'sign'>): Portions<BodyPortion>
}

/** A portion is sent when it has `portionBytes` bytes; with 0, every piece of the tar is a portion. Throws what `planBundle` and the files throw. */
export async function* bundlePortions(pending: PendingBundle, portionBytes: number): AsyncGenerator<BodyPortion, void> {
  const { files, events } = await planBundle(pending)
  const hash = createHash('sha256')
  let bytes = 0
  let waiting: Uint8Array[] = []
  let waitingBytes = 0
  const portion = (): BodyPortion => {
    const chunk = waiting.length === 1 && waiting[0] !== undefined ? waiting[0] : Buffer.concat(waiting)
    waiting = []
    waitingBytes = 0
    hash.update(chunk)
    bytes += chunk.length
    return { chunk, events, bytes, digest: `sha256:${hash.copy().digest('hex')}`, losses: [] }
  }
  for await (const chunk of tarChunks(files)) {
    waiting.push(chunk)
    waitingBytes += chunk.length
    if (waitingBytes >= portionBytes) yield portion()
  }
  if (waiting.length > 0) yield portion()
}
