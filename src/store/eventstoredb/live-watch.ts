/**
 * @module Tells sleeping subscribers that there is more, and hears when somebody lets the server forget streams. One subscription that lets
 * nothing but the server's records about streams through: of everything else the server says where it is, without a body. The client's
 * subscriptions end at the first trouble and say so once, or not at all where their client was replaced: so this one is rebuilt each
 * time, and looks back when it stands, since it saw nothing meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type AllStreamResolvedEvent, END, eventTypeFilter } from '@eventstore/db-client'
import type { Wakeups } from '../wakeups.ts'
import type { Connection } from './connection.ts'
import { cancel } from './drain.ts'
import { RETENTION_PREFIXES, type RetentionCheck } from './retention-check.ts'

const AGAIN_MS = 100
const HOUR_MS = 3_600_000

export interface WatchParts {
  readonly connection: Connection
  readonly wakeups: Wakeups
  /** Absent: nobody asks what the server may forget. */
  readonly retention?: RetentionCheck | undefined
}

/** Watches until the store closes. Never rejects. */
export async function watchForEvents(parts: WatchParts): Promise<void> {
  const { connection, wakeups } = parts
  const poll = setInterval(() => wakeups.sleepers > 0 && wakeups.notify(), connection.timings.pollMs).unref()
  while (!connection.closing.aborted) {
    if (await connection.whenReady(HOUR_MS)) await watchOnce(parts)
    await pause(connection.closing)
  }
  clearInterval(poll)
}

/** Ends at once when the store closes: whoever closes it waits for this, in a process that nothing else may hold. */
async function pause(closing: AbortSignal): Promise<void> {
  if (closing.aborted) return
  await sleep(AGAIN_MS * (0.5 + Math.random()), undefined, { signal: closing, ref: false }).catch(() => undefined)
}

function watchOnce({ connection, wakeups, retention }: WatchParts): Promise<void> {
  return new Promise((resolve) => {
    const { shared, closing } = connection
    const stream = shared.current.subscribeToAll({
      fromPosition: END,
      requiresLeader: true,
      filter: eventTypeFilter({
        prefixes: [...RETENTION_PREFIXES],
        maxSearchWindow: 1,
        checkpointInterval: 1,
        checkpointReached: () => wakeups.notify(),
      }),
    })
    const end = (): void => {
      closing.removeEventListener('abort', end)
      stopReplaced()
      stopStatus()
      cancel(stream)
      resolve()
    }
    const stopReplaced = shared.onReplaced(end)
    const stopStatus = connection.onStatus(({ state }) => state !== 'ready' && end())
    closing.addEventListener('abort', end)
    stream.on('error', end)
    stream.once('end', end)
    stream.on('confirmation', () => {
      wakeups.notify()
      if (retention !== undefined) lookBack(retention).catch(end)
    })
    stream.on('data', ({ event }: AllStreamResolvedEvent) => {
      wakeups.notify()
      if (event === undefined || retention === undefined) return
      retention.take(event)
      retention.tell()
    })
  })
}

/** What was set while nobody watched. Where that cannot be read this watch is over, and the next one looks back. */
async function lookBack(retention: RetentionCheck): Promise<void> {
  await retention.look()
  retention.tell()
}
