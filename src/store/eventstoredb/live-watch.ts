/**
 * @module Subscriptions by which the store is notified of changes on the server. One, open as long as the store, delivers the server's events about
 * streams, which may let it drop events. The other, open only while the store has followers, reports the position of every event without its payload and
 * so wakes waiting followers. The client's subscriptions end at the first error and report that once, or not at all if their client was replaced: each is
 * then recreated, and searches what it missed once it is established.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type AllStreamResolvedEvent, END, eventTypeFilter } from '@eventstore/db-client'
import { onAbort } from '../../resources/linked-signal.ts'
import type { Wakeups } from '../wakeups.ts'
import type { Connection } from './connection.ts'
import { cancel } from './drain.ts'
import { RETENTION_PREFIXES, type RetentionCheck } from './retention-check.ts'

const AGAIN_MS = 100
const HOUR_MS = 3_600_000
/** Number of events, none of them about a stream, that the server searches before it reports its progress. */
const QUIET_WINDOW = 10_000

/**
 * Watches for changes that let the server drop events, until the store closes. `onCut` is called when the subscription was lost: an older server may
 * answer afterwards. Never rejects.
 */
export async function watchRetention(
  connection: Connection,
  retention: RetentionCheck,
  onCut: () => void = () => undefined,
): Promise<void> {
  const onEvent = (event: AllStreamResolvedEvent['event']): void => {
    if (event === undefined) return
    retention.take(event)
    retention.tell()
  }
  const onStanding = async (): Promise<void> => {
    await retention.look()
    retention.tell()
  }
  const hear = { searchWindow: QUIET_WINDOW, onEvent, onStanding, onCut, onCheckpoint: () => undefined }
  await watch(connection, connection.closing, hear)
}

/** Wakes followers of the store at each event of any writer, as long as there are followers. */
export class WakeWatch {
  readonly #connection: Connection
  readonly #wakeups: Wakeups
  #followers = 0
  #stop: AbortController | undefined
  #watching: Promise<void> = Promise.resolve()

  constructor(connection: Connection, wakeups: Wakeups) {
    this.#connection = connection
    this.#wakeups = wakeups
  }

  /** Starts watching; the returned function ends it. */
  begin(): () => void {
    this.#followers += 1
    if (this.#stop === undefined) this.#start()
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#followers -= 1
      if (this.#followers > 0) return
      this.#stop?.abort()
      this.#stop = undefined
    }
  }

  /** Resolves when no subscription is left, after the store has closed. */
  async over(): Promise<void> {
    await this.#watching
  }

  #start(): void {
    const stop = new AbortController()
    this.#stop = stop
    const { closing } = this.#connection
    const leave = closing.aborted ? undefined : onAbort(closing, () => stop.abort())
    if (leave === undefined) stop.abort()
    const watching = this.#watch(stop.signal).finally(leave)
    this.#watching = Promise.all([this.#watching, watching]).then(() => undefined)
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const [connection, wakeups] = [this.#connection, this.#wakeups]
    const wake = (): void => wakeups.notify()
    const poll = setInterval(() => wakeups.sleepers > 0 && wake(), connection.timings.pollMs).unref()
    const onStanding = async (): Promise<void> => wake()
    const hear = { searchWindow: 1, onEvent: wake, onStanding, onCheckpoint: wake }
    await watch(connection, signal, hear).finally(() => clearInterval(poll))
  }
}

interface Hear {
  /** Number of events that the server searches before it reports its progress. */
  readonly searchWindow: number
  readonly onEvent: (event: AllStreamResolvedEvent['event']) => void
  readonly onCheckpoint: () => void
  /** Called when a subscription is established. If it rejects, the subscription is recreated. */
  readonly onStanding: () => Promise<void>
  /** Called when the subscription has ended for any reason but the signal. */
  readonly onCut?: () => void
}

/** Runs until the signal aborts, at the latest when the store closes. Never rejects. */
async function watch(connection: Connection, signal: AbortSignal, hear: Hear): Promise<void> {
  while (!signal.aborted) {
    if (await connection.whenReady(HOUR_MS, signal)) await watchOnce(connection, signal, hear)
    await pause(signal)
  }
}

/** Ends at once when the signal aborts: closing the store waits for this sleep, which must not keep the process alive. */
async function pause(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  await sleep(AGAIN_MS * (0.5 + Math.random()), undefined, { signal, ref: false }).catch(() => undefined)
}

function watchOnce(connection: Connection, signal: AbortSignal, hear: Hear): Promise<void> {
  return new Promise((resolve) => {
    const { shared } = connection
    const stream = shared.current.subscribeToAll({
      fromPosition: END,
      requiresLeader: true,
      filter: eventTypeFilter({
        prefixes: [...RETENTION_PREFIXES],
        maxSearchWindow: hear.searchWindow,
        checkpointInterval: 1,
        checkpointReached: hear.onCheckpoint,
      }),
    })
    const end = (): void => {
      signal.removeEventListener('abort', end)
      stopReplaced()
      stopStatus()
      cancel(stream)
      if (!signal.aborted) hear.onCut?.()
      resolve()
    }
    const stopReplaced = shared.onReplaced(end)
    const stopStatus = connection.onStatus(({ state }) => state !== 'ready' && end())
    signal.addEventListener('abort', end)
    stream.on('error', end)
    stream.once('end', end)
    stream.on('confirmation', () => {
      hear.onStanding().catch(end)
    })
    stream.on('data', ({ event }: AllStreamResolvedEvent) => hear.onEvent(event))
  })
}
