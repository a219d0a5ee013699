/** @module Interprets the server's own events about a stream whose events it may drop or has dropped: `$maxCount`, `$maxAge`, `$tb`, permanent deletion. */
import type { RecordedEvent } from '@eventstore/db-client'
import type { ForgettingStream } from '../event-store.ts'
import { isLedgerStream } from './ledger-streams.ts'

export const METADATA_TYPE = '$metadata'
export const TOMBSTONE_TYPE = '$streamDeleted'

const LIMITS = ['$maxCount', '$maxAge', '$tb']

/** A `$tb` from this value on hides the whole stream: the server's representation of a deletion that can be reverted. */
const SOFT_DELETED = 2 ** 53

/**
 * Result of one event: either only the stream, if the server keeps its events, or the reason why it may drop them. Undefined if the event is not about a
 * stream of a ledger.
 */
export function judgeRetention({
  type,
  streamId,
  data,
}: Pick<RecordedEvent, 'type' | 'streamId' | 'data'>): ForgettingStream | { readonly stream: string } | undefined {
  if (type === TOMBSTONE_TYPE) {
    return isLedgerStream(streamId) ? { stream: streamId, why: 'deleted for good', loss: 'gone' } : undefined
  }
  const stream = streamId.startsWith('$$') ? streamId.slice(2) : ''
  if (type !== METADATA_TYPE || !isLedgerStream(stream)) return undefined
  const set = Object.entries(asObject(data)).filter(([key, value]) => LIMITS.includes(key) && value !== 0)
  if (set.length === 0) return { stream }
  const isDeleted = set.some(([key, value]) => key === '$tb' && Number(value) >= SOFT_DELETED)
  const limits = set.map(([key, value]) => `${key} ${String(value)}`).join(', ')
  return isDeleted ? { stream, why: 'deleted', loss: 'deleted' } : { stream, why: limits, loss: 'limited' }
}

/** Advice for the operator: metadata cannot restore a stream that was deleted for good. */
export function forgettingAdvice(streams: readonly ForgettingStream[]): string {
  const steps = [
    ...(streams.some(({ loss }) => loss !== 'gone')
      ? ['write empty metadata ({}) to these streams with the server’s own tools, and run no scavenge before']
      : []),
    ...(streams.some(({ loss }) => loss === 'gone')
      ? ['what is deleted for good comes back only with a backup of the server; every other run is served on']
      : []),
  ]
  return steps.join('; ')
}

function asObject(data: unknown): object {
  return typeof data === 'object' && data !== null ? data : {}
}
