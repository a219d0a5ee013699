/**
 * @module Tells sleeping subscribers that there is more. The client's subscriptions end at the first trouble and say so once, or not at all
 * where their client was replaced: so this one is made anew each time, and wakes everyone when it stands, since it saw nothing meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { END } from '@eventstore/db-client'
import type { Wakeups } from '../wakeups.ts'
import { ledgerFilter } from './all-reads.ts'
import type { Connection } from './connection.ts'
import { cancel } from './drain.ts'

const AGAIN_MS = 100
const HOUR_MS = 3_600_000

/** Watches until the store closes. Never rejects. */
export async function watchForEvents(connection: Connection, wakeups: Wakeups): Promise<void> {
  const poll = setInterval(() => wakeups.sleepers > 0 && wakeups.notify(), connection.timings.pollMs).unref()
  while (!connection.closing.aborted) {
    if (await connection.whenReady(HOUR_MS)) await watchOnce(connection, wakeups)
    await sleep(AGAIN_MS * (0.5 + Math.random()), undefined, { ref: false })
  }
  clearInterval(poll)
}

function watchOnce(connection: Connection, wakeups: Wakeups): Promise<void> {
  return new Promise((resolve) => {
    const { shared, closing } = connection
    const stream = shared.current.subscribeToAll({ fromPosition: END, filter: ledgerFilter(), requiresLeader: true })
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
    stream.on('confirmation', () => wakeups.notify())
    stream.on('data', () => wakeups.notify())
  })
}
