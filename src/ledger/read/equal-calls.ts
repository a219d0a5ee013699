/**
 * @module Finds the open calls that equal a given one by following the events added to the store since the last query, without reading every run. The
 * result only says where to look: whether a call is open is read from its run.
 */
import { declarationOf } from '../../../schemas/events.ts'
import { isJsonObject, type JsonObject, parseJsonOrUndefined } from '../../../schemas/json.ts'
import { parseStream } from '../../../schemas/names.ts'
import { jsonDigest } from '../../signing/digests.ts'
import type { EventStore, Position, ReadRecord } from '../../store/event-store.ts'

/** Maximum number of events added since the last query; beyond it the open calls are read again, which takes less time. */
const GAINED_MAX = 5_000
/** Maximum number of open calls of one tenant that are kept in memory. */
const KEPT_MAX = 50_000

export interface OpenCallPlace {
  readonly runId: string
  readonly callId: string
  /** Digest of tool and arguments as recorded; undefined for a run that cannot be read, since it may hold any call. */
  readonly digest: string | undefined
}

/** Every open call of a tenant at the time it is read. */
export type ReadOpenCalls = (tenant: string) => AsyncIterable<OpenCallPlace>

interface Known {
  /** By run and id: callers may choose the id, and another run may have it, too. */
  readonly open: Map<string, OpenCallPlace>
  /** Calls that ended while the open ones were being read; undefined once that is done. */
  ended: Set<string> | undefined
  readonly read: Promise<void>
}

type FollowedStore = Pick<EventStore, 'readAll' | 'end' | 'comparePositions'>

export class EqualCalls {
  readonly #store: FollowedStore
  readonly #read: ReadOpenCalls
  readonly #tenants = new Map<string, Known>()
  #at: Position | undefined
  #running: Promise<unknown> = Promise.resolve()
  #queued: Promise<void> | undefined

  constructor(store: FollowedStore, read: ReadOpenCalls) {
    this.#store = store
    this.#read = read
  }

  /** The open calls of the tenant with the same tool and arguments as this one, including itself; only calls of unreadable runs if it is not open. */
  async equalTo(tenant: string, callId: string): Promise<readonly OpenCallPlace[]> {
    for (;;) {
      await this.#follow()
      const known = this.#tenants.get(tenant) ?? this.#begin(tenant)
      if (known.ended !== undefined) {
        await known.read
        continue
      }
      const all = [...known.open.values()]
      const own = new Set(all.filter((place) => place.callId === callId).map(({ digest }) => digest))
      const places = all.filter(({ digest }) => digest === undefined || own.has(digest))
      // Too many to keep: they are read again for the next query.
      if (known.open.size > KEPT_MAX) this.#tenants.delete(tenant)
      return places
    }
  }

  /** New events are followed from the current position on, while the existing open calls are read. */
  #begin(tenant: string): Known {
    const open = new Map<string, OpenCallPlace>()
    const ended = new Set<string>()
    const read = async (): Promise<void> => {
      for await (const place of this.#read(tenant)) if (!ended.has(nameOf(place))) open.set(nameOf(place), place)
      // Events added in the meantime are applied before the result is used.
      await this.#follow()
      known.ended = undefined
    }
    const known: Known = {
      open,
      ended,
      read: read().catch((error: unknown) => {
        if (this.#tenants.get(tenant) === known) this.#tenants.delete(tenant)
        throw error
      }),
    }
    this.#tenants.set(tenant, known)
    return known
  }

  /** Follows the store up to its end after the call. Callers waiting for the next pass share it. */
  #follow(): Promise<void> {
    this.#queued ??= this.#running.then(() => {
      this.#queued = undefined
      return this.#pass()
    })
    this.#running = this.#queued.catch(() => undefined)
    return this.#queued
  }

  async #pass(): Promise<void> {
    const until = await this.#store.end()
    const after = this.#at
    if (this.#tenants.size > 0 && until !== undefined && after !== undefined) await this.#passTo(until, after)
    this.#at = until
  }

  async #passTo(until: Position, after: Position): Promise<void> {
    if (this.#store.comparePositions(after, until) >= 0) return
    let gained = 0
    for await (const page of this.#store.readAll({ after, until })) {
      for (const record of page) this.#take(record)
      gained += page.length
      if (gained > GAINED_MAX) this.#forgetRead()
      if (this.#tenants.size === 0) return
    }
  }

  /** Drops completed tenants only: restarting a read in progress could go on for as long as others write. */
  #forgetRead(): void {
    for (const [tenant, { ended }] of this.#tenants) if (ended === undefined) this.#tenants.delete(tenant)
  }

  #take(record: ReadRecord): void {
    const name = parseStream(record.stream)
    const known = name?.runId === undefined ? undefined : this.#tenants.get(name.tenant)
    if (name?.runId === undefined || known === undefined) return
    const change = changeIn(record)
    if (change === undefined) return
    const { runId } = name
    const call = nameOf({ runId, callId: change.callId })
    if (change.kind === 'opened') {
      known.open.set(call, { runId, callId: change.callId, digest: change.digest })
      return
    }
    known.open.delete(call)
    known.ended?.add(call)
  }
}

const nameOf = ({ runId, callId }: Pick<OpenCallPlace, 'runId' | 'callId'>): string => `${runId}\n${callId}`

type Change =
  | { readonly kind: 'opened'; readonly callId: string; readonly digest: string }
  | { readonly kind: 'ended'; readonly callId: string }

/** Undefined if the event neither opens nor ends a call, or cannot be read; the run itself reports that to its readers. */
function changeIn({ header, data }: ReadRecord): Change | undefined {
  const declared = declarationOf(typeIn(header))
  const { call, undoing } = declared?.changes ?? {}
  const ends = call === 'settled' || undoing === 'succeeded' || undoing === 'failed'
  if (call !== 'claimed' && !ends) return undefined
  const body = jsonIn(data)
  const callId = body?.callId
  if (body === undefined || typeof callId !== 'string') return undefined
  if (ends) return { kind: 'ended', callId }
  return body.phase === 'model' ? undefined : { kind: 'opened', callId, digest: digestOfCall(body) }
}

/** Digest of a claim, or of a call as it is shown: values that a policy redacts are redacted in both. */
export function digestOfCall({
  tool,
  args,
  argsRef,
  argsDigest,
  redacted,
  argsRedacted = redacted,
}: JsonObject): string {
  const stored = argsRef !== undefined && isJsonObject(argsRef) ? argsRef.digest : argsDigest
  const digest = argsRef === undefined && argsRedacted !== undefined ? jsonDigest(args ?? null) : stored
  return `${String(digest)} ${String(tool)}`
}

function typeIn(header: string): string {
  return String(jsonIn(header)?.type ?? '')
}

function jsonIn(text: string): JsonObject | undefined {
  const value = parseJsonOrUndefined(text)
  return value !== undefined && isJsonObject(value) ? value : undefined
}
