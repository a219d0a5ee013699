/**
 * @module One client a process and node. All clients of a process share one table of appends under way, and the end of one fails those of
 * all: so stores of the same URL share a client, and it is replaced only when it is broken anyway.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { EventStoreDBClient } from '@eventstore/db-client'
import { StoreOpenError } from '../event-store.ts'

const DISPOSE_MAX_MS = 1_000
const clients = new Map<string, SharedClient>()

/** Throws `StoreOpenError` for a connection string that the client refuses. Release it in the end. */
export function acquireClient(connection: string): SharedClient {
  const client = clients.get(connection) ?? new SharedClient(connection)
  clients.set(connection, client)
  client.users += 1
  return client
}

export class SharedClient {
  users = 0
  readonly #connection: string
  readonly #listeners = new Set<() => void>()
  #current: EventStoreDBClient
  #replaced: Promise<void> = Promise.resolve()

  constructor(connection: string) {
    this.#connection = connection
    this.#current = connect(connection)
  }

  get current(): EventStoreDBClient {
    return this.#current
  }

  /**
   * The client, once the one before it has ended: its end empties the shared table, and an answer that then finds its append gone
   * from there is an uncaught error in the client.
   */
  async whenSafe(): Promise<EventStoreDBClient> {
    await this.#replaced
    return this.#current
  }

  /** A client that no longer answers gives way to a new one; its calls under way end as failed. */
  replace(broken: EventStoreDBClient): void {
    if (broken !== this.#current) return
    this.#current = connect(this.#connection)
    this.#replaced = disposed(broken)
    for (const listener of [...this.#listeners]) listener()
  }

  onReplaced(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async release(): Promise<void> {
    this.users -= 1
    if (this.users > 0) return
    clients.delete(this.#connection)
    await disposed(this.#current)
  }
}

/**
 * A client whose streams are cut off may never end. The time limit holds the process: what waits here may be all that it still does, and a
 * process that nothing holds ends in the middle of it.
 */
async function disposed(client: EventStoreDBClient): Promise<void> {
  const inTime = new AbortController()
  const late = sleep(DISPOSE_MAX_MS, undefined, { signal: inTime.signal })
  await Promise.race([client.dispose(), late]).catch(() => undefined)
  inTime.abort()
  await late.catch(() => undefined)
}

/** What the client says about a string that it cannot read repeats parts of it, so it is not passed on. */
function connect(connection: string): EventStoreDBClient {
  try {
    return EventStoreDBClient.connectionString(connection)
  } catch {
    const message = "the store's URL cannot be used: an option has an invalid value, or a file it names is missing"
    throw new StoreOpenError('store-unsupported', message)
  }
}
