/**
 * @module What the store learns of the server without a question. One subscription, for as long as the store is open, lets the server's records about
 * streams through: somebody lets it forget. Another, only while somebody follows the store, tells of every event where it is, without a body, and so
 * wakes those who sleep. The client's subscriptions end at the first trouble and say so once, or not at all where their client was replaced: each is
 * rebuilt then, and looks back when it stands, since it saw nothing meanwhile.
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
/** Events that the server looks at, of which none concerns a stream, before it says how far it is. */
const QUIET_WINDOW = 10_000

/**
 * Hears when somebody lets the server forget streams, until the store closes. `onCut`: the server may be an older one when it is heard again.
 * Never rejects.
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

/** Wakes those who follow the store: at each event, whoever wrote it, for as long as there is anybody. */
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

  /** From now on; until what is returned is called. */
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

  /** Resolves when nothing is watched any more: once the store closes. */
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
  /** Events that the server looks at before it says how far it is. */
  readonly searchWindow: number
  readonly onEvent: (event: AllStreamResolvedEvent['event']) => void
  readonly onCheckpoint: () => void
  /** Called when a subscription stands. Where it rejects, another one is begun. */
  readonly onStanding: () => Promise<void>
  /** Called when it has ended, for whatever reason but the signal. */
  readonly onCut?: () => void
}

/** Until the signal, which aborts when the store closes at the latest. Never rejects. */
async function watch(connection: Connection, signal: AbortSignal, hear: Hear): Promise<void> {
  while (!signal.aborted) {
    if (await connection.whenReady(HOUR_MS, signal)) await watchOnce(connection, signal, hear)
    await pause(signal)
  }
}

/** Ends at once when the watch is over: whoever closes the store waits for this, in a process that nothing else may hold. */
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
