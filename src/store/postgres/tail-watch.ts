/**
 * @module Wakes waiting subscribers: by NOTIFY, sent after a commit and never inside the transaction (a notifying transaction takes a lock that all other
 * notifying transactions wait for), and by polling, since notifications get lost with a connection and behind some poolers.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { onAbort } from '../../resources/linked-signal.ts'
import type { Wakeups } from '../wakeups.ts'
import { newClient, type Sessions } from './sessions.ts'
import type { Timings } from './timings.ts'

export interface TailWatch {
  /** Notifies the other processes of an append: at once, or together with all others within `announceMs` of the previous notification. */
  readonly announce: () => void
  readonly stop: () => Promise<void>
}

/** Starts listening at once. If no process listens, an announcement costs only a message to the server. */
export function watchTail(
  sessions: Sessions,
  wakeups: Wakeups,
  { pollMs, announceMs, listenAgainMs }: Pick<Timings, 'pollMs' | 'announceMs' | 'listenAgainMs'>,
): TailWatch {
  const stopping = new AbortController()
  const own = randomUUID()
  const watching = [
    listen(sessions, wakeups, { own, againMs: listenAgainMs, signal: stopping.signal }),
    poll(sessions, wakeups, { againMs: pollMs, signal: stopping.signal }),
  ]
  let announcing: Promise<void> | undefined
  let isDue = false

  const announce = async (): Promise<void> => {
    while (isDue) {
      isDue = false
      await sessions.readers.query('SELECT pg_notify($1, $2)', [channelOf(sessions), own]).catch(() => undefined)
      await pause(announceMs, stopping.signal)
    }
    announcing = undefined
  }
  return {
    announce: () => {
      isDue = true
      announcing ??= announce()
    },
    stop: async () => {
      stopping.abort()
      await Promise.all([...watching, announcing])
    },
  }
}

interface Watching {
  readonly againMs: number
  readonly signal: AbortSignal
}

/** `own` marks this process's notifications, whose appends have already woken its subscribers. */
type Listening = Watching & { readonly own: string }

async function listen(sessions: Sessions, wakeups: Wakeups, { own, againMs, signal }: Listening): Promise<void> {
  while (!signal.aborted) {
    const client = newClient(sessions)
    try {
      await listenUntilCut(client, sessions, { wakeups, own, signal })
    } catch {
      // Polling takes its place meanwhile.
    }
    await client.end().catch(() => undefined)
    await pause(againMs, signal)
  }
}

async function listenUntilCut(
  client: pg.Client,
  sessions: Sessions,
  { wakeups, own, signal }: Pick<Listening, 'own' | 'signal'> & { readonly wakeups: Wakeups },
): Promise<void> {
  let end = (): void => undefined
  const cut = new Promise<void>((resolve) => {
    end = resolve
  })
  client.on('end', end)
  client.on('error', end)
  client.on('notification', ({ payload }) => {
    if (payload !== own) wakeups.notify()
  })
  // The signal lives as long as the store, a connection only until the server restarts: the listener must be removed.
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

/** A single number shows whether any process has appended: the last settled group. */
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
