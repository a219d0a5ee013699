import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { LossAcknowledged } from '../../../schemas/events/loss-acknowledged.ts'
import { ledgerStream } from '../../../schemas/names.ts'
import { realEffects, silentLog } from '../../../src/ledger/effects.ts'
import { appendFact } from '../../../src/ledger/identity/append-fact.ts'
import { LedgerFacts } from '../../../src/ledger/identity/ledger-facts.ts'
import { Sealer } from '../../../src/ledger/identity/sealer.ts'
import { type LostEventsDeps, lostEvents } from '../../../src/ledger/integrity/lost-events.ts'
import type { Lost, LostHere } from '../../../src/ledger/log/lost-here.ts'
import { firstExpectation } from '../../../src/signing/check.ts'
import { recordDigest } from '../../../src/signing/digests.ts'
import { readHeader } from '../../../src/signing/header-reader.ts'
import { isHeldPlace } from '../../../src/signing/held-place.ts'
import type { LedgerKeys } from '../../../src/signing/ledger-keys.ts'
import type { ReadRecord } from '../../../src/store/event-store.ts'
import { openMemoryStore } from '../../../src/store/memory/memory-store.ts'
import { rotated } from '../../support/key-rotation.ts'
import { testStoreKeys } from '../../support/test-store.ts'

const test = suite('the acknowledgement of a lost end of the stream of acknowledgements')

const own = ledgerStream('acme')
const alice = { tenant: 'acme', actor: 'alice' } as const
const digestAt = (revision: number): string => `sha256:${String(revision).padStart(64, '0')}`

const sealerOf = (keys: () => LedgerKeys): Sealer => new Sealer({ current: keys, onChange: () => () => undefined })

/** As the log finds it: `sizes` are numbers of events behind the first one that are lost in the same way, all up to the end of the stream. */
function lostBehindFirst(sizes: readonly number[]): (revision: number) => LostHere {
  return (revision) => {
    let from = 1
    for (const size of sizes) {
      const to = from + size - 1
      if (revision >= from && revision <= to) {
        const leaves = Array.from({ length: to - revision + 1 }, (_, at) => ({
          index: revision + at,
          digest: digestAt(revision + at),
        }))
        const lost: Lost = { stream: own, from: revision, to, what: 'missing', code: 'missing', seenBy: 'log', leaves }
        return { kind: 'lost', lost }
      }
      from = to + 1
    }
    return { kind: 'not-lost' }
  }
}

/** A store with the first event of the stream; the log knows of the lost ones behind it. */
async function endLost(sizes: readonly number[], { first, own: ownSealer }: { first: Sealer; own: Sealer }) {
  const store = openMemoryStore()
  const effects = realEffects()
  const fact = { tenant: 'acme', type: 'TokenRevoked', data: { v: 1, token: 't1' }, at: firstExpectation(own) }
  await appendFact({ store, sealer: first, effects }, fact)
  const lostAt = lostBehindFirst(sizes)
  const events = sizes.reduce((sum, size) => sum + size, 1)
  const logs: LostEventsDeps['logs'] = {
    acknowledged: async () => ({ acknowledgements: [], leaves: new Map(), places: new Map() }),
    catchUp: async () => undefined,
    knownHead: () => ({ events, digest: undefined }),
    lostAt: async ({ revision }) => lostAt(revision),
    lostPlaces: async () => [],
    openLosses: () => [],
    publish: async () => undefined,
  }
  const facts = new LedgerFacts({ store, sealer: ownSealer, effects })
  const integrity = { present: () => [] }
  const deps = {
    logs,
    logTenants: () => [],
    losses: () => [],
    integrity,
    facts,
    store,
    sealer: ownSealer,
    effects,
    log: silentLog,
  }
  const records = async (): Promise<readonly ReadRecord[]> => {
    const found: ReadRecord[] = []
    for await (const page of store.readStream(own)) found.push(...page)
    return found
  }
  const acknowledge = () => lostEvents(deps).acknowledge(alice, { stream: own, revision: 1, reason: 'gone' })
  return { acknowledge, records }
}

const headerOf = ({ header }: ReadRecord) => {
  const read = readHeader(header)
  if (!read.ok) throw new Error('no header')
  return read.header
}

test('more events than one acknowledgement names are acknowledged in one append, each place held, by several that follow each other (LOG-74)', async () => {
  const keys = testStoreKeys()
  const sealer = sealerOf(() => keys)
  const { acknowledge, records } = await endLost([1_000, 1_000, 30], { first: sealer, own: sealer })
  const answer = await acknowledge()
  assert.is(answer.ok ? answer.value.status : answer.refusal.detail, 'acknowledged')
  const all = await records()
  const held = all.slice(1, 2_031)
  assert.is(held.filter(isHeldPlace).length, 2_030)
  const written = all.slice(2_031)
  const named = written.map(({ data }) => LossAcknowledged.schema.parse(JSON.parse(data)))
  assert.equal(
    named.map(({ from, to, reason }) => [from, to, reason]),
    [
      [1, 1_000, 'gone'],
      [1_001, 2_000, 'gone'],
      [2_001, 2_030, 'gone'],
    ],
  )
  const prevs = written.map((record) => headerOf(record).prev)
  const digests = written.map(({ header }) => recordDigest(header))
  assert.equal(prevs, [digestAt(2_030), ...digests.slice(0, -1)])
})

test('more than one append of the store takes are refused, and nothing is written (LOG-74)', async () => {
  const keys = testStoreKeys()
  const sealer = sealerOf(() => keys)
  const sizes = Array.from({ length: 10 }, () => 1_000)
  const { acknowledge, records } = await endLost(sizes, { first: sealer, own: sealer })
  const answer = await acknowledge()
  assert.is(answer.ok ? 'acknowledged' : answer.refusal.code, 'loss-unknown')
  assert.match(answer.ok ? '' : answer.refusal.detail, /has lost its last 10000 events/)
  assert.is((await records()).length, 1)
})

test('it is sealed with no older key than the event before the lost ones (LOG-74)', async () => {
  let keys = testStoreKeys()
  const sealer = sealerOf(() => keys)
  const before = sealer.kid
  keys = rotated(keys)
  sealer.reload()
  assert.is(sealer.kid, before, 'this process seals with the older key')
  const newer = sealerOf(() => keys)
  const { acknowledge, records } = await endLost([2], { first: newer, own: sealer })
  assert.ok((await acknowledge()).ok)
  const kids = (await records()).map((record) => headerOf(record).kid)
  assert.equal([...new Set(kids)], [newer.kid])
})

test.run()
