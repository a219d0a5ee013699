/** @module Entry of the thread that reads ahead of the one that writes the auditors' index: a read-only connection to the store, and no key. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { threadGivesWay } from '../resources/give-way.ts'
import { reasonOf } from '../settings/reason-of.ts'
import { openSqliteReader } from '../store/sqlite/sqlite-reader.ts'
import type { AheadRange, FromAhead, ToAhead } from '../upkeep/index-ahead.ts'
import { ReadAhead } from '../upkeep/read-ahead.ts'

export interface AheadPlaces {
  /** File of the store. */
  readonly store: string
}

async function serve(port: MessagePort, { store, range }: AheadPlaces & { readonly range: AheadRange }): Promise<void> {
  threadGivesWay({ isWaitedFor: true })
  using reader = openSqliteReader({ path: store })
  const ahead = new ReadAhead((message) => port.postMessage(message))
  port.on('message', ({ kind }: ToAhead) => (kind === 'more' ? ahead.more() : ahead.end()))
  await ahead.run(reader, range)
}

const port = parentPort
if (port === null) throw new Error('what is ahead of the index is read in a worker thread')
try {
  await serve(port, workerData as AheadPlaces & { readonly range: AheadRange })
} catch (error) {
  port.postMessage({ kind: 'open-failed', message: reasonOf(error) } satisfies FromAhead)
}
// After the last word of this turn.
setImmediate(() => port.close())
