/**
 * @module Keeps at most one append per stream in flight. If an append were sent before the answer to the one it builds on, it could follow an event that
 * another process wrote in its place: its expected revision would be right, but its `prev` would not.
 */
import type { Append, AppendResult } from '../event-store.ts'

/** Sends one append and determines its outcome. Rejects for an error of the caller. */
export type Send = (append: Append) => Promise<AppendResult>

interface Waiting {
  readonly append: Append
  readonly bytes: number
  readonly resolve: (result: AppendResult) => void
  readonly reject: (error: unknown) => void
  /** Revision of the stream once this append is written. */
  readonly end: number
  /** The pending append whose last revision this one expects. */
  builtOn: Waiting | undefined
  result?: AppendResult
}

interface Lane {
  readonly queue: Waiting[]
  /** The latest pending append by the revision at which it ends. */
  readonly ends: Map<number, Waiting>
  /** The highest revision that the node has reported. */
  head: number | undefined
}

export interface LaneLimits {
  /** Maximum number of appends, and of bytes of their records, that wait or are in flight. The last append admitted may exceed the bytes. */
  readonly waitingAppends: number
  readonly waitingBytes: number
}

const BUSY: AppendResult = { kind: 'unavailable', detail: 'too many appends are waiting', retryAfterMs: 1_000 }

export class AppendLanes {
  readonly #send: Send
  readonly #limits: LaneLimits
  readonly #lanes = new Map<string, Lane>()
  #waiting = 0
  #bytes = 0
  #idle: () => void = () => undefined

  constructor(send: Send, limits: LaneLimits) {
    this.#send = send
    this.#limits = limits
  }

  /** `bytes` is the size of its records. */
  append(append: Append, bytes: number): Promise<AppendResult> {
    const { waitingAppends, waitingBytes } = this.#limits
    if (this.#waiting >= waitingAppends || this.#bytes >= waitingBytes) return Promise.resolve(BUSY)
    return new Promise((resolve, reject) => {
      const { stream, expectedRevision, records } = append
      const lane = this.#lanes.get(stream)
      const end = expectedRevision + records.length
      const waiting = { append, bytes, resolve, reject, end, builtOn: lane?.ends.get(expectedRevision) }
      this.#waiting += 1
      this.#bytes += bytes
      if (lane === undefined) void this.#run(stream, waiting)
      else add(lane, waiting)
    })
  }

  get waitingBytes(): number {
    return this.#bytes
  }

  /** Resolves when nothing is in flight. */
  async idle(): Promise<void> {
    if (this.#waiting === 0) return
    await new Promise<void>((resolve) => {
      this.#idle = resolve
    })
  }

  async #run(stream: string, first: Waiting): Promise<void> {
    const lane: Lane = { queue: [], ends: new Map(), head: undefined }
    this.#lanes.set(stream, lane)
    add(lane, first)
    for (let next = lane.queue.shift(); next !== undefined; next = lane.queue.shift()) {
      await this.#settle(lane, next)
      if (lane.ends.get(next.end) === next) lane.ends.delete(next.end)
      this.#waiting -= 1
      this.#bytes -= next.bytes
    }
    this.#lanes.delete(stream)
    if (this.#waiting === 0) this.#idle()
  }

  async #settle(lane: Lane, waiting: Waiting): Promise<void> {
    try {
      const result = answeredHere(lane, waiting) ?? (await this.#send(waiting.append))
      waiting.result = result
      const reported =
        result.kind === 'appended' ? result.revision : result.kind === 'conflict' ? result.actual : undefined
      if (reported !== undefined) lane.head = Math.max(lane.head ?? reported, reported)
      waiting.resolve(result)
    } catch (error) {
      waiting.result = { kind: 'conflict', actual: waiting.append.expectedRevision }
      waiting.reject(error)
    }
    // Otherwise every append would keep all earlier ones in memory.
    waiting.builtOn = undefined
  }
}

function add(lane: Lane, waiting: Waiting): void {
  lane.queue.push(waiting)
  lane.ends.set(waiting.end, waiting)
}

/** The result of an append that can be refused without asking the node; nothing of it is written. */
function answeredHere(lane: Lane, { append, builtOn }: Waiting): AppendResult | undefined {
  const before = builtOn?.result
  if (before !== undefined && before.kind !== 'appended') return afterFailure(before)
  const { head } = lane
  return head !== undefined && append.expectedRevision < head ? { kind: 'conflict', actual: head } : undefined
}

function afterFailure(before: Exclude<AppendResult, { kind: 'appended' }>): AppendResult {
  if (before.kind === 'conflict') return before
  const detail = 'detail' in before ? before.detail : before.kind
  return {
    kind: 'unavailable',
    detail: `the append that this one builds on is not written: ${detail}`,
    retryAfterMs: 1_000,
  }
}
