import { randomBytes } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runStream } from '../../../schemas/names.ts'
import { Sealer } from '../../../src/ledger/identity/sealer.ts'
import { type LostHereDeps, lostHere } from '../../../src/ledger/log/lost-here.ts'
import { MemoryBudget } from '../../../src/resources/memory-budget.ts'
import { digestText } from '../../../src/signing/digests.ts'
import type { ReadRecord, ReadStreamOptions } from '../../../src/store/event-store.ts'
import { testStoreKeys } from '../../support/test-store.ts'

const test = suite('which event is lost')

const SIZE = 1_000_000
const OWN = 700_000
const stream = runStream('acme', 'own')

/** A log of a million leaves, of which three in a row are of one run; the store lacks the second of these. */
function longLog(movedTo: number) {
  const read = { leaves: 0 }
  const keys = testStoreKeys()
  const hashes = randomBytes(256 * 32)
  const placeOf = (index: number): readonly [number, string, number] =>
    index >= OWN && index < OWN + 3 ? [index, stream, index - OWN] : [index, runStream('acme', 'other'), index]
  const leaf = (_: string, index: number) => {
    read.leaves += 1
    const [, name, revision] = placeOf(index)
    return { tenant: 'acme', index, stream: name, revision, position: String(index), eventId: '' }
  }
  const deps = {
    sealer: new Sealer({ current: () => keys, onChange: () => () => undefined }, new MemoryBudget()),
    store: {
      comparePositions: (a: string, b: string) => Number(a) - Number(b),
      async *readStream(_: string, { from = 0 }: ReadStreamOptions) {
        const record = { stream, revision: from, header: '{}', data: '{}', salt: new Uint8Array(16) }
        if (from === 0 || from === 2) yield [{ ...record, position: String(movedTo + from) } as unknown as ReadRecord]
      },
    },
    logStore: {
      log: () => ({ tenant: 'acme', size: SIZE }),
      stream: () => ({ stream, nextRevision: 3 }),
      leaf,
      leafPlaces: (_: string, from: number, to: number) => {
        read.leaves += to - from
        return Array.from({ length: to - from }, (_, at) => placeOf(from + at))
      },
      tile: () => hashes,
    },
  } as unknown as LostHereDeps
  const at = ((OWN + 1) % 256) * 32
  return { deps, read, digest: digestText(hashes.subarray(at, at + 32)) }
}

test('of a long log only the leaves from the event before it to the first that is there are read (LOG-71)', async () => {
  const { deps, read, digest } = longLog(OWN)
  const found = await lostHere(deps, { tenant: 'acme', stream, revision: 1 })
  assert.equal(found.kind === 'lost' && [found.lost.what, found.lost.to, found.lost.leaves], [
    'missing',
    1,
    [{ index: OWN + 1, digest }],
  ])
  assert.ok(read.leaves < 5_000, `${read.leaves} leaves were read`)
})

test('where the event before it was moved behind it, its leaf is found nevertheless (LOG-71)', async () => {
  const { deps, digest } = longLog(SIZE - 3)
  const found = await lostHere(deps, { tenant: 'acme', stream, revision: 1 })
  assert.equal(found.kind === 'lost' && found.lost.leaves, [{ index: OWN + 1, digest }])
})

test.run()
