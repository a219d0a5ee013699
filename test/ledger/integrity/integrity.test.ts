import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ledgerStream, runStream } from '../../../schemas/names.ts'
import { scrubState } from '../../../src/ledger/integrity/scrub-state.ts'
import { type AlteredStore, alteredStore, withOtherBody } from '../../support/altered-store.ts'
import { collect } from '../../support/records.ts'
import { drive, ok } from '../../support/run-driver.ts'
import { alice, ownCaller, type TestLedger, testLedger } from '../../support/test-ledger.ts'
import { openTestStore } from '../../support/test-store.ts'

const test = suite('ledger: integrity')

interface Seeded extends AlteredStore, AsyncDisposable {
  readonly inner: TestLedger
  readonly lines: readonly object[]
}

/** Three runs with a payment each, in logs that hold them all. */
async function seeded(): Promise<Seeded> {
  const altered = alteredStore(await openTestStore())
  const lines: object[] = []
  const log = { info: () => undefined, warn: () => undefined, error: (line: object) => void lines.push(line) }
  const inner = await testLedger({ store: altered.store, merkleLogs: true, log })
  for (const id of ['a', 'b', 'c']) {
    const run = drive(inner, id)
    await run.start()
    ok(await run.hand('ann', { facts: { total: 'exactly 4,000' } }))
    await run.called('pay')
  }
  await inner.ledger.logs?.publish()
  return { ...altered, inner, lines, [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose]() }
}

async function factsOf({ inner }: Seeded): Promise<readonly unknown[]> {
  const records = await collect(inner.store.readStream(ledgerStream(alice.tenant)))
  return records
    .filter(({ header }) => header.includes('"type":"IntegrityFaultFound"'))
    .map(({ data }) => {
      const { stream, revision, code, foundBy } = JSON.parse(data) as Record<string, unknown>
      return [stream, revision, code, foundBy]
    })
}

const changed = () => withOtherBody(runStream(alice.tenant, 'b'), 1, ['4,000', '9,000'])

test('the scrub finds an event that was altered, puts it on record once, and marks its run in every list (LOG-24, A215)', async () => {
  await using at = await seeded()
  const { ledger } = at.inner
  await ledger.integrity.scrub()
  assert.equal(ledger.integrity.state(alice).faults, [])
  assert.is(ledger.integrity.state(alice).scrub.lastPass?.leaves !== undefined, true)
  at.alter(changed())
  await ledger.integrity.scrub()
  await ledger.integrity.scrub()
  const expected = [runStream(alice.tenant, 'b'), 1, 'data-digest', 'scrub']
  assert.equal(await factsOf(at), [expected])
  assert.is(at.lines.length, 1, 'one line in the log')
  assert.equal(
    ledger.integrity.state(alice).faults.map(({ run, revision, code }) => [run, revision, code]),
    [['b', 1, 'data-digest']],
  )
  const { items } = await ledger.listRuns(alice, { limit: 10 })
  assert.equal(
    items.filter(({ seal }) => seal === 'invalid').map(({ runId }) => runId),
    ['b'],
  )
  assert.equal(ledger.integrity.state(ownCaller('beta', { actor: 'alice' })).faults, [], 'nobody else is told')
  assert.is(ledger.integrity.broken(alice), 1)
  assert.ok(ledger.stats().integrity.faults >= 1, 'of every tenant of the store, where other tests may have left some')
  const again = await at.inner.sibling()
  await again.integrity.scrub()
  assert.equal(await factsOf(at), [expected], 'another process knows it from the record')
  assert.equal(again.integrity.state(alice).faults.length, 1)
  await again[Symbol.asyncDispose]()
})

test('processes that find the same fault at the same time put it on record once (LOG-24, F218)', async () => {
  await using at = await seeded()
  const others = [await at.inner.sibling(), await at.inner.sibling(), await at.inner.sibling()]
  at.alter(changed())
  const all = [at.inner.ledger, ...others]
  await Promise.all(
    all.map(async (each) => {
      const found = await each.runEvents(alice, 'b', { from: 0 })
      if (found.ok) for await (const _ of found.value);
    }),
  )
  // A scrub ends when what was found before it is on record.
  for (const each of all) await each.integrity.scrub()
  assert.equal(await factsOf(at), [[runStream(alice.tenant, 'b'), 1, 'data-digest', 'read']])
  for (const other of others) await other[Symbol.asyncDispose]()
})

test('after the store was put right and read whole, what was broken is past: in the list of faults, in no banner; met again it is not past (LOG-24, F192)', async () => {
  await using at = await seeded()
  const { ledger } = at.inner
  // Of every tenant of the store, which other tests may have left faults in.
  const present = () => [ledger.integrity.broken(alice), Math.sign(ledger.stats().integrity.faults)]
  const past = () => ledger.integrity.state(alice).faults.map(({ pastSince }) => pastSince !== undefined)
  const wholePass = async (): Promise<void> => {
    at.inner.clock.nowMs += 60_000
    await ledger.integrity.scrub()
  }
  at.alter(changed())
  await wholePass()
  await wholePass()
  assert.equal([present(), past()], [[1, 1], [false]])
  at.alter((record) => record)
  assert.equal([present(), past()], [[1, 1], [false]], 'nobody has looked yet')
  await wholePass()
  assert.equal([present(), past()], [[0, 0], [true]])
  at.alter(changed())
  await wholePass()
  assert.equal([present(), past()], [[1, 1], [false]])
  assert.is((await factsOf(at)).length, 1, 'on record once')
})

test('the scrub finds an event that is gone, in the middle and at the end, and one whose header is a neighbour’s (LOG-25, A216)', async () => {
  await using at = await seeded()
  const [a, b, c] = ['a', 'b', 'c'].map((id) => runStream(alice.tenant, id))
  at.alter((record) => {
    if (record.stream === a && record.revision === 1) return undefined
    if (record.stream === b && record.revision === 2)
      return { ...record, header: record.header.replace('"v":1', '"v":1 ') }
    if (record.stream === c && record.revision === 3) return undefined
    return record
  })
  await at.inner.ledger.integrity.scrub()
  assert.equal((await factsOf(at)).slice().sort(), [
    [a, 1, 'missing', 'scrub'],
    [b, 2, 'header-not-canonical', 'scrub'],
    [c, 3, 'missing', 'scrub'],
  ])
})

test('a reading that meets a broken seal puts it on record, whichever reading it is, and a passing glitch is none (LOG-24, A217)', async () => {
  await using at = await seeded()
  const { ledger } = at.inner
  let reads = 0
  at.alter((record) => {
    if (record.stream !== runStream(alice.tenant, 'a') || record.revision !== 1) return record
    reads += 1
    return reads === 1 ? { ...record, data: record.data.replaceAll('4,000', '4,001') } : record
  })
  const first = await ledger.runEvents(alice, 'a', { from: 0 })
  if (!first.ok) throw new Error(first.refusal.code)
  for await (const _ of first.value);
  await ledger.integrity.scrub()
  assert.equal(await factsOf(at), [], 'read once more, it fits')

  at.alter(changed())
  const found = await ledger.runEvents(alice, 'b', { from: 0 })
  if (!found.ok) throw new Error(found.refusal.code)
  const seals: unknown[] = []
  for await (const page of found.value) for (const { header, seal } of page) seals.push([header.revision, seal])
  assert.equal(seals, [
    [0, 'valid'],
    [1, 'invalid'],
    [2, 'valid'],
    [3, 'valid'],
  ])
  await ledger.integrity.settled()
  assert.equal(await factsOf(at), [[runStream(alice.tenant, 'b'), 1, 'data-digest', 'read']])
  const run = await ledger.run(alice, 'b')
  assert.is(run.ok && run.value.seal, 'invalid')
})

test('a pass goes on in slices where it was, also after a start, and is whole when it has met every event (LOG-25, F157)', async () => {
  await using at = await seeded()
  const { ledger, store, views } = at.inner
  await ledger.integrity.scrub()
  const whole = scrubState(views.note('scrub')).last
  const total = (await collect(store.readAll({}))).length
  assert.ok(whole !== undefined && whole.events > 9 && whole.broken === 0, JSON.stringify(whole))
  views.saveNote('scrub', JSON.stringify({ v: 1, pass: { ...passOf(whole), until: await store.end() } }))
  await ledger.integrity.scrub()
  const { last } = scrubState(views.note('scrub'))
  assert.equal([last?.startedAt, last?.events], ['2026-01-01T00:00:00.000Z', total], 'the pass that was begun is ended')
  for (const text of [undefined, '', '{', '{"v":2}', '{"v":1,"last":{"broken":-1}}'])
    assert.equal(scrubState(text), { v: 1 })
})

const passOf = ({ leaves: _, ...whole }: object & { leaves: object }) => {
  const { endedAt: __, ...pass } = whole as { endedAt?: string }
  return { ...pass, startedAt: '2026-01-01T00:00:00.000Z', events: 0, leaves: {} }
}

test.run()
