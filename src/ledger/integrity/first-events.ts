/**
 * @module Once per start, for a store that others administer: checks whether it still holds the first event of every stream that the log knows. A
 * server that is configured to discard data removes the oldest events of a stream without a trace in the stream; the log is older than that.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type EventStore, StoreUnavailableError } from '../../store/event-store.ts'
import type { LogStore } from '../../store/log-store.ts'
import type { Effects } from '../ports.ts'
import type { IntegrityFaults } from './integrity-faults.ts'

const LEAVES_AT_ONCE = 256
const STREAMS_AT_ONCE = 256

type LostBeginnings = NonNullable<EventStore['lostBeginnings']>

export interface FirstEventsDeps {
  readonly lostBeginnings: LostBeginnings
  readonly logStore: Pick<LogStore, 'signedTenants' | 'leaves'>
  readonly faults: Pick<IntegrityFaults, 'confirmed'>
  readonly effects: Pick<Effects, 'sleep'>
}

/** Asks for many streams at once, batch after batch. Waits for an unavailable store. */
export async function lookForFirstEvents(deps: FirstEventsDeps, signal: AbortSignal): Promise<void> {
  const { logStore } = deps
  for (const tenant of logStore.signedTenants()) {
    let streams: string[] = []
    for (let from = 0; !signal.aborted; from += LEAVES_AT_ONCE) {
      const leaves = logStore.leaves(tenant, from, from + LEAVES_AT_ONCE)
      for (const { stream, revision } of leaves) if (revision === 0) streams.push(stream)
      const isLast = leaves.length < LEAVES_AT_ONCE
      if (streams.length >= STREAMS_AT_ONCE || (isLast && streams.length > 0)) {
        await lookFor(deps, streams, signal)
        streams = []
      }
      if (isLast) break
      await nextTurn()
    }
  }
}

async function lookFor(
  { lostBeginnings, faults, effects }: FirstEventsDeps,
  streams: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for (const stream of await lostBeginnings(streams)) {
        await faults.confirmed({ stream, revision: 0, code: 'missing', message: 'the log has it, the store has not' })
      }
      return
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
      await effects.sleep(error.retryAfterMs)
    }
  }
}
