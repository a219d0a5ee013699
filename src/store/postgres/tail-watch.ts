/**
 * @module Wakes sleeping subscribers: by NOTIFY, sent after a commit and never inside one (a transaction that notifies takes a lock which all
 * others that notify wait for), and by a look every so often, since notifications get lost with a connection and behind some poolers.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Wakeups } from '../wakeups.ts'
import { newClient, type Sessions } from './sessions.ts'

export interface TailWatch {
  /** Tells the other processes that something was appended; many calls in a moment are one notification. */
  readonly announce: () => void
  readonly stop: () => Promise<void>
}

const LISTEN_AGAIN_MS = 1_000

/** The listener starts with the first subscriber; announcing costs nothing where nobody listens but a message to the server. */
export function watchTail(sessions: Sessions, wakeups: Wakeups, pollMs: number): TailWatch {
  const stopping = new AbortController()
  const watching = [
    listen(sessions, wakeups, stopping.signal),
    poll(sessions, wakeups, { pollMs, signal: stopping.signal }),
  ]
  let isAnnouncing = false
  let isDue = false

  const announce = async (): Promise<void> => {
    isDue = true
    if (isAnnouncing) return
    isAnnouncing = true
    while (isDue && !stopping.signal.aborted) {
      isDue = false
      await sessions.readers.query('SELECT pg_notify($1, $2)', [channelOf(sessions), '']).catch(() => undefined)
    }
    isAnnouncing = false
  }
  return {
    announce: () => void announce(),
    stop: async () => {
      stopping.abort()
      await Promise.all(watching)
    },
  }
}

async function listen(sessions: Sessions, wakeups: Wakeups, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const client = newClient(sessions)
    try {
      await listenUntilCut(client, sessions, { wakeups, signal })
    } catch {
      // The look every so often stands in for it.
    }
    await client.end().catch(() => undefined)
    await pause(LISTEN_AGAIN_MS, signal)
  }
}

async function listenUntilCut(
  client: pg.Client,
  sessions: Sessions,
  { wakeups, signal }: { readonly wakeups: Wakeups; readonly signal: AbortSignal },
): Promise<void> {
  const cut = new Promise<void>((resolve) => {
    client.on('end', () => resolve())
    client.on('error', () => resolve())
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
  client.on('notification', () => wakeups.notify())
  await client.connect()
  await client.query(`LISTEN ${channelOf(sessions)}`)
  wakeups.notify()
  await cut
}

interface Polling {
  readonly pollMs: number
  readonly signal: AbortSignal
}

/** Whether any process has appended since is one number: the last group that was drawn. */
async function poll(sessions: Sessions, wakeups: Wakeups, { pollMs, signal }: Polling): Promise<void> {
  let seen = ''
  while (!signal.aborted) {
    await pause(pollMs, signal)
    if (signal.aborted || wakeups.sleepers === 0) continue
    const text = `SELECT ${sessions.target.schema}.settled_group() AS last`
    const last = await sessions.readers.query(text).then(
      ({ rows }) => String(rows[0]?.last),
      () => seen,
    )
    if (last !== seen) wakeups.notify()
    seen = last
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined)
}

function channelOf({ target }: Sessions): string {
  return `${target.schema}_appended`
}
