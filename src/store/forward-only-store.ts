/**
 * @module A store wrapper that detects a store that went backwards. Each answer is compared with the events that were acknowledged to this process as
 * durable; an answer that contradicts such an event is held back until that event has been looked up at its position. If the event is missing, the store
 * went backwards, for example because a lagging standby was promoted or an older copy was restored: nothing is read or written any more, and the status
 * says so. If a later event still exists, only that stream was truncated: it alone is no longer read or written.
 */
import { linkedSignal } from '../resources/linked-signal.ts'
import type {
  Append,
  AppendResult,
  EventStore,
  Position,
  PositionRange,
  ReadAllOptions,
  ReadRecord,
  ReadStreamOptions,
  RecordPages,
  StoreLoss,
  StoreStatus,
} from './event-store.ts'
import { NO_STREAM, StoreUnavailableError, StoreWentBackError, StreamDeletedError } from './event-store.ts'
import {
  contradictedByAppend,
  contradictedByEnd,
  contradictedByHead,
  isSameEvent,
  type KnownEvent,
  KnownEvents,
} from './known-events.ts'

/** Interval between checks for the last known event: a server may be replaced while it gets no requests. */
const LOOK_MS = 1_000
const RETRY_MS = 60_000

/** Record of the missing event that outlives the process. */
export interface LossNote {
  /** Where the note is stored, for the operator who has to decide; undefined if nothing outlives the process. */
  readonly place: string | undefined
  /** Durable when it returns. Throws the error of the system call. */
  keep(missing: KnownEvent): void
}

export interface ForwardOnlyOptions {
  readonly note: LossNote
  /** Whether a record that was read belongs to this ledger: records of other writers may be removed again. */
  readonly isSealed: (record: ReadRecord) => boolean
  /** Called once per stream whose end is gone while later events of other streams exist. */
  readonly onStreamCut: (loss: StoreLoss) => void
  /** Called if the note could not be written. */
  readonly onNoteFailed: (error: unknown) => void
  readonly lookMs?: number
}

export function forwardOnly(store: EventStore, options: ForwardOnlyOptions): EventStore {
  return new ForwardOnlyStore(store, options)
}

/** Error text for every caller: it names no run. */
export const WENT_BACK =
  'the store went backwards: it no longer holds an event that it had acknowledged, as when a standby that lagged was promoted or an older copy was ' +
  'put in its place. Nothing is read or written until the newer store is back and the ledger is started again'

type Unavailable = Extract<AppendResult, { kind: 'unavailable' }>

const LOST: Unavailable = { kind: 'unavailable', detail: WENT_BACK, retryAfterMs: RETRY_MS }

function cutMessage(stream: string): string {
  return `${stream} ends before an event of it that was acknowledged: it is neither read nor written until that event is put back. Run "countersign verify", which says what can be done, and start again`
}

function cutRefusal(stream: string): Unavailable {
  return { kind: 'unavailable', detail: cutMessage(stream), retryAfterMs: RETRY_MS }
}

class ForwardOnlyStore implements EventStore {
  readonly url: string
  readonly maxAppendBytes: number
  readonly exclusive: boolean
  readonly densePositions: boolean
  readonly comparePositions: EventStore['comparePositions']
  readonly missingPositions?: NonNullable<EventStore['missingPositions']>
  readonly missingEnd?: () => Promise<PositionRange | undefined>
  readonly lostBeginnings?: (streams: readonly string[]) => Promise<readonly string[]>
  readonly countEvents?: NonNullable<EventStore['countEvents']>
  readonly attested?: NonNullable<EventStore['attested']>
  readonly moveBodies?: NonNullable<EventStore['moveBodies']>
  readonly compact?: NonNullable<EventStore['compact']>
  readonly #store: EventStore
  readonly #options: ForwardOnlyOptions
  readonly #known: KnownEvents
  readonly #listeners = new Set<(status: StoreStatus) => void>()
  readonly #lost = new AbortController()
  readonly #timer: NodeJS.Timeout
  readonly #stopStatus: () => void
  /** Known events that an answer contradicted. */
  readonly #doubted = new Set<KnownEvent>()
  readonly #cutStreams = new Set<string>()
  #isDoubtful = false
  #looking: Promise<void> | undefined
  #state: StoreStatus['state']
  #loss: StoreLoss | undefined

  constructor(store: EventStore, options: ForwardOnlyOptions) {
    const { url, maxAppendBytes, exclusive = false, densePositions = false } = store
    this.url = url
    this.maxAppendBytes = maxAppendBytes
    this.exclusive = exclusive
    this.densePositions = densePositions
    if (store.missingPositions !== undefined)
      this.missingPositions = (...asked) =>
        this.#answer(() => store.missingPositions?.(...asked) ?? Promise.resolve([]))
    if (store.missingEnd !== undefined) this.missingEnd = () => this.#answer(async () => store.missingEnd?.())
    this.comparePositions = (a, b) => store.comparePositions(a, b)
    if (store.lostBeginnings !== undefined)
      this.lostBeginnings = (streams) => this.#answer(() => store.lostBeginnings?.(streams) ?? Promise.resolve([]))
    if (store.attested !== undefined)
      this.attested = (range) => this.#answer(() => store.attested?.(range) ?? Promise.resolve({ lost: [] }))
    const { moveBodies, compact, countEvents } = store
    if (countEvents !== undefined) this.countEvents = (...asked) => this.#answer(() => countEvents.apply(store, asked))
    if (moveBodies !== undefined) this.moveBodies = (moved) => this.#answer(() => moveBodies.call(store, moved))
    if (compact !== undefined) this.compact = () => this.#answer(() => compact.call(store))
    this.#store = store
    this.#options = options
    this.#known = new KnownEvents(this.comparePositions)
    this.#state = store.status().state
    this.#stopStatus = store.onStatus((status) => this.#statusChanged(status))
    store.holdTo?.({ last: () => this.#known.last, check: () => this.#check() })
    this.#timer = setInterval(() => this.#lookAgain(), options.lookMs ?? LOOK_MS).unref()
  }

  get waitingBytes(): number {
    return this.#store.waitingBytes ?? 0
  }

  append(append: Append): Promise<AppendResult> {
    if (this.#loss !== undefined) return Promise.resolve(LOST)
    if (this.#cutStreams.has(append.stream)) return Promise.resolve(cutRefusal(append.stream))
    return this.#isDoubtful ? this.#appendWhenCertain(append) : this.#append(append)
  }

  async #appendWhenCertain(append: Append): Promise<AppendResult> {
    const refusal = await this.#uncertain(append.stream)
    return refusal ?? (await this.#append(append))
  }

  async #append(append: Append): Promise<AppendResult> {
    const before = this.#known.before(append.stream)
    const result = await this.#store.append(append)
    const contradicted = contradictedByAppend(before, append, result, this.comparePositions)
    if (contradicted !== undefined) this.#doubt(contradicted)
    if (this.#isDoubtful || this.#loss !== undefined) {
      const refusal = await this.#uncertain(append.stream)
      // An event written after a lost one is not acknowledged: the store that holds it will not be the one that stays in use.
      if (refusal !== undefined)
        return result.kind === 'appended' ? { kind: 'unknown', detail: refusal.detail } : refusal
    }
    if (result.kind === 'appended') this.#known.appended(append, result.position)
    return result
  }

  /** Why no answer can be given now: a loss, or a store that does not answer whether it still holds what it acknowledged. */
  async #uncertain(stream: string): Promise<Unavailable | undefined> {
    try {
      await this.#certain()
      return this.#cutStreams.has(stream) ? cutRefusal(stream) : undefined
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
      return { kind: 'unavailable', detail: error.message, retryAfterMs: error.retryAfterMs }
    }
  }

  async head(stream: string): Promise<number> {
    const head = await this.#answer(async () => {
      const before = this.#known.before(stream)
      const found = await this.#store.head(stream)
      this.#doubtIf(contradictedByHead(before, found))
      return found
    })
    this.#refuseCut(stream)
    return head
  }

  async *readStream(stream: string, options: ReadStreamOptions = {}): RecordPages {
    const { from = 0, to = Number.POSITIVE_INFINITY } = options
    await this.#certain()
    this.#refuseCut(stream)
    const before = this.#known.before(stream)
    let highest = NO_STREAM
    for await (const page of this.#store.readStream(stream, options)) {
      for (const { revision } of page) highest = Math.max(highest, revision)
      await this.#certain()
      yield page
    }
    // If the range includes the known head, the highest revision in the pages must be the head or later.
    const head = before.head?.revision
    if (head !== undefined && from <= head && head <= to) this.#doubtIf(contradictedByHead(before, highest))
    await this.#certain()
    this.#refuseCut(stream)
  }

  async *readAll(options: ReadAllOptions = {}): RecordPages {
    await this.#certain()
    const { last } = this.#known
    let end = options.after
    for await (const page of this.#store.readAll(options)) {
      await this.#told(page)
      end = page.at(-1)?.position ?? end
      yield page
    }
    if (options.until === undefined && options.tenant === undefined)
      this.#doubtIf(contradictedByEnd({ last }, end, this.comparePositions))
    await this.#certain()
  }

  recordAt(position: Position): Promise<ReadRecord | undefined> {
    return this.#answer(() => this.#store.recordAt(position))
  }

  end(): Promise<Position | undefined> {
    return this.#answer(async () => {
      const { last } = this.#known
      const end = await this.#store.end()
      this.#doubtIf(contradictedByEnd({ last }, end, this.comparePositions))
      return end
    })
  }

  findRequest(stream: string, requestId: string): Promise<number | undefined> {
    return this.#answer(() => this.#store.findRequest(stream, requestId))
  }

  async *subscribe(
    options: Omit<ReadAllOptions, 'until'>,
    signal: AbortSignal,
  ): AsyncGenerator<readonly ReadRecord[] | 'caught-up', void> {
    for await (const page of this.#store.subscribe(options, linkedSignal(signal, this.#lost.signal))) {
      if (page !== 'caught-up') await this.#told(page)
      yield page
    }
    if (!signal.aborted) this.#refuseLoss()
  }

  status(): StoreStatus {
    const status = this.#store.status()
    const loss = this.#loss
    if (loss === undefined) return status
    return { ...status, state: 'failed', detail: WENT_BACK, loss }
  }

  onStatus(listener: (status: StoreStatus) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#store[Symbol.asyncDispose]()
    this.#stopStatus()
  }

  /** Returns an answer only once no doubt that arose while waiting for it remains. */
  async #answer<T>(ask: () => Promise<T>): Promise<T> {
    await this.#certain()
    const answer = await ask()
    await this.#certain()
    return answer
  }

  async #told(page: readonly ReadRecord[]): Promise<void> {
    await this.#certain()
    const record = page.at(-1)
    if (record !== undefined && this.#known.isBeyond(record.position) && this.#options.isSealed(record))
      this.#known.read(record)
  }

  #statusChanged(status: StoreStatus): void {
    const before = this.#state
    this.#state = status.state
    // After an outage another server may answer; a failed store may have gone backwards.
    if (status.state !== before && (status.state === 'failed' || before === 'unavailable')) void this.#check()
    this.#tell()
  }

  #tell(): void {
    const status = this.status()
    for (const listener of [...this.#listeners]) listener(status)
  }

  #doubtIf(contradicted: KnownEvent | undefined): void {
    if (contradicted !== undefined) this.#doubt(contradicted)
  }

  #doubt(event: KnownEvent | undefined = this.#known.last): void {
    if (event === undefined) return
    this.#doubted.add(event)
    this.#isDoubtful = true
  }

  #lookAgain(): void {
    if (this.#loss === undefined && this.#state !== 'unavailable') void this.#check()
  }

  /** Never rejects: the next caller gets the error. */
  async #check(): Promise<boolean> {
    this.#doubt()
    return await this.#certain().then(
      () => true,
      () => false,
    )
  }

  /** Throws `StoreWentBackError`, and `StoreUnavailableError` if the store does not answer whether it still holds the events in doubt. */
  async #certain(): Promise<void> {
    while (this.#isDoubtful && this.#loss === undefined) {
      this.#looking ??= this.#look().finally(() => {
        this.#looking = undefined
      })
      await this.#looking
    }
    this.#refuseLoss()
  }

  #refuseLoss(): void {
    if (this.#loss !== undefined) throw new StoreWentBackError(WENT_BACK, RETRY_MS)
  }

  #refuseCut(stream: string): void {
    if (this.#cutStreams.has(stream)) throw new StreamDeletedError(stream, cutMessage(stream))
  }

  async #look(): Promise<void> {
    for (const event of this.#doubted) {
      if (!(await this.#exists(event))) {
        const { last } = this.#known
        if (last === undefined || last === event || !(await this.#exists(last))) return this.#isLost(event)
        this.#isCut(event)
      }
      this.#doubted.delete(event)
    }
    this.#isDoubtful = this.#doubted.size > 0
  }

  async #exists(event: KnownEvent): Promise<boolean> {
    return isSameEvent(await this.#store.recordAt(event.position), event) || this.#isForgotten(event)
  }

  #isCut({ stream, revision, position }: KnownEvent): void {
    if (this.#cutStreams.has(stream)) return
    this.#cutStreams.add(stream)
    this.#options.onStreamCut({ stream, revision, position })
  }

  /** A stream that the server was told to drop, or that was deleted on it, is reported as a loss of that stream only. */
  #isForgotten({ stream }: KnownEvent): boolean {
    const isNamed = this.#store.status().forgetting?.some((each) => each.stream === stream) === true
    if (isNamed) this.#known.forget(stream)
    return isNamed
  }

  #isLost(event: KnownEvent): void {
    if (this.#loss !== undefined) return
    const { note, onNoteFailed } = this.#options
    const { stream, revision, position } = event
    this.#loss = { stream, revision, position, ...(note.place !== undefined && { note: note.place }) }
    try {
      note.keep(event)
    } catch (error) {
      onNoteFailed(error)
    }
    this.#lost.abort()
    this.#tell()
  }
}
