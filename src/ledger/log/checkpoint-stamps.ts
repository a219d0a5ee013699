/**
 * @module Time-stamps of checkpoints (LOG-32, LOG-33): requested after signing, so that nothing waits for the authority, and recorded with the next
 * pass of the logs. A failed request is retried with growing delays; checkpoints are issued without it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { ledgerStream } from '../../../schemas/names.ts'
import { parseCheckpoint } from '../../merkle/checkpoint.ts'
import { parseNote } from '../../merkle/signed-note.ts'
import { digestText } from '../../signing/digests.ts'
import type { LogDeps } from './log-deps.ts'
import type { LogProjection } from './log-projection.ts'
import type { StampFailures, StampingFault, StampingState, TimestampAuthority } from './timestamp-authority.ts'

const FIRST_RETRY_MS = 1_000
const LAST_RETRY_MS = 5 * 60_000
/** Two of the longest retry delays; a working authority has answered by then. */
const LATE_MS = 2 * LAST_RETRY_MS
/** Maximum number of logs waiting to be time-stamped; others are handled in a later pass. */
const WAITING_MAX = 10_000
/** Maximum number of tokens waiting to be recorded, each at most 16 KiB. */
const RECEIVED_MAX = 256

export interface StampSettings {
  readonly authority: TimestampAuthority
  /** Minimum time between two time-stamps of one log, in milliseconds. */
  readonly intervalMs: number
}

/** The signed text of a checkpoint, and the answer of the authority to it. */
interface Received {
  readonly size: number
  readonly root: string
  readonly text: string
  readonly data: object
}

type StampDeps = Pick<LogDeps, 'append' | 'effects' | 'log'>
type StampedLogs = Pick<LogProjection, 'tree' | 'expectation' | 'forget'>

export class CheckpointStamps implements Disposable {
  readonly #deps: StampDeps
  readonly #projection: StampedLogs
  readonly #settings: StampSettings
  readonly #stop = new AbortController()
  readonly #waiting = new Set<string>()
  readonly #received = new Map<string, Received>()
  readonly #failures = new Map<StampingFault, number>()
  /** By log: when this process first found it due, in milliseconds since 1970. */
  readonly #due = new Map<string, number>()
  #lastFailure: StampingState['lastFailure']
  #going: Promise<void> | undefined

  constructor(deps: StampDeps, projection: StampedLogs, settings: StampSettings) {
    this.#deps = deps
    this.#projection = projection
    this.#settings = settings
  }

  /** Requests a time-stamp for the last checkpoint of a log if one is due, without waiting for it. */
  post(tenant: string): void {
    const isDue = this.#isDue(tenant)
    if (!isDue) this.#due.delete(tenant)
    else if (!this.#due.has(tenant) && this.#due.size < WAITING_MAX) this.#due.set(tenant, this.#deps.effects.nowMs())
    if (this.#received.has(tenant) || this.#waiting.size >= WAITING_MAX || !isDue) return
    this.#waiting.add(tenant)
    this.#going ??= this.#go().finally(() => {
      this.#going = undefined
    })
  }

  /** Records the tokens received; returns true if any was recorded. A token whose append conflicts waits for the next pass. */
  async record(signal?: AbortSignal): Promise<boolean> {
    let any = false
    for (const [tenant, { size, root, text, data }] of this.#received) {
      if (signal?.aborted === true) break
      // Another thread may write the file in the meantime: the expectation is read first, so that the tree is never older than it.
      this.#projection.forget()
      const at = this.#projection.expectation(ledgerStream(tenant))
      const tree = this.#projection.tree(tenant)
      const isFork = size === tree.signedSize && parseNote(tree.note ?? '')?.text !== text
      const isOfThisLog = size <= tree.signedSize && digestText(tree.rootAt(size)) === root && !isFork
      // Another process was first, or the log has changed: there is nothing to record.
      if (at === undefined || tree.stopped !== undefined || size <= (tree.stamp?.size ?? 0) || !isOfThisLog) {
        this.#received.delete(tenant)
        continue
      }
      const result = await this.#deps.append({ tenant, type: 'CheckpointTimestamped', data: data as never, at })
      if (result.kind !== 'appended') continue
      this.#received.delete(tenant)
      any = true
    }
    return any
  }

  /** How often the authority did not return a usable token, by reason, since this process started. */
  failures(): readonly StampFailures[] {
    const { name: authority } = this.#settings.authority
    return [...this.#failures].map(([code, count]) => ({ authority, code, count }))
  }

  state(): StampingState {
    let dueSinceMs: number | undefined
    for (const sinceMs of this.#due.values()) if (dueSinceMs === undefined || sinceMs < dueSinceMs) dueSinceMs = sinceMs
    const late = dueSinceMs !== undefined && this.#deps.effects.nowMs() - dueSinceMs >= LATE_MS
    return {
      ...(this.#lastFailure !== undefined && { lastFailure: this.#lastFailure }),
      ...(dueSinceMs !== undefined && { dueSinceMs }),
      late,
    }
  }

  [Symbol.dispose](): void {
    this.#stop.abort()
  }

  #isDue(tenant: string): boolean {
    const { note, signedSize, stamp } = this.#projection.tree(tenant)
    if (note === undefined || signedSize <= (stamp?.size ?? 0)) return false
    // A clock that was set back must not delay time-stamps for long.
    const sinceMs = stamp === undefined ? Infinity : Math.abs(this.#deps.effects.nowMs() - Date.parse(stamp.time))
    return sinceMs >= this.#settings.intervalMs
  }

  async #go(): Promise<void> {
    const { signal } = this.#stop
    let retryMs = FIRST_RETRY_MS
    for (const tenant of this.#waiting) {
      if (signal.aborted || this.#received.size >= RECEIVED_MAX) break
      const stamped = await this.#stamp(tenant).catch((error: unknown) => this.#unread(tenant, error))
      // Moved to the end of the queue, so that the other logs go first.
      this.#waiting.delete(tenant)
      if (stamped) {
        retryMs = FIRST_RETRY_MS
        continue
      }
      this.#waiting.add(tenant)
      await sleep(retryMs, undefined, { signal, ref: false }).catch(() => undefined)
      retryMs = Math.min(2 * retryMs, LAST_RETRY_MS)
    }
    this.#waiting.clear()
  }

  /** Returns false if the request has to be retried. */
  async #stamp(tenant: string): Promise<boolean> {
    if (!this.#isDue(tenant)) return true
    const text = parseNote(this.#projection.tree(tenant).note ?? '')?.text
    const checkpoint = text === undefined ? undefined : parseCheckpoint(text)
    if (text === undefined || checkpoint === undefined) return true
    const { authority } = this.#settings
    const stamping = await authority.stamp(text, this.#stop.signal)
    if (this.#stop.signal.aborted) return true
    if (!stamping.ok) {
      const { code, message } = stamping
      this.#failures.set(code, (this.#failures.get(code) ?? 0) + 1)
      this.#lastFailure = { atMs: this.#deps.effects.nowMs(), code }
      this.#deps.log.warn({ tenant, authority: authority.name, code }, `no time-stamp for the checkpoint: ${message}`)
      return false
    }
    const { time, policy, serial, reply } = stamping
    const { size } = checkpoint
    const root = digestText(checkpoint.root)
    const stampFields = {
      authority: authority.name,
      time,
      policy,
      serial,
      reply: Buffer.from(reply).toString('base64'),
    }
    this.#received.set(tenant, { size, root, text, data: { v: 1, size, root, text, ...stampFields } })
    return true
  }

  /** The file of the logs cannot be read at the moment. */
  #unread(tenant: string, err: unknown): boolean {
    this.#deps.log.warn({ tenant, err }, 'the checkpoint cannot be read to be time-stamped: tried again later')
    return false
  }
}
