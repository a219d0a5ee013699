/**
 * @module Read-only access to a store file, with or without a running owner: for `verify`, `replay` and the like. It takes no lock that affects an owner,
 * and never writes.
 */
import { realpathSync } from 'node:fs'
import { compareDecimalPositions } from '../decimal-position.ts'
import { StoreOpenError, type StoreReader } from '../event-store.ts'
import { asOpenError, openReadOnly } from './open.ts'
import { checkSchema } from './schema.ts'
import { StoreReads } from './store-reads.ts'

/** How often a subscriber outside the owner's process checks for new events. */
const POLL_MS = 100

/** Throws `StoreOpenError`: `store-unreadable`, `store-newer` or `store-corrupt`. */
export function openSqliteReader({ path }: { readonly path: string }): StoreReader {
  const reads = new StoreReads()
  try {
    const file = realpathSync(path)
    checkFile(file)
    reads.open(file)
  } catch (error) {
    throw asOpenError(error, path)
  }

  const polling = pollForCommits(reads)
  return {
    url: `sqlite:${path}`,
    densePositions: true,
    comparePositions: compareDecimalPositions,
    head: (stream) => reads.head(stream),
    recordAt: (position) => reads.recordAt(position),
    end: () => reads.end(),
    missingPositions: (limit, among) => reads.missingPositions(limit, among),
    missingEnd: () => reads.missingEnd(),
    findRequest: (stream, requestId) => reads.findRequest(stream, requestId),
    readStream: (stream, options) => reads.readStream(stream, options),
    readAll: (options) => reads.readAll(options),
    subscribe: (options, signal) => reads.subscribe(options, signal),
    [Symbol.dispose]: () => {
      clearInterval(polling)
      reads[Symbol.dispose]()
    },
  }
}

function checkFile(path: string): void {
  const db = openReadOnly({ path, busyTimeoutMs: 1_000 })
  try {
    if (checkSchema(db, path)) throw new StoreOpenError('store-unreadable', `${path} is empty: it is no store yet`)
  } finally {
    db.close()
  }
}

/** The owner's commits change SQLite's data version, which is read from shared memory: a check costs microseconds. */
function pollForCommits(reads: StoreReads): NodeJS.Timeout {
  let seen = reads.dataVersion()
  const poll = setInterval(() => {
    if (reads.wakeups.sleepers === 0) return
    const version = reads.dataVersion()
    if (version !== seen) reads.wakeups.notify()
    seen = version
  }, POLL_MS)
  return poll.unref()
}
