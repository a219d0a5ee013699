import { setImmediate as nextTurn } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { canonicalJson } from '../../../src/signing/canonical-json.ts'
import { StoreUnavailableError } from '../../../src/store/event-store.ts'
import type { Connection } from '../../../src/store/eventstoredb/connection.ts'
import { findLostBeginnings } from '../../../src/store/eventstoredb/stream-reads.ts'
import { within } from '../../support/within.ts'

const test = suite('eventstoredb: the first events of many streams')

const STREAMS = Array.from({ length: 100 }, (_, index) => `run-acme.r${index}`)

/** A connection whose reads find nothing, or fail, a turn later. */
function reading(fails: boolean) {
  const counts = { begun: 0, underWay: 0, most: 0 }
  const read = async (): Promise<object> => {
    counts.begun += 1
    counts.underWay += 1
    counts.most = Math.max(counts.most, counts.underWay)
    await nextTurn()
    counts.underWay -= 1
    if (fails) throw new StoreUnavailableError('away', 1)
    return { records: [], cut: false }
  }
  return { counts, connection: { read } as unknown as Connection }
}

test('many are read at once, and no more than the node serves beside others (F241)', async () => {
  const { counts, connection } = reading(false)
  const lost = await within(findLostBeginnings({ connection, canonical: canonicalJson }, STREAMS), 'the reads')
  assert.equal([...lost].sort(), [...STREAMS].sort())
  assert.is(counts.begun, STREAMS.length)
  assert.ok(counts.most > 1 && counts.most <= 16, `${counts.most} reads at once`)
})

test('where the node goes away, the streams that are left are not asked for one after the other (F241)', async () => {
  const { counts, connection } = reading(true)
  const outcome = findLostBeginnings({ connection, canonical: canonicalJson }, STREAMS).catch((error: unknown) => error)
  assert.instance(await within(outcome, 'the refusal'), StoreUnavailableError)
  for (let turn = 0; turn < 3; turn += 1) await nextTurn()
  assert.ok(counts.begun <= 16, `${counts.begun} reads`)
})

test.run()
