/** @module Files of a bundle about the log it is pinned to: how its key follows from earlier ones, its last time-stamp, a run's place in the tree of streams. */
import type { SealedPin } from '../../ledger/ledger.ts'
import type { TimestampedCheckpoint } from '../../ledger/log/tenant-logs.ts'
import { toBase64 } from '../../merkle/base64.ts'
import type { StreamPath } from '../../merkle/stream-tree.ts'
import { digestText } from '../../signing/digests.ts'
import { type BundleFile, bytesFile, textFile } from './bundle-file.ts'

/** Of a log whose key was rotated: whoever holds an earlier key gets from it to the one that signed. */
export function successionFile({ successions }: SealedPin): readonly BundleFile[] {
  if (successions.length === 0) return []
  return [textFile('key-successions.json', `${JSON.stringify(successions, null, 2)}\n`)]
}

/** The last time-stamped checkpoint, which the bundle's own continues: it was there before the bundle was asked for. */
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
