/** @module Files of a bundle about the log that it is pinned to: the successions of its key, its last time-stamp, and a run's place in the tree of streams. */
import type { SealedPin } from '../../ledger/ledger.ts'
import type { TimestampedCheckpoint } from '../../ledger/log/tenant-logs.ts'
import { toBase64 } from '../../merkle/base64.ts'
import type { StreamPath } from '../../merkle/stream-tree.ts'
import { digestText } from '../../signing/digests.ts'
import { type BundleFile, bytesFile, textFile } from './bundle-file.ts'

/** For a log whose key was rotated: leads from an earlier key to the one that signed. */
export function successionFile({ successions }: SealedPin): readonly BundleFile[] {
  if (successions.length === 0) return []
  return [textFile('key-successions.json', `${JSON.stringify(successions, null, 2)}\n`)]
}

/** The last time-stamped checkpoint, which the bundle's own continues; it existed before the bundle was requested. */
export function stampFiles(stamp: TimestampedCheckpoint | undefined): readonly BundleFile[] {
  if (stamp === undefined) return []
  const { text, reply, consistency } = stamp
  return [
    textFile('timestamp.json', `${JSON.stringify({ consistency: consistency.map(toBase64) })}\n`),
    bytesFile('timestamp.tsr', reply),
    textFile('timestamp.txt', text),
  ]
}

export function streamText({ head, path }: StreamPath): string {
  const { events, digest } = head
  return `${JSON.stringify({ events, digest: digestText(digest), path: path.map(toBase64) })}\n`
}
