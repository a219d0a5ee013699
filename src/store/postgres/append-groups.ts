/**
 * @module Queue of appends for the server. Two transactions are in flight at once: one is prepared while the other waits for network and disk, and the
 * next group collects meanwhile. At most one append per stream is in flight. An append that builds on a failed one is never sent: another process may have
 * written an event at that revision.
 */
import type { Append, AppendResult } from '../event-store.ts'
import { unavailable } from './errors.ts'

export interface GroupLimits {
  /** Maximum number of transactions in flight. */
  readonly groupsAtOnce: number
  /** Maximum number of records and bytes in one transaction; a larger single append forms a group on its own. */
  readonly groupRecords: number
  readonly groupBytes: number
  /** Maximum number of records and bytes that wait. */
  readonly waitingRecords: number
  readonly waitingBytes: number
}

export const GROUP_LIMITS: GroupLimits = {
  groupsAtOnce: 2,
  groupRecords: 2_000,
  groupBytes: 4 * 1024 * 1024,
  waitingRecords: 20_000,
  waitingBytes: 64 * 1024 * 1024,
}

interface Waiting {
  readonly append: Append
  readonly bytes: number
  /** The append to the same stream that this one builds on, if that one is still pending. */
  readonly buildsOn: Waiting | undefined
  result: AppendResult | undefined
  readonly resolve: (result: AppendResult) => void
}

/** Writes a group of appends, each to a different stream and sorted by stream, and returns the result of each; never throws. */
export type SendGroup = (appends: readonly Append[]) => Promise<readonly AppendResult[]>

export class AppendGroups {
  readonly #send: SendGroup
  readonly #limits: GroupLimits
  readonly #lastOf = new Map<string, Waiting>()
  #waiting: Waiting[] = []
  #records = 0
  #bytes = 0
  /** The streams of the groups in flight. */
  readonly #underWay = new Set<string>()
  #groups = 0
  #isDue = false
  #refusal: string | undefined
  readonly #idle: (() => void)[] = []

  constructor(send: SendGroup, limits: GroupLimits) {
    this.#send = send
    this.#limits = limits
  }

  add(append: Append, bytes: number): Promise<AppendResult> {
    if (this.#refusal !== undefined) return Promise.resolve(unavailable(this.#refusal))
    if (this.#records >= this.#limits.waitingRecords || this.#bytes >= this.#limits.waitingBytes) {
      return Promise.resolve(unavailable('the server is behind: too many appends wait'))
    }
    this.#records += append.records.length
    this.#bytes += bytes
    return new Promise((resolve) => {
      const before = this.#lastOf.get(append.stream)
      const buildsOn = before !== undefined && endOf(before.append) === append.expectedRevision ? before : undefined
      const waiting: Waiting = { append, bytes, buildsOn, result: undefined, resolve }
      this.#lastOf.set(append.stream, waiting)
      this.#waiting.push(waiting)
      this.#sendSoon()
    })
  }

  get waitingBytes(): number {
    return this.#bytes
  }

  /** Refuses new appends, and resolves when every append has its result. */
  async drain(): Promise<void> {
    this.#refusal = 'the store is closed'
    if (this.#records > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }

  /** Sends at the end of the turn, so that all appends of the turn share one transaction. */
  #sendSoon(): void {
    if (this.#isDue) return
    this.#isDue = true
    setImmediate(() => {
      this.#isDue = false
      this.#sendMore()
    })
  }

  #sendMore(): void {
    while (this.#waiting.length > 0 && this.#groups < this.#limits.groupsAtOnce) {
      const group = this.#takeGroup()
      // The remaining appends build on those in flight.
      if (group.length === 0) return
      void this.#sendGroup(group)
    }
  }

  async #sendGroup(group: readonly Waiting[]): Promise<void> {
    this.#groups += 1
    for (const { append } of group) this.#underWay.add(append.stream)
    const results = await this.#send(group.map(({ append }) => append))
    this.#groups -= 1
    for (const { append } of group) this.#underWay.delete(append.stream)
    for (const [index, waiting] of group.entries()) this.#settle(waiting, results[index] ?? unavailable('no answer'))
    this.#sendMore()
  }

  /**
   * Takes the next group; an append that builds on a failed one gets its conflict here. Sorted by stream, so that two processes with the same streams
   * insert into the unique index in the same order and cannot deadlock.
   */
  #takeGroup(): readonly Waiting[] {
    const { groupRecords, groupBytes } = this.#limits
    const group: Waiting[] = []
    const remaining: Waiting[] = []
    const streams = new Set(this.#underWay)
    let [records, bytes, isFull] = [0, 0, false]
    for (const waiting of this.#waiting) {
      const { append } = waiting
      const fits = records + append.records.length <= groupRecords && bytes + waiting.bytes <= groupBytes
      isFull ||= group.length > 0 && !fits
      if (isFull || streams.has(append.stream)) {
        remaining.push(waiting)
        continue
      }
      const failed = failureOf(waiting)
      if (failed !== undefined) {
        this.#settle(waiting, failed)
        continue
      }
      streams.add(append.stream)
      group.push(waiting)
      records += append.records.length
      bytes += waiting.bytes
    }
    this.#waiting = remaining
    return group.sort(byStream)
  }

  #settle(waiting: Waiting, result: AppendResult): void {
    const { append, bytes, resolve } = waiting
    waiting.result = result
    this.#records -= append.records.length
    this.#bytes -= bytes
    if (this.#lastOf.get(append.stream) === waiting) this.#lastOf.delete(append.stream)
    resolve(result)
    if (this.#records === 0) for (const wake of this.#idle.splice(0)) wake()
  }
}

/** The result of an append whose predecessor was not written, or may not have been. */
function failureOf({ buildsOn }: Waiting): AppendResult | undefined {
  const result = buildsOn?.result
  if (buildsOn === undefined || result === undefined || result.kind === 'appended') return undefined
  if (result.kind === 'conflict') return result
  if (result.kind === 'unavailable' || result.kind === 'full') return result
  return { kind: 'conflict', actual: buildsOn.append.expectedRevision }
}

function byStream(one: Waiting, other: Waiting): number {
  return one.append.stream < other.append.stream ? -1 : 1
}

function endOf({ expectedRevision, records }: Append): number {
  return expectedRevision + records.length
}
