/**
 * @module Records reads of run bodies with a payload scope (LOG-26): they are counted as they happen and recorded later, with one entry for all reads
 * of a reader and run in an interval. Reads with an audit scope are recorded one by one before they are answered.
 */
import type { AccessEntry } from '../../../schemas/events/access-recorded.ts'
import { OverloadedError } from '../../resources/overloaded-error.ts'
import type { Caller } from '../ledger.ts'
import type { Effects, Log } from '../ports.ts'
import type { AccessLog } from './access-log.ts'

/** Length of the interval whose reads share one entry. */
const INTERVAL_MS = 60_000
/** From this number of readers and runs on, entries are written before the interval ends. */
const FLUSH_AT = 5_000
/** From this number on, further readers are refused, because their reads could not be remembered until they are recorded. */
const ENTRIES_MAX = 10_000
const RETRY_MS = 1_000
const QUERY = 'payloads'

interface Counted {
  readonly tenant: string
  readonly entry: Omit<AccessEntry, 'until' | 'reads'>
  until: string
  reads: number
}

export interface PayloadReadsDeps {
  readonly log: Pick<AccessLog, 'recordEntry'>
  readonly effects: Pick<Effects, 'nowMs'>
  readonly warn: Log['warn']
}

export class PayloadReads implements AsyncDisposable {
  readonly #deps: PayloadReadsDeps
  readonly #timer: NodeJS.Timeout
  #counted = new Map<string, Counted>()
  #writing: Promise<void> = Promise.resolve()
  /** Number of entries being written. */
  #underWay = 0
  #failedMs = Number.NEGATIVE_INFINITY

  constructor(deps: PayloadReadsDeps) {
    this.#deps = deps
    this.#timer = setInterval(() => void this.flush(), INTERVAL_MS).unref()
  }

  /** Only counts the read. Throws `OverloadedError` if the maximum number of entries is waiting to be recorded; the values read must not be returned then. */
  note({ tenant, actor, principal, via }: Caller, run: string): void {
    const nowMs = this.#deps.effects.nowMs()
    const at = new Date(nowMs).toISOString()
    const key = JSON.stringify([tenant, run, actor, principal, via])
    const known = this.#counted.get(key)
    if (known !== undefined) {
      known.reads += 1
      known.until = at
      return
    }
    if (this.#counted.size + this.#underWay >= ENTRIES_MAX) {
      this.#flushSoon(nowMs)
      throw new OverloadedError('too many reads wait to be recorded', RETRY_MS)
    }
    const reader = { actor, ...(principal !== undefined && { principal }), ...(via !== undefined && { via: [...via] }) }
    const entry = { at, ...reader, query: QUERY, ...(run !== '' && { run }) }
    this.#counted.set(key, { tenant, entry, until: at, reads: 1 })
    if (this.#counted.size >= FLUSH_AT) this.#flushSoon(nowMs)
  }

  /** Each attempt writes all entries: while recording fails, a further reader must not cause a further attempt. */
  #flushSoon(nowMs: number): void {
    if (this.#underWay === 0 && Math.abs(nowMs - this.#failedMs) >= RETRY_MS) void this.flush()
  }

  /** Resolves once the writes for the reads counted so far have ended. Entries that could not be recorded stay counted. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write())
    return this.#writing
  }

  async #write(): Promise<void> {
    const counted = this.#counted
    this.#counted = new Map()
    this.#underWay = counted.size
    const written = [...counted].map(async ([key, { tenant, entry, until, reads }]) => {
      try {
        await this.#deps.log.recordEntry(tenant, { ...entry, until, reads })
      } catch (error) {
        this.#putBack(key, { tenant, entry, until, reads })
        throw error
      }
    })
    const failed = (await Promise.allSettled(written)).find((each) => each.status === 'rejected')
    this.#underWay = 0
    if (failed !== undefined) {
      this.#failedMs = this.#deps.effects.nowMs()
      const fields = { err: failed.reason as unknown, readers: this.#counted.size }
      this.#deps.warn(fields, 'who read bodies could not be recorded yet')
    }
  }

  #putBack(key: string, before: Counted): void {
    const since = this.#counted.get(key)
    const reads = before.reads + (since?.reads ?? 0)
    this.#counted.set(key, { ...before, until: since?.until ?? before.until, reads })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.flush()
  }
}
