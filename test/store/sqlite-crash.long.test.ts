import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ReadRecord } from '../../src/store/event-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { type Ack, killedAfter } from '../support/killed-store.ts'
import { seededRandom, testSeed } from '../support/random.ts'
import { collect } from '../support/records.ts'
import { rounds } from '../support/rounds.ts'
import { tempFolder } from '../support/temp-folder.ts'

const CYCLES = rounds(2, 15, 60)
const random = seededRandom(testSeed(1))

const test = suite('sqlite store killed at any moment')

test(`${CYCLES} kills lose no acknowledged append, tear none and leave no gap`, async () => {
  using folder = tempFolder({ onDisk: true })
  const path = folder.file('ledger.sqlite')
  const acks: Ack[] = []
  for (let cycle = 0; cycle < CYCLES; cycle += 1) {
    acks.push(...(await killedAfter(path, 20 + Math.floor(random() * 400))))
    await using store = await openSqliteStore({ path })
    checkHistory(await collect(store.readAll()), acks)
  }
  assert.ok(acks.length > 20 * CYCLES, 'the children did write')
})

function checkHistory(records: readonly ReadRecord[], acks: readonly Ack[]): void {
  const next = new Map<string, number>()
  const marks = new Map<string, { of: number; revisions: number[] }>()
  for (const { stream, revision, data } of records) {
    assert.is(revision, next.get(stream) ?? 0, 'revisions are contiguous')
    next.set(stream, revision + 1)
    const { mark, of } = JSON.parse(data) as { mark: string; of: number }
    const seen = marks.get(mark) ?? { of, revisions: [] }
    seen.revisions.push(revision)
    marks.set(mark, seen)
  }
  for (const { of, revisions } of marks.values()) assert.is(revisions.length, of, 'an append is whole')
  for (const { revision, mark } of acks)
    assert.is(marks.get(mark)?.revisions.at(-1), revision, 'acknowledged, so there')
}

test.run()
