/**
 * @module The store on PostgreSQL: any number of ledger processes share one schema, and only unique constraints order their appends. A process writes
 * groups of appends, each group in one transaction.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { checkAppend } from '../check-append.ts'
import { compareDecimalPositions, parsePosition } from '../decimal-position.ts'
import {
  type Append,
  type AppendResult,
  type Attested,
  type EventStore,
  type HeldTo,
  type LostEvents,
  type NoteSeal,
  type Position,
  type ReadAllOptions,
  type ReadRecord,
  type ReadStreamOptions,
  type RecordPages,
  StoreOpenError,
  type StoreStatus,
  StoreUnavailableError,
} from '../event-store.ts'
import { followThroughOutages } from '../follow.ts'
import { isSameEvent } from '../known-events.ts'
import { Wakeups } from '../wakeups.ts'
import { AppendGroups, GROUP_LIMITS, type GroupLimits } from './append-groups.ts'
import { readConnectionUrl } from './connection-url.ts'
import { isAway, reasonOf, refusalWithAdvice } from './errors.ts'
import { NoteCheck } from './group-check.ts'
import { GroupNotes } from './group-notes.ts'
import {
  countEvents,
  findEnd,
  findLostBeginnings,
  findRequest,
  readHead,
  readStreamPages,
  recordAt,
  scanAll,
  settledPosition,
} from './reads.ts'
import { lostSequence, probeWrite } from './refusals.ts'
import { GROUP_SIZE, NOTED_AFTER } from './schema.ts'
import { checkSchema } from './schema-check.ts'
import { checkServer, closeSessions, type LastKnown, openSessions, read, type Sessions } from './sessions.ts'
import { type TailWatch, watchTail } from './tail-watch.ts'
import { DEFAULT_TIMINGS, type Timings } from './timings.ts'
import { refusedBy, writeGroup } from './write-group.ts'

const MAX_APPEND_BYTES = 4 * 1024 * 1024

export interface PostgresOptions {
  /** `postgres://user:password@host:5432/database?schema=countersign&sslmode=verify-full` */
  readonly url: string
  readonly timings?: Partial<Timings>
  /** Limits of the appends that wait for the server. */
  readonly limits?: Partial<GroupLimits>
  /** Absent: opening fails if the server does not answer within `openMs`. */
  readonly patience?: {
    readonly signal: AbortSignal
    /** Called each time the server did not answer. */
    readonly onAway: (reason: string) => void
  }
}

/**
 * Waits for the server, and checks that it keeps what it acknowledges and holds our schema. Throws `StoreOpenError`: `store-unsupported` for a URL or a
 * server that cannot be used, `store-unreadable` for refused credentials, `store-newer`, `store-corrupt` for an altered schema or a sequence behind its
 * events, `store-away` if no server answers in time.
 */
export async function openPostgresStore({ url, timings, limits, patience }: PostgresOptions): Promise<EventStore> {
  const waits = { ...DEFAULT_TIMINGS, ...timings }
  const sessions = openSessions(readConnectionUrl(url), waits)
  try {
    await waitForServer(sessions, waits, patience)
    await checkSchema(sessions)
    const fault = await lostSequence(sessions)
    if (fault !== undefined) throw new StoreOpenError('store-corrupt', `${sessions.target.shown}: ${fault}`)
  } catch (error) {
    await closeSessions(sessions)
    throw error
  }
  return new PostgresStore(sessions, waits, { ...GROUP_LIMITS, ...limits })
}

async function waitForServer(
  sessions: Sessions,
  { openMs, probeMs }: Timings,
  patience: PostgresOptions['patience'],
): Promise<void> {
  const { shown } = sessions.target
  const deadlineMs = performance.now() + (patience === undefined ? openMs : Number.POSITIVE_INFINITY)
  for (;;) {
    try {
      return await checkServer(sessions)
    } catch (error) {
      if (error instanceof StoreOpenError) throw error
      if (!(error instanceof StoreUnavailableError)) {
        const message = `${shown} refuses the ledger: ${refusalWithAdvice(error)}`
        throw new StoreOpenError('store-unreadable', message, { cause: error })
      }
      if (performance.now() > deadlineMs || patience?.signal.aborted === true) {
        throw new StoreOpenError('store-away', `${shown}: ${error.message}`, { cause: error })
      }
      patience?.onAway(error.message)
    }
    const signal = patience === undefined ? {} : { signal: patience.signal }
    await sleep(probeMs, undefined, signal).catch(() => undefined)
  }
}

export class PostgresStore implements EventStore {
  readonly url: string
  readonly maxAppendBytes = MAX_APPEND_BYTES
  readonly comparePositions = compareDecimalPositions
  readonly #sessions: Sessions
  readonly #timings: Timings
  readonly #groups: AppendGroups
  readonly #notes: GroupNotes
  #notesRead: AttestedByNotes | undefined
  readonly #wakeups = new Wakeups()
  readonly #listeners = new Set<(status: StoreStatus) => void>()
  #status: StoreStatus = { state: 'ready' }
  #tail: TailWatch | undefined
  /** The last record that was acknowledged to this process: a server that went backwards no longer has it. */
  #last: LastKnown | undefined
  /** Set by a component that knows more: records written by other processes count as well. */
  #held: HeldTo | undefined
  #probing: Promise<void> | undefined
  /** The server answers but refuses appends; only a test write shows whether that is over. */
  #isRefusing = false
  readonly #closing = new AbortController()
  #looking: Promise<void> | undefined

  constructor(sessions: Sessions, timings: Timings, limits: GroupLimits = GROUP_LIMITS) {
    this.url = sessions.target.shown
    this.#sessions = sessions
    sessions.onUnanswered(() => this.#look())
    sessions.holdTo({ last: () => this.#lastKnown(), onLack: (known) => this.#hasLost(known) })
    this.#timings = timings
    const onAway = (reason: string): void => this.#away(reason)
    this.#notes = new GroupNotes(sessions.target.schema)
    const deps = {
      sessions,
      timings,
      notes: this.#notes,
      onAway,
      onRefusing: (status: StoreStatus) => this.#refuses(status),
    }
    this.#groups = new AppendGroups(async (appends) => await writeGroup(deps, appends), limits)
  }

  get waitingBytes(): number {
    return this.#groups.waitingBytes
  }

  async append(append: Append): Promise<AppendResult> {
    const bytes = checkAppend(append, this.maxAppendBytes)
    if (this.#status.state !== 'ready') return refusedBy(this.#status)
    const result = await this.#groups.add(append, bytes)
    if (result.kind !== 'appended') return result
    this.#remember(append, result.position)
    this.#wakeups.notify()
    this.#watch().announce()
    return result
  }

  async head(stream: string): Promise<number> {
    return await readHead(this.#sessions, stream)
  }

  readStream(stream: string, options?: ReadStreamOptions): RecordPages {
    return readStreamPages(this.#sessions, stream, options)
  }

  async *readAll(options: ReadAllOptions = {}): RecordPages {
    const { writersMs } = this.#timings
    for await (const { records } of scanAll(this.#sessions, { ...options, writersMs })) {
      if (records.length > 0) yield records
    }
  }

  async recordAt(position: Position): Promise<ReadRecord | undefined> {
    return await recordAt(this.#sessions, position)
  }

  async end(): Promise<Position | undefined> {
    return await findEnd(this.#sessions, this.#timings.writersMs)
  }

  holdTo(known: HeldTo): void {
    this.#held = known
  }

  noteWith(seal: NoteSeal): void {
    this.#notes.sealWith(seal)
    this.#notesRead = new AttestedByNotes(this.#sessions, seal)
  }

  async attested(range: Parameters<NonNullable<EventStore['attested']>>[0]): Promise<Attested> {
    return (await this.#notesRead?.attested(range)) ?? { lost: [] }
  }

  async findRequest(stream: string, requestId: string): Promise<number | undefined> {
    return await findRequest(this.#sessions, stream, requestId)
  }

  async countEvents(...asked: Parameters<NonNullable<EventStore['countEvents']>>): Promise<number> {
    return await countEvents(this.#sessions, ...asked)
  }

  async lostBeginnings(streams: readonly string[]): Promise<readonly string[]> {
    return await findLostBeginnings(this.#sessions, streams)
  }

  subscribe(options: Omit<ReadAllOptions, 'until'>, signal: AbortSignal): ReturnType<EventStore['subscribe']> {
    this.#watch()
    const parts = {
      scan: (from: ReadAllOptions) => scanAll(this.#sessions, from),
      wakeups: this.#wakeups,
      whenBack: (ended: AbortSignal) =>
        sleep(this.#timings.probeMs, undefined, { signal: ended, ref: false }).catch(() => undefined),
    }
    return followThroughOutages(parts, options, signal)
  }

  status(): StoreStatus {
    return this.#status
  }

  onStatus(listener: (status: StoreStatus) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#wakeups.closed) return
    this.#wakeups.close()
    this.#closing.abort()
    await this.#groups.drain()
    await this.#tail?.stop()
    await this.#probing
    await this.#looking
    await closeSessions(this.#sessions)
  }

  /** Permanent: no further check of the server can clear it. */
  get #isDamaged(): boolean {
    return this.#status.state === 'failed'
  }

  #watch(): TailWatch {
    this.#tail ??= watchTail(this.#sessions, this.#wakeups, this.#timings)
    return this.#tail
  }

  #remember({ records }: Append, position: Position): void {
    const id = records.at(-1)?.id
    if (id === undefined) return
    if (this.#last === undefined || parsePosition(position) > parsePosition(this.#last.position)) {
      this.#last = { position, id }
    }
  }

  #lastKnown(): LastKnown | undefined {
    return this.#held?.last() ?? this.#last
  }

  /** Called when a read got no answer. A single broken connection proves little, so the server is checked before the store is reported as unavailable. */
  #look(): void {
    if (this.#wakeups.closed || this.#status.state !== 'ready') return
    this.#looking ??= checkServer(this.#sessions)
      .catch((error: unknown) => {
        const { cause } = error instanceof StoreUnavailableError ? error : {}
        if (cause !== undefined && isAway(cause)) this.#away(reasonOf(cause))
      })
      .finally(() => {
        this.#looking = undefined
      })
  }

  #away(reason: string): void {
    if (this.#wakeups.closed || this.#isDamaged) return
    this.#setStatus({ state: 'unavailable', detail: `the server does not answer: ${reason}` })
    this.#probeUntilBack()
  }

  #refuses(status: StoreStatus): void {
    if (this.#wakeups.closed || this.#isDamaged) return
    this.#setStatus(status)
    if (status.state === 'failed') return
    this.#isRefusing = true
    this.#probeUntilBack()
  }

  #probeUntilBack(): void {
    this.#probing ??= this.#probe().finally(() => {
      this.#probing = undefined
    })
  }

  /** Repeats until the server is back, accepts appends, and holds our last event. */
  async #probe(): Promise<void> {
    const { signal } = this.#closing
    while (!this.#wakeups.closed && !this.#isDamaged) {
      // Closing the store waits for this sleep, which must not keep the process alive.
      await sleep(this.#timings.probeMs * (0.5 + Math.random()), undefined, { ref: false, signal }).catch(
        () => undefined,
      )
      if (this.#wakeups.closed) return
      try {
        await checkServer(this.#sessions)
        // Read now: an append that is being settled may be acknowledged while this event is looked up.
        const last = this.#lastKnown()
        const found = last === undefined ? undefined : await recordAt(this.#sessions, last.position)
        if (last !== undefined && !isSameEvent(found, last)) this.#hasLost(last)
        else if (this.#isRefusing) await probeWrite(this.#sessions)
        // A failure that an append found meanwhile is permanent.
        if (this.#isDamaged) return
        this.#isRefusing = false
        this.#setStatus({ state: 'ready' })
        this.#wakeups.notify()
        return
      } catch {
        // The server is still away or full, or a standby that is being promoted.
      }
    }
  }

  /** For example after an asynchronous failover to a standby. */
  #hasLost({ position }: LastKnown): void {
    const detail =
      `the server no longer holds the event at position ${position} that it acknowledged: a standby that lagged was ` +
      'promoted, or an older copy restored. Nothing is appended; compare "countersign verify" with your last checkpoint, then start again'
    this.#setStatus({ state: 'failed', detail })
  }

  #setStatus(status: StoreStatus): void {
    if (this.#status.state === status.state && this.#status.detail === status.detail) return
    this.#status = status
    for (const listener of [...this.#listeners]) listener(status)
  }
}

// Reports what the notes of writers attest in a range of the store, for a follower: each page of notes is checked once.

type Range = Parameters<NonNullable<EventStore['attested']>>[0]

interface Checked {
  readonly check: NoteCheck
  /** The last group that was checked. */
  readonly upTo: number
}

class AttestedByNotes {
  readonly #sessions: Sessions
  readonly #seal: NoteSeal
  /**
   * State after the previous call. A call that continues from there knows how far each writer's notes went, so a note that disappears between two calls is
   * detected.
   */
  #before: Checked | undefined

  constructor(sessions: Sessions, seal: NoteSeal) {
    this.#sessions = sessions
    this.#seal = seal
  }

  async attested({ after, until }: Range): Promise<Attested> {
    const from = after === undefined ? 0 : groupOfPosition(after)
    const goesOn = after !== undefined && this.#before?.upTo === from
    const check = goesOn && this.#before ? this.#before.check : this.#begin(after !== undefined)
    // Concurrent calls do not share this state.
    this.#before = undefined
    const upTo = until === undefined ? groupOf(await settledPosition(this.#sessions)) : groupOfPosition(until)
    const lost: LostEvents[] = []
    let broken: string | undefined
    let unknownKeys = 0
    for await (const page of check.pages({ after: from, upTo })) {
      lost.push(...page.lost)
      broken ??= page.broken[0]
      unknownKeys += page.unknownKeys
    }
    const [row] = await read(
      this.#sessions,
      `SELECT value FROM ${this.#sessions.target.schema}.meta WHERE name = '${NOTED_AFTER}'`,
      [],
    )
    const since = [...check.since]
    const attestedAfter = {
      now: positionBehind(Number(row?.value ?? 0)),
      ...(since.length > 0 && { noted: positionBehind(Math.min(...since)) }),
    }
    // A note under a key that the next key file will provide does not count as missing.
    if (unknownKeys > 0) return { lost, after: attestedAfter }
    this.#before = { check, upTo: Math.max(from, upTo) }
    return { lost, broken, after: attestedAfter }
  }

  #begin(isPart: boolean): NoteCheck {
    return new NoteCheck(this.#sessions, this.#seal, { isPart })
  }
}

/** The last position of a group. */
function positionBehind(group: number): Position {
  return String((group + 1) * GROUP_SIZE - 1)
}

function groupOfPosition(position: Position): number {
  return groupOf(parsePosition(position))
}

function groupOf(position: number): number {
  return Math.floor(position / GROUP_SIZE)
}
