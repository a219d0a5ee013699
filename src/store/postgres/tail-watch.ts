/**
 * @module Wakes sleeping subscribers: by NOTIFY, sent after a commit and never inside one (a transaction that notifies takes a lock which all
 * others that notify wait for), and by a look every so often, since notifications get lost with a connection and behind some poolers.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { onAbort } from '../../resources/linked-signal.ts'
import type { Wakeups } from '../wakeups.ts'
import { newClient, type Sessions } from './sessions.ts'
import type { Timings } from './timings.ts'

export interface TailWatch {
  /** Tells the other processes that something was appended; many calls in a moment are one notification. */
  readonly announce: () => void
  readonly stop: () => Promise<void>
}

/** The listener starts with the first subscriber; announcing costs nothing where nobody listens but a message to the server. */
export function watchTail(
  sessions: Sessions,
  wakeups: Wakeups,
  { pollMs, listenAgainMs }: Pick<Timings, 'pollMs' | 'listenAgainMs'>,
): TailWatch {
  const stopping = new AbortController()
  const watching = [
    listen(sessions, wakeups, { againMs: listenAgainMs, signal: stopping.signal }),
    poll(sessions, wakeups, { againMs: pollMs, signal: stopping.signal }),
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

interface Watching {
  readonly againMs: number
  readonly signal: AbortSignal
}

async function listen(sessions: Sessions, wakeups: Wakeups, { againMs, signal }: Watching): Promise<void> {
  while (!signal.aborted) {
    const client = newClient(sessions)
    try {
      await listenUntilCut(client, sessions, { wakeups, signal })
    } catch {
      // The look every so often stands in for it.
    }
    await client.end().catch(() => undefined)
    await pause(againMs, signal)
  }
}

async function listenUntilCut(
  client: pg.Client,
  sessions: Sessions,
  { wakeups, signal }: { readonly wakeups: Wakeups; readonly signal: AbortSignal },
): Promise<void> {
  let end = (): void => undefined
  const cut = new Promise<void>((resolve) => {
    end = resolve
  })
  client.on('end', end)
  client.on('error', end)
  client.on('notification', () => wakeups.notify())
  // The signal lives as long as the store, a connection only until the server's next restart.
  const stopFollowing = onAbort(signal, end)
  try {
    await client.connect()
    await client.query(`LISTEN ${channelOf(sessions)}`)
    wakeups.notify()
    await cut
  } finally {
    stopFollowing()
  }
}

/** Whether any process has appended since is one number: the last group that was drawn. */
async function poll(sessions: Sessions, wakeups: Wakeups, { againMs, signal }: Watching): Promise<void> {
  let seen = ''
  while (!signal.aborted) {
    await pause(againMs, signal)
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
