/**
 * @module One client per process and node. All clients of a process share one table of pending appends, and disposing one fails the pending appends of
 * all: therefore stores with the same URL share a client, which is replaced only when it is broken anyway.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { EventStoreDBClient } from '@eventstore/db-client'
import { StoreOpenError } from '../event-store.ts'

const DISPOSE_MAX_MS = 1_000
const clients = new Map<string, SharedClient>()

/** Throws `StoreOpenError` for a connection string that the client refuses. The caller must release the client. */
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
   * Returns the client once its predecessor has been disposed: disposing empties the shared table, and an answer that then does not find its append causes
   * an uncaught error in the client.
   */
  async whenSafe(): Promise<EventStoreDBClient> {
    await this.#replaced
    return this.#current
  }

  /** Replaces a client that no longer answers; its pending calls fail. */
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
 * Disposing a client whose streams are broken may never complete. The timer keeps the process alive: this may be the last pending work, and a process
 * without any would exit in the middle of it.
 */
async function disposed(client: EventStoreDBClient): Promise<void> {
  const inTime = new AbortController()
  const late = sleep(DISPOSE_MAX_MS, undefined, { signal: inTime.signal })
  await Promise.race([client.dispose(), late]).catch(() => undefined)
  inTime.abort()
  await late.catch(() => undefined)
}

/** The client's error for an invalid string repeats parts of it, so it is not passed on. */
function connect(connection: string): EventStoreDBClient {
  try {
    return EventStoreDBClient.connectionString(connection)
  } catch {
    const message = "the store's URL cannot be used: an option has an invalid value, or a file it names is missing"
    throw new StoreOpenError('store-unsupported', message)
  }
}
