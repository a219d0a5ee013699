/**
 * @module Child of `sqlite-crash.long.test.ts`: appends without end and prints one line for each acknowledged append, until it is killed.
 * Argument: the store's path. A line is `<stream> <last revision> <mark of the append>`.
 */
import { writeSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventStore } from '../../src/store/event-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { record } from '../support/records.ts'

const WRITERS = 8

async function write(store: EventStore, stream: string): Promise<never> {
  let revision = await store.head(stream)
  for (let turn = 0; ; turn += 1) {
    const count = 1 + (turn % 3)
    const mark = `${process.pid}-${stream}-${turn}`
    const data = JSON.stringify({ mark, of: count, text: 'x'.repeat(turn % 7 === 0 ? 9_000 : 200) })
    const records = Array.from({ length: count }, () => record({ data }))
    const result = await store.append({ stream, expectedRevision: revision, records })
    if (result.kind !== 'appended') throw new Error(`unexpected answer ${JSON.stringify(result)}`)
    revision = result.revision
    await say(`${stream} ${revision} ${mark}`)
  }
}

/** At once, so that no kill takes a line that was said; again where whoever reads has not made room yet. */
async function say(line: string): Promise<void> {
  for (;;) {
    try {
      writeSync(1, `${line}\n`)
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      await nextTurn()
    }
  }
}

const store = await openSqliteStore({ path: process.argv[2] ?? '', logFrames: 60 })
await say('ready')
await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(store, `run-acme.w${writer}`)))
