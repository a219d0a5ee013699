/**
 * @module Looks for conditions that let the server drop events of a ledger: limits on its streams, and deletions. A scavenge removes such events for good,
 * and a ledger with gaps proves nothing. A limit or a deletion that can be reverted prevents a ledger from starting; all of them are reported by name.
 */
import {
  type AllStreamResolvedEvent,
  BACKWARDS,
  END,
  eventTypeFilter,
  type Position,
  type RecordedEvent,
  START,
} from '@eventstore/db-client'
import { SYSTEM_STREAM } from '../../../schemas/names.ts'
import { type ForgettingStream, StoreOpenError } from '../event-store.ts'
import { compareAllPositions } from './all-positions.ts'
import { NoAnswerError } from './client-errors.ts'
import type { Connection } from './connection.ts'
import { AT_WORK, drain } from './drain.ts'
import { forgettingAdvice, judgeRetention, METADATA_TYPE, TOMBSTONE_TYPE } from './retention.ts'

const NAMED_MAX = 5

/** Type prefixes of the server's events about streams, used as a filter: between matches the server reports how far it has searched. */
export const RETENTION_PREFIXES: readonly string[] = [METADATA_TYPE, TOMBSTONE_TYPE]

type RetentionEvent = Pick<RecordedEvent, 'type' | 'streamId' | 'data' | 'position'>

/** What is known about the streams of a server, up to the position searched so far; the last metadata event of each stream counts. */
export class RetentionCheck {
  readonly #connection: Connection
  readonly #found = new Map<string, ForgettingStream>()
  /** Position of the last event taken into account per stream: a search may deliver an older one later. */
  readonly #judgedAt = new Map<string, Position>()
  #upTo: Position | undefined

  constructor(connection: Connection) {
    this.#connection = connection
  }

  get forgetting(): readonly ForgettingStream[] {
    return [...this.#found.values()]
  }

  /** Whether the server no longer returns any of the stream's events. */
  isDeleted(stream: string): boolean {
    const loss = this.#found.get(stream)?.loss
    return loss === 'deleted' || loss === 'gone'
  }

  /** Records a loss that an append encountered, before the server's own event about it is read. */
  met(stream: string, loss: 'deleted' | 'gone'): void {
    this.#set({ stream, why: loss === 'gone' ? 'deleted for good' : 'deleted', loss })
    this.tell()
  }

  take(event: RetentionEvent): void {
    const judged = judgeRetention(event)
    if (judged === undefined) return
    const before = this.#judgedAt.get(judged.stream)
    const at = event.position
    if (at !== undefined && before !== undefined && compareAllPositions(at, before) < 0) return
    if (at !== undefined) this.#judgedAt.set(judged.stream, at)
    if ('why' in judged) this.#set(judged)
    else if (this.#found.get(judged.stream)?.loss !== 'gone') this.#found.delete(judged.stream)
  }

  #set(found: ForgettingStream): void {
    if (this.#found.get(found.stream)?.loss !== 'gone') this.#found.set(found.stream, found)
  }

  /** Makes the findings part of the store's status. */
  tell(): void {
    this.#connection.tellForgetting(this.forgetting)
  }

  /** Searches from where the last search ended to the current end. Throws `StoreUnavailableError`. */
  async look(): Promise<void> {
    const end = await lastOfAll(this.#connection)
    if (end !== undefined) await this.#connection.read(() => this.#lookTo(end))
  }

  async #lookTo(end: Position): Promise<void> {
    for (const pass of PASSES) {
      if (this.#upTo !== undefined && compareAllPositions(this.#upTo, end) >= 0) return
      const onEvent = (event: RecordedEvent): void => this.take(event)
      const looked = await lookThrough(this.#connection, { pass, from: this.#upTo, end, onEvent })
      this.#upTo = looked.isAll ? end : looked.upTo
    }
  }
}

/**
 * Throws `StoreOpenError` (`store-unsupported`) that names the streams with a limit or deletion that can be reverted, and says what to do. A stream that
 * was deleted for good prevents only the ledger's own stream from being served: no advice could restore it.
 */
export function refuseForgetting({ forgetting }: RetentionCheck): void {
  const refused = forgetting.filter(({ stream, loss }) => loss !== 'gone' || stream === SYSTEM_STREAM)
  if (refused.length === 0) return
  const named = refused.slice(0, NAMED_MAX).map(({ stream, why }) => `${stream} (${why})`)
  const more = refused.length > NAMED_MAX ? ` and ${refused.length - NAMED_MAX} more` : ''
  throw new StoreOpenError(
    'store-unsupported',
    `the server may forget events of this ledger: ${named.join(', ')}${more}; ${forgettingAdvice(refused)}`,
  )
}

async function lastOfAll(connection: Connection): Promise<Position | undefined> {
  let last: Position | undefined
  await connection.read(async (client) => {
    const onItem = ({ event }: AllStreamResolvedEvent): boolean => {
      last = event?.position ?? last
      return true
    }
    const stream = client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1, requiresLeader: true })
    await drain(stream, { onItem, idleMs: connection.timings.callMs })
  })
  return last
}

interface Pass {
  /** Number of events that the server searches before it reports its progress. */
  readonly searchWindow: number
  /** Silence after which the search counts as finished, if the server does not report the end. */
  readonly quietMs: number
}

/** Not every server reports that it has reached the end. The second pass continues where the first fell silent, with a progress report for each event. */
const PASSES: readonly Pass[] = [
  { searchWindow: 500, quietMs: 1_000 },
  { searchWindow: 1, quietMs: 2_000 },
]

interface LookThrough {
  readonly pass: Pass
  /** Exclusive start. */
  readonly from: Position | undefined
  readonly end: Position
  readonly onEvent: (event: RecordedEvent) => void
}

/** Runs one pass; the subscription reports its progress by events and checkpoints. */
async function lookThrough(
  connection: Connection,
  { pass, from, end, onEvent }: LookThrough,
): Promise<{ readonly isAll: boolean; readonly upTo: Position | undefined }> {
  let upTo = from
  const stream = connection.shared.current.subscribeToAll({
    fromPosition: from ?? START,
    requiresLeader: true,
    filter: eventTypeFilter({
      prefixes: [...RETENTION_PREFIXES],
      maxSearchWindow: pass.searchWindow,
      checkpointInterval: 1,
      checkpointReached: (subscription, position) => {
        upTo = position
        // Events that the filter skips do not count as silence, however many there are.
        subscription.emit(compareAllPositions(position, end) >= 0 ? LOOKED_THROUGH : AT_WORK)
      },
    }),
  })
  const onItem = ({ event }: AllStreamResolvedEvent): boolean => {
    if (event === undefined) return true
    onEvent(event)
    upTo = event.position
    return compareAllPositions(event.position, end) < 0
  }
  try {
    await drain(stream, { onItem, idleMs: pass.quietMs, endsOn: ['caughtUp', LOOKED_THROUGH] })
    return { isAll: true, upTo }
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error
    return { isAll: false, upTo }
  }
}

const LOOKED_THROUGH = 'countersign-looked-through'
