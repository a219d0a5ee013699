/**
 * @module Calls to the node with a deadline, and a circuit breaker: an outage is detected once, reported to listeners, and probed until it ends. Meanwhile
 * nothing is sent, so no calls accumulate.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { EventStoreDBClient } from '@eventstore/db-client'
import { type ForgettingStream, type StoreStatus, StoreUnavailableError } from '../event-store.ts'
import {
  isDeletedStream,
  isMissingStream,
  isOutage,
  isTimeout,
  NoAnswerError,
  reasonOf,
  reconnectsByItself,
} from './client-errors.ts'
import { drain } from './drain.ts'
import type { SharedClient } from './shared-client.ts'
import type { Timings } from './timings.ts'

/** The probe reads this stream; "not found" counts as an answer. */
const PROBE_STREAM = 'ledger-system'
const RETRY_AFTER_MS = 1_000
const READ_TRIES = 4
const READ_AGAIN_MS = 20

/** Whether an error that looks like an outage is in fact an answer to the request. */
type IsAnswer = (error: unknown) => boolean

export class Connection {
  readonly shared: SharedClient
  readonly timings: Timings
  readonly #listeners = new Set<(status: StoreStatus) => void>()
  readonly #closing = new AbortController()
  #status: StoreStatus = { state: 'ready' }
  #forgetting: readonly ForgettingStream[] = []
  #lostAtMs = 0
  #readiness: Promise<void> = Promise.resolve()
  #becomeReady: () => void = () => undefined

  constructor(shared: SharedClient, timings: Timings) {
    this.shared = shared
    this.timings = timings
  }

  /** Aborts when the store closes. */
  get closing(): AbortSignal {
    return this.#closing.signal
  }

  get status(): StoreStatus {
    return this.#forgetting.length === 0 ? this.#status : { ...this.#status, forgetting: this.#forgetting }
  }

  onStatus(listener: (status: StoreStatus) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Makes one call with its own deadline, because the client enforces none while it batches. Rejects with the client's error. */
  async call<T>(work: (client: EventStoreDBClient) => Promise<T>): Promise<T> {
    return await this.#attempt((client) => within(this.timings.callMs, work(client)))
  }

  async #attempt<T>(work: (client: EventStoreDBClient) => Promise<T>, isAnswer?: IsAnswer): Promise<T> {
    const client = await this.shared.whenSafe()
    try {
      return await work(client)
    } catch (error) {
      if (isOutage(error) && !isTimeout(error) && isAnswer?.(error) !== true) this.#lost(error, client)
      throw error
    }
  }

  /**
   * Makes a read, with retries: a short outage stays invisible to the caller. `work` must bound the time that it waits for data. Throws
   * `StoreUnavailableError` after a longer outage, and errors that `isAnswer` recognises as answers.
   */
  async read<T>(work: (client: EventStoreDBClient) => Promise<T>, isAnswer?: IsAnswer): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      if (!(await this.usable())) throw this.unavailable()
      try {
        return await this.#attempt(work, isAnswer)
      } catch (error) {
        if (!isOutage(error) || isAnswer?.(error) === true) throw error
        if (tries === READ_TRIES) throw this.unavailable(reasonOf(error))
      }
      await sleep(READ_AGAIN_MS * (tries - 1) * Math.random())
    }
  }

  unavailable(reason = 'no reason given'): StoreUnavailableError {
    const { state, detail = reason } = this.#status
    const message = state === 'failed' ? detail : `the event store does not answer: ${detail}`
    return new StoreUnavailableError(this.closing.aborted ? 'the store is closed' : message, RETRY_AFTER_MS)
  }

  /** Whether a call may be sent. Early in an outage it waits for the end; later it resolves to false at once. */
  async usable(): Promise<boolean> {
    if (this.closing.aborted) return false
    if (this.#status.state === 'ready') return true
    const remainingMs = this.#lostAtMs + this.timings.graceMs - performance.now()
    return remainingMs > 0 && (await this.whenReady(remainingMs))
  }

  /** Waits for the end of an outage; false if it did not end in time, or the store closed. */
  async whenReady(ms: number, signal: AbortSignal = this.closing): Promise<boolean> {
    if (this.#status.state !== 'ready') await waitFor(this.#readiness, ms, [signal, this.closing])
    return this.#status.state === 'ready' && !this.closing.aborted && !signal.aborted
  }

  /** Reports a failure shown by the node's own answers, which does not pass. */
  fail(detail: string): void {
    this.#tell({ state: 'failed', detail })
  }

  /** Reports the streams whose events the server may drop or has dropped; all others are served as usual. */
  tellForgetting(forgetting: readonly ForgettingStream[]): void {
    const text = JSON.stringify(forgetting)
    if (text === JSON.stringify(this.#forgetting)) return
    this.#forgetting = forgetting
    this.#tell(this.#status)
  }

  /** Probes the node once, regardless of the breaker. */
  async probe(): Promise<void> {
    const client = this.shared.current
    try {
      const stream = client.readStream(PROBE_STREAM, { maxCount: 1, requiresLeader: true })
      await drain(stream, { onItem: () => true, idleMs: this.timings.probeCallMs })
    } catch (error) {
      if (isMissingStream(error) || isDeletedStream(error)) return
      if (!reconnectsByItself(error)) this.shared.replace(client)
      throw error
    }
  }

  close(): void {
    this.#closing.abort()
    this.#becomeReady()
  }

  #lost(error: unknown, client: EventStoreDBClient): void {
    if (!reconnectsByItself(error)) this.shared.replace(client)
    if (this.#status.state !== 'ready' || this.closing.aborted) return
    this.#lostAtMs = performance.now()
    this.#readiness = new Promise((resolve) => {
      this.#becomeReady = resolve
    })
    this.#tell({ state: 'unavailable', detail: reasonOf(error) })
    void this.#probeUntilBack()
  }

  async #probeUntilBack(): Promise<void> {
    while (!this.closing.aborted) {
      try {
        await this.probe()
        break
      } catch {
        const pause = { signal: this.closing, ref: false }
        await sleep(this.timings.probeMs * (0.5 + Math.random()), undefined, pause).catch(() => undefined)
      }
    }
    if (this.#status.state === 'unavailable') this.#tell({ state: 'ready' })
    this.#becomeReady()
  }

  #tell(status: StoreStatus): void {
    this.#status = status
    for (const listener of [...this.#listeners]) listener(this.status)
  }
}

export async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NoAnswerError(ms)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

async function waitFor(promise: Promise<void>, ms: number, signals: readonly AbortSignal[]): Promise<void> {
  if (signals.some(({ aborted }) => aborted)) return
  let timer: NodeJS.Timeout | undefined
  let end: () => void = () => undefined
  const ended = new Promise<void>((resolve) => {
    end = resolve
    timer = setTimeout(resolve, ms)
    for (const signal of signals) signal.addEventListener('abort', end)
  })
  await Promise.race([promise, ended])
  clearTimeout(timer)
  for (const signal of signals) signal.removeEventListener('abort', end)
}
