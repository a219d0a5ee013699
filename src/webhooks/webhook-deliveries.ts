/**
 * @module Notifies an external system of approvals and waits, each at least once (HTTP-14). It follows the store, so only durable events are announced, and
 * writers never wait for the receiver. Deliveries that are pending when the process ends are made by the next process.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Effects, Log } from '../ledger/ports.ts'
import type { Notice, Notices } from '../ledger/read/notices.ts'
import { type Announcement, announcementOf } from './announcement.ts'
import type { Progress, ProgressFile } from './delivery-progress.ts'
import type { PostDelivery } from './post-delivery.ts'
import { signedHeaders } from './signed-headers.ts'

/** On the first start, or if the progress was lost: events of this period are announced, and older ones that can still be acted on. */
const LOOK_BACK_MS = 86_400_000
const SAVE_AFTER_MS = 1_000
/** Used if only the position has changed: a crash then causes no repeated delivery, because nothing was delivered. */
const SAVE_PLACE_AFTER_MS = 30_000
const READ_AGAIN_MS = 1_000

export interface WebhookOptions {
  readonly notices: Notices
  readonly ledgerId: string
  readonly publicUrl?: string | undefined
  readonly post: PostDelivery
  /** Every delivery is signed with each of these secrets. */
  readonly secrets: () => readonly Uint8Array[]
  /** The event types to announce, such as `approval.requested`. */
  readonly events: ReadonlySet<string>
  readonly progress: ProgressFile
  readonly log: Log
  readonly effects: Pick<Effects, 'nowMs' | 'monotonicMs' | 'random'>
  readonly timings?: Partial<Timings>
}

export interface WebhookStats {
  readonly delivered: number
  readonly failedAttempts: number
  readonly givenUp: number
  /** Read, but not delivered yet. */
  readonly undelivered: number
  /** Age of the oldest pending delivery; 0 if there is none. */
  readonly oldestSeconds: number
}

export class WebhookDeliveries implements AsyncDisposable {
  readonly #options: WebhookOptions
  readonly #window: DeliveryWindow
  readonly #closing = new AbortController()
  #progress: Progress
  /** Deliveries left pending by an earlier process; handled before anything else is read. */
  #leftOver: Progress['undelivered']
  #isKnownPlace = false
  #counts = { delivered: 0, failedAttempts: 0, givenUp: 0 }
  #isFailing = false
  #cannotRead = false
  #cannotSave = false
  #wakeSender: () => void = () => undefined
  #wakeReader: () => void = () => undefined
  #saveTimer: NodeJS.Timeout | undefined
  #saveDueMs = Number.POSITIVE_INFINITY
  #saving: Promise<void> = Promise.resolve()
  readonly #running: Promise<unknown>

  /** Starts immediately. Throws the system error if the progress cannot be stored. */
  constructor(options: WebhookOptions) {
    this.#options = options
    this.#window = new DeliveryWindow({ ...TIMINGS, ...options.timings })
    const known = options.progress.read()
    this.#progress = known ?? this.#fresh()
    this.#leftOver = this.#progress.undelivered
    // Stored before any event to announce is appended.
    if (known === undefined) options.progress.begin(this.#progress)
    this.#running = Promise.all([this.#read(), this.#send()])
  }

  stats(): WebhookStats {
    const { all } = this.#window
    const oldestMs = Math.min(...all.map(({ sinceMs }) => sinceMs))
    const oldestSeconds = all.length === 0 ? 0 : Math.max(0, (this.#options.effects.nowMs() - oldestMs) / 1000)
    return { ...this.#counts, undelivered: all.length, oldestSeconds }
  }

  /** Aborts the current attempt, and keeps pending deliveries for the next process. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new Error('the ledger is closing'))
    this.#wakeSender()
    this.#wakeReader()
    await this.#running
    clearTimeout(this.#saveTimer)
    await this.#saving
    await this.#save()
  }

  #fresh(): Progress {
    const since = new Date(this.#options.effects.nowMs() - LOOK_BACK_MS).toISOString()
    return { v: 1, since, undelivered: [] }
  }

  async #read(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.#takeUp()
        for await (const page of this.#options.notices.follow(this.#progress.after, signal)) {
          this.#cannotRead = false
          if (page === 'caught-up') this.#progress = { ...this.#progress, since: undefined }
          else this.#take(page.notices, page.upTo)
          while (this.#window.isFull && !signal.aborted)
            await new Promise<void>((resolve) => (this.#wakeReader = resolve))
          if (signal.aborted) return
        }
      } catch (error) {
        if (!this.#cannotRead && !signal.aborted)
          this.#options.log.warn({ err: error }, 'the store cannot be read for the webhook: tried again')
        this.#cannotRead = true
      }
      await sleep(READ_AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined)
    }
  }

  /** Runs once: takes over the deliveries that an earlier process left pending, if it followed this store. */
  async #takeUp(): Promise<void> {
    if (this.#isKnownPlace) return
    const { notices, log } = this.#options
    const { after } = this.#progress
    if (after !== undefined && !(await notices.knows(after))) {
      log.warn({}, 'the progress of the webhook is of another store, or of a newer copy: this one is looked through')
      this.#progress = this.#fresh()
      this.#leftOver = []
    }
    for (let [place, ...rest] = this.#leftOver; place !== undefined; [place, ...rest] = rest) {
      const notice = await notices.at(place)
      if (notice === undefined)
        log.warn(place, 'an event that the webhook did not take is gone, or not what was sealed')
      else this.#add(notice)
      this.#leftOver = rest
    }
    this.#isKnownPlace = true
  }

  #take(notices: readonly Notice[], after: NonNullable<Progress['after']>): void {
    const selected = notices.filter((notice) => this.#isWanted(notice))
    for (const notice of selected) this.#add(notice)
    this.#progress = { ...this.#progress, after }
    this.#saveWithin(selected.length > 0 ? SAVE_AFTER_MS : SAVE_PLACE_AFTER_MS)
  }

  #isWanted({ header, data, announced }: Notice): boolean {
    if (!this.#options.events.has(announced.as)) return false
    const { since } = this.#progress
    if (since === undefined || Date.parse(header.time) >= Date.parse(since)) return true
    const end = data.expiresAt ?? data.until
    return typeof end === 'string' && Date.parse(end) > this.#options.effects.nowMs()
  }

  #add(notice: Notice): void {
    const { id: event, stream, revision, time } = notice.header
    if (notice.isAway === true) {
      const reason = 'its run was archived, and the archive is not in its folder'
      this.#giveUp({ event, type: notice.announced.as, stream, revision, attempts: 0, reason })
      return
    }
    this.#window.add({
      announcement: announcementOf(notice, this.#options),
      stream,
      revision,
      sinceMs: Date.parse(time),
    })
    this.#wakeSender()
  }

  async #send(): Promise<void> {
    const { signal } = this.#closing
    const { effects } = this.#options
    while (!signal.aborted) {
      const next = this.#window.next(effects.monotonicMs())
      if (next === undefined) await this.#untilDue()
      else await this.#attempt(next)
    }
  }

  #untilDue(): Promise<void> {
    const { nextDueMs } = this.#window
    return new Promise((resolve) => {
      const waitMs = nextDueMs === undefined ? undefined : Math.max(0, nextDueMs - this.#options.effects.monotonicMs())
      const timer = waitMs === undefined ? undefined : setTimeout(resolve, waitMs).unref()
      this.#wakeSender = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  async #attempt(one: Waiting): Promise<void> {
    const { post, secrets, effects } = this.#options
    const { id, body } = one.announcement
    const atSeconds = Math.floor(effects.nowMs() / 1000)
    const fault = await post(signedHeaders({ id, atSeconds, body }, secrets()), body, this.#closing.signal)
    if (fault !== undefined && this.#closing.signal.aborted) return
    if (fault === undefined) this.#delivered(one)
    else this.#failed(one, fault)
  }

  #delivered(one: Waiting): void {
    this.#counts.delivered += 1
    this.#remove(one)
    if (!this.#isFailing || this.#window.anyFailed) return
    this.#isFailing = false
    this.#options.log.info({ undelivered: this.#window.all.length }, 'the webhook takes deliveries again')
  }

  #failed(one: Waiting, reason: string): void {
    const { effects, log } = this.#options
    this.#counts.failedAttempts += 1
    this.#window.failed(one, effects.monotonicMs(), effects.random())
    if (!this.#isFailing) log.warn({ reason }, 'the webhook takes no delivery: it is tried again, with growing pauses')
    this.#isFailing = true
    if (!this.#window.isGivenUp(one, effects.nowMs())) return
    const { stream, revision, attempts, announcement } = one
    this.#giveUp({ event: announcement.id, type: announcement.type, stream, revision, attempts, reason })
    this.#remove(one)
  }

  #giveUp(place: object): void {
    const message = 'the webhook was not told of this event, and is not tried again: tell its receiver by hand'
    this.#options.log.error(place, message)
    this.#counts.givenUp += 1
  }

  #remove(one: Waiting): void {
    this.#window.remove(one)
    this.#saveWithin(SAVE_AFTER_MS)
    this.#wakeReader()
  }

  #saveWithin(ms: number): void {
    const dueMs = this.#options.effects.monotonicMs() + ms
    if (dueMs >= this.#saveDueMs) return
    clearTimeout(this.#saveTimer)
    this.#saveDueMs = dueMs
    this.#saveTimer = setTimeout(() => {
      this.#saving = this.#saving.then(() => this.#save())
    }, ms).unref()
  }

  async #save(): Promise<void> {
    const { progress, log } = this.#options
    this.#saveDueMs = Number.POSITIVE_INFINITY
    const waiting = this.#window.all.map(({ stream, revision }) => ({ stream, revision }))
    const { since, after } = this.#progress
    try {
      const undelivered = [...this.#leftOver, ...waiting]
      await progress.save({ v: 1, ...(after && { after }), ...(since && { since }), undelivered })
      this.#cannotSave = false
    } catch (error) {
      if (!this.#cannotSave)
        log.warn({ err: error }, 'the progress of the webhook cannot be kept: a restart delivers again')
      this.#cannotSave = true
    }
  }
}

// The pending deliveries, oldest first, with the time of their next attempt. Their number is limited, and the reader stops while the window is full.

/** Once this many deliveries are pending, nothing more is read from the store. */
const FULL_AT = 64

interface Timings {
  /** Milliseconds from the first failed attempt to the next one; each failure doubles the pause. */
  readonly firstRetryMs: number
  readonly lastRetryMs: number
  /** Age in milliseconds after which an event is given up, if this process has tried it at least `attemptsMin` times. */
  readonly giveUpAfterMs: number
  readonly attemptsMin: number
}

const DAY_MS = 86_400_000
const TIMINGS: Timings = {
  firstRetryMs: 1_000,
  lastRetryMs: 60_000,
  giveUpAfterMs: 3 * DAY_MS,
  attemptsMin: 5,
}

interface Waiting {
  readonly announcement: Announcement
  readonly stream: string
  readonly revision: number
  /** Time of the event, in milliseconds since 1970. */
  readonly sinceMs: number
  attempts: number
  /** On the monotonic clock. */
  dueMs: number
}

class DeliveryWindow {
  readonly #timings: Timings
  readonly #waiting: Waiting[] = []

  constructor(timings: Timings) {
    this.#timings = timings
  }

  get isFull(): boolean {
    return this.#waiting.length >= FULL_AT
  }

  get all(): readonly Waiting[] {
    return this.#waiting
  }

  get anyFailed(): boolean {
    return this.#waiting.some(({ attempts }) => attempts > 0)
  }

  add(waiting: Omit<Waiting, 'attempts' | 'dueMs'>): void {
    const isKnown = this.#waiting.some(({ announcement }) => announcement.id === waiting.announcement.id)
    if (!isKnown) this.#waiting.push({ ...waiting, attempts: 0, dueMs: Number.NEGATIVE_INFINITY })
  }

  /** The oldest delivery that is due; undefined if none is. */
  next(monotonicMs: number): Waiting | undefined {
    return this.#waiting.find(({ dueMs }) => dueMs <= monotonicMs)
  }

  /** The time of the next attempt; undefined if nothing is pending. */
  get nextDueMs(): number | undefined {
    return this.#waiting.length === 0 ? undefined : Math.min(...this.#waiting.map(({ dueMs }) => dueMs))
  }

  remove(one: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(one), 1)
  }

  /** `random` is from 0 up to 1. Jitter prevents many senders from retrying at the same time. */
  failed(one: Waiting, monotonicMs: number, random: number): void {
    const { firstRetryMs, lastRetryMs } = this.#timings
    const pauseMs = Math.min(firstRetryMs * 2 ** Math.min(one.attempts, 30), lastRetryMs)
    one.attempts += 1
    one.dueMs = monotonicMs + pauseMs * (0.5 + random / 2)
  }

  isGivenUp({ attempts, sinceMs }: Waiting, nowMs: number): boolean {
    return attempts >= this.#timings.attemptsMin && nowMs - sinceMs > this.#timings.giveUpAfterMs
  }
}
