/**
 * @module Finds the position of the ledger's last event in `$all` by reading backwards from the end. Events of others after it are read only once: a quiet
 * ledger on a busy server would otherwise be searched for again each time, for longer and longer.
 */
import { type Position as AllPosition, type AllStreamResolvedEvent, BACKWARDS, END } from '@eventstore/db-client'
import { compareAllPositions } from './all-positions.ts'
import type { Connection } from './connection.ts'
import { drain } from './drain.ts'
import { isLedgerStream } from './ledger-streams.ts'

/** Number of events in the first read; it grows with each further read, since the distance is probably long then. */
const FIRST_LOOK = 64
const LOOK_MAX = 4_096
/** If the end was known shortly before, the newest event usually suffices, and the server sends each event whole. */
const NEXT_LOOK = 1
const LOOK_GROWTH = 8

/** What is known about the end of `$all`: discarded together with the node that reported it. */
interface KnownPosition {
  /** The ledger's last event up to `upTo`. */
  readonly last: AllPosition | undefined
  /** Events up to this position need not be read again. */
  readonly upTo: AllPosition
}

export class LastPosition {
  readonly #connection: Connection
  #known: KnownPosition | undefined
  #looking: Promise<AllPosition | undefined> | undefined
  #next: Promise<AllPosition | undefined> | undefined

  constructor(connection: Connection) {
    this.#connection = connection
    // After a change of leaders the log may end differently.
    connection.onStatus(() => this.forget())
  }

  forget(): void {
    this.#known = undefined
  }

  /**
   * Undefined if there is no event of a ledger. Callers that arrive during a search share the next one: it begins after their call, and therefore sees all
   * events they know of. Throws `StoreUnavailableError`.
   */
  find(): Promise<AllPosition | undefined> {
    if (this.#looking === undefined) return this.#start()
    this.#next ??= this.#looking.then(
      () => this.#start(),
      () => this.#start(),
    )
    return this.#next
  }

  #start(): Promise<AllPosition | undefined> {
    this.#next = undefined
    const look = this.#look().finally(() => {
      this.#looking = undefined
    })
    this.#looking = look
    return look
  }

  async #look(): Promise<AllPosition | undefined> {
    const known = this.#known
    let from: AllPosition | typeof END = END
    let newest: AllPosition | undefined
    for (let count = known === undefined ? FIRST_LOOK : NEXT_LOOK; ; count = Math.min(count * LOOK_GROWTH, LOOK_MAX)) {
      const look = await lookBackwards(this.#connection, { from, count, known })
      newest ??= look.newest
      // Whether the start of a backward read is inclusive or exclusive: if the lowest position repeats, it is the beginning of the log.
      const { lowest } = look
      const isStart = lowest === undefined || (from !== END && compareAllPositions(lowest, from) === 0)
      if (look.isOver || isStart) return this.#remember(known, newest, look.isOver ? look.found : undefined)
      from = lowest
    }
  }

  /** Stores the result unless another result was stored, or the known one discarded, meanwhile. */
  #remember(
    known: KnownPosition | undefined,
    newest: AllPosition | undefined,
    last: AllPosition | undefined,
  ): AllPosition | undefined {
    if (newest !== undefined && this.#known === known) this.#known = { last, upTo: newest }
    return last
  }
}

interface LookRequest {
  readonly from: AllPosition | typeof END
  readonly count: number
  readonly known: KnownPosition | undefined
}

interface Look {
  readonly isOver: boolean
  /** If the search is over: the ledger's last event, undefined if there is none. */
  readonly found: AllPosition | undefined
  readonly newest: AllPosition | undefined
  readonly lowest: AllPosition | undefined
}

async function lookBackwards(connection: Connection, { from, count, known }: LookRequest): Promise<Look> {
  return await connection.read(async (client) => {
    let look: Look = { isOver: false, found: undefined, newest: undefined, lowest: undefined }
    const onItem = ({ event }: AllStreamResolvedEvent): boolean => {
      if (event === undefined) return true
      const { position, streamId } = event
      const isKnown = known !== undefined && compareAllPositions(position, known.upTo) <= 0
      const isOwn = !isKnown && isLedgerStream(streamId)
      const found = isOwn ? position : isKnown ? known.last : undefined
      look = { isOver: isOwn || isKnown, found, newest: look.newest ?? position, lowest: position }
      return !look.isOver
    }
    const options = { direction: BACKWARDS, fromPosition: from, maxCount: count, requiresLeader: true } as const
    await drain(client.readAll(options), { onItem, idleMs: connection.timings.callMs })
    return look
  })
}
