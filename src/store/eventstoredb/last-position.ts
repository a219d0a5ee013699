/**
 * @module Where the ledger's last event lies in `$all`, found by looking backwards from its end. What others wrote behind it is looked at once:
 * a quiet ledger on a busy server would else be searched for again at every look, each time for longer.
 */
import { type Position as AllPosition, type AllStreamResolvedEvent, BACKWARDS, END } from '@eventstore/db-client'
import { compareAllPositions } from './all-positions.ts'
import type { Connection } from './connection.ts'
import { drain } from './drain.ts'
import { isLedgerStream } from './ledger-streams.ts'

/** Events of one look; more at each further one, since a long way is left then. */
const FIRST_LOOK = 64
const LOOK_MAX = 4_096
/** Where the end was known a moment ago, the newest event most often says all: the server sends each event whole. */
const NEXT_LOOK = 1
const LOOK_GROWTH = 8

/** What is known of the end of `$all`: forgotten with the node that reported it. */
interface KnownPosition {
  /** The ledger's last event up to here. */
  readonly last: AllPosition | undefined
  /** Nothing up to here need be looked at again. */
  readonly upTo: AllPosition
}

export class LastPosition {
  readonly #connection: Connection
  #known: KnownPosition | undefined
  #looking: Promise<AllPosition | undefined> | undefined
  #next: Promise<AllPosition | undefined> | undefined

  constructor(connection: Connection) {
    this.#connection = connection
    // After a change of leaders the log may end elsewhere.
    connection.onStatus(() => this.forget())
  }

  forget(): void {
    this.#known = undefined
  }

  /**
   * Undefined where there is no event of a ledger. One look serves all who ask while another is under way: it begins after they have asked, and
   * so sees what they know of. Throws `StoreUnavailableError`.
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
      // Whether a position is let in or left out backwards, the same lowest one twice is the beginning.
      const { lowest } = look
      const isStart = lowest === undefined || (from !== END && compareAllPositions(lowest, from) === 0)
      if (look.isOver || isStart) return this.#remember(known, newest, look.isOver ? look.found : undefined)
      from = lowest
    }
  }

  /** Unless something else was learned, or forgotten, meanwhile. */
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
  /** Where it is over: the ledger's last event, undefined where there is none. */
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
      const isOurs = !isKnown && isLedgerStream(streamId)
      const found = isOurs ? position : isKnown ? known.last : undefined
      look = { isOver: isOurs || isKnown, found, newest: look.newest ?? position, lowest: position }
      return !look.isOver
    }
    const options = { direction: BACKWARDS, fromPosition: from, maxCount: count, requiresLeader: true } as const
    await drain(client.readAll(options), { onItem, idleMs: connection.timings.callMs })
    return look
  })
}
