import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ledgerStream, runStream } from '../../schemas/names.ts'
import { GROUP_SIZE } from '../../src/store/postgres/schema.ts'
import { acknowledge, isOfAll, listed, withLater } from '../support/acknowledging.ts'
import {
  isLossy,
  lossyPlace,
  openedOn as opened,
  type LossyPlace as Place,
  rowOn as rowOf,
  verdictOn as verdict,
} from '../support/lossy-place.ts'
import { alice, codes, withoutLog as logRemoved, startedCode } from '../support/lossy-site.ts'
import type { MediumRow } from '../support/lossy-store.ts'
import type { TestLogs } from '../support/test-logs.ts'
import { testStoreKind } from '../support/test-store.ts'

const test = suite('losses that are acknowledged, on the store under test')

const onStore = isLossy() ? test : test.skip

const two = runStream('acme', 'two')

/** Runs `one` and `two` of acme, `far` of beta, and `last` of beta at the end; a checkpoint covers the first events of `one`, and `log.db` knows all. */
async function place(): Promise<Place> {
  const at = await lossyPlace()
  await using ledger = await opened(at)
  await ledger.fill('acme', 'one', 2)
  await ledger.logs.publish()
  await ledger.fill('acme', 'two', 1)
  await ledger.fill('beta', 'far', 1)
  await ledger.ledger.execute(alice, 'two', { kind: 'envelope', body: { agent: 'a', payload: { n: 9 } } } as never, {})
  await ledger.fill('beta', 'last', 1)
  await ledger.logs.catchUp()
  return at
}

async function hasTreeOf({ lossy }: Place, ledger: TestLogs, before: readonly MediumRow[]): Promise<void> {
  isOfAll(
    ledger,
    withLater(before, await lossy.rows(), ({ at }) => at),
  )
}

const LOSSES: Readonly<Record<string, (at: Place, row: MediumRow) => Promise<void>>> = {
  'a body is altered': ({ lossy }, row) => lossy.alter(row, { data: '{"v":1}' }),
  'a header is altered': ({ lossy }, row) => lossy.alter(row, { header: row.header.replace('"actor"', '"aktor"') }),
  'an event is gone': ({ lossy }, row) => lossy.remove(row),
}

for (const [name, lose] of Object.entries(LOSSES))
  for (const isLogKept of [true, false])
    onStore(
      `${name}, with ${isLogKept ? '' : 'no '}log.db of before: acknowledged, the log goes on with the tree that it would have had, over starts and rebuilds (LOG-63, LOG-64, LOG-72, STR-51)`,
      async () => {
        await using at = await place()
        const before = await at.lossy.rows()
        const row = await rowOf(at, two, 1)
        await lose(at, row)
        if (!isLogKept) logRemoved(at)
        {
          await using ledger = await opened(at)
          await ledger.logs.publish()
          await ledger.ledger.integrity.scrub()
          assert.equal(await listed(ledger), [`open ${two} @ 1`])
          assert.is(await acknowledge(ledger, two, 0), 'loss-not-found')
          const lost = { stream: two, from: 1, to: 1, open: 0 }
          assert.equal(await acknowledge(ledger, two, 1), { status: 'acknowledged', ...lost })
          assert.equal(await acknowledge(ledger, two, 1), { status: 'known', ...lost })
          assert.equal(await listed(ledger), [`acknowledged ${two} @ 1-1`])
          assert.equal(ledger.logs.losses('beta'), [])
          assert.is(await startedCode(ledger, 'acme'), 'started')
          await ledger.logs.publish()
          await hasTreeOf(at, ledger, before)
        }
        assert.equal(await verdict(at), { verdict: 'INCOMPLETE', faults: [`loss-acknowledged ${two} @ 1`] })
        {
          await using ledger = await opened(at)
          assert.equal(ledger.renewals, [])
          assert.equal(codes(ledger.logs.losses('acme')), ['run acknowledged'])
          await hasTreeOf(at, ledger, before)
        }
        logRemoved(at)
        await using ledger = await opened(at)
        await ledger.fill('acme', 'later', 1)
        await ledger.logs.publish()
        assert.equal(codes(ledger.logs.losses('acme')), ['run acknowledged'])
        await hasTreeOf(at, ledger, before)
      },
    )

onStore(
  'whatever else is lost after an acknowledgement is not covered by it; what is put back is whole again (LOG-66 to LOG-68, LOG-72, A462)',
  async () => {
    await using at = await place()
    const [row, next] = [await rowOf(at, two, 1), await rowOf(at, two, 2)]
    {
      await using ledger = await opened(at)
      await at.lossy.alter(row, { data: '{"v":1}' })
      assert.is(((await acknowledge(ledger, two, 1)) as { status: string }).status, 'acknowledged')
    }
    const named = { verdict: 'INCOMPLETE', faults: [`loss-acknowledged ${two} @ 1`] }
    assert.equal(await verdict(at), named)
    await at.lossy.alter(row, { header: row.header.replace('"actor"', '"aktor"'), data: '{"v":2}' })
    assert.equal(await verdict(at), named)
    await at.lossy.alter(row, { header: row.header, data: '{"v":1}' })
    await at.lossy.remove(next)
    const more = await verdict(at)
    assert.is(more.verdict, 'TAMPERED')
    assert.ok(more.faults.includes(`loss-acknowledged ${two} @ 1`))
    assert.ok(more.faults.length > 1)
    await at.lossy.putBack(next)
    await at.lossy.alter(row, { data: row.data })
    assert.equal(await verdict(at), { verdict: 'VERIFIED', faults: [], putBack: 1 })
  },
)

onStore(
  'the end of a run is gone: acknowledged, the log goes on and the run takes no more events (LOG-63, LOG-64, LOG-72)',
  async () => {
    await using at = await place()
    const before = await at.lossy.rows()
    const end = before.filter(({ stream }) => stream === two).at(-1)
    if (end === undefined) throw new Error('no event')
    await at.lossy.remove(end)
    // Without log.db nothing knows the end of a stream on EventStoreDB.
    assert.is((await verdict(at)).verdict, testStoreKind('memory') === 'eventstoredb' ? 'VERIFIED' : 'TAMPERED')
    {
      await using ledger = await opened(at)
      await ledger.logs.publish()
      await ledger.ledger.integrity.scrub()
      assert.equal(await listed(ledger), [`open ${two} @ ${end.revision}`])
      const { open, status } = (await acknowledge(ledger, two, end.revision)) as { open: number; status: string }
      assert.equal([status, open], ['acknowledged', 0])
      assert.is(await startedCode(ledger, 'acme'), 'started')
      await ledger.logs.publish()
      await hasTreeOf(at, ledger, before)
      const body = { agent: 'a', payload: {} }
      const written = await ledger.ledger.execute(alice, 'two', { kind: 'envelope', body } as never, {})
      assert.is(written.ok ? 'written' : written.refusal.code, 'stream-damaged', 'no revision is given twice')
    }
    assert.equal(await verdict(at), { verdict: 'INCOMPLETE', faults: [`loss-acknowledged ${two} @ ${end.revision}`] })
  },
)

onStore(
  'while the end of the stream of acknowledgements is lost itself no other loss is acknowledged (LOG-63, LOG-72)',
  async () => {
    await using at = await place()
    const before = await at.lossy.rows()
    const own = before.filter(({ stream }) => stream === ledgerStream('acme')).at(-1)
    const lost = await rowOf(at, two, 1)
    if (own === undefined) throw new Error('no event')
    {
      await using ledger = await opened(at)
      for (const row of [own, lost]) await at.lossy.remove(row)
      assert.is(await acknowledge(ledger, two, 1), 'loss-unknown')
    }
    assert.is((await at.lossy.rows()).length, before.length - 2, 'nothing was written')
    await at.lossy.putBack(own)
    await using ledger = await opened(at)
    assert.is(((await acknowledge(ledger, two, 1)) as { status: string }).status, 'acknowledged')
  },
)

const onPostgres = testStoreKind('postgres') === 'postgres' ? test : test.skip

onPostgres('an acknowledged loss covers no other event of its group (A460, STR-51)', async () => {
  await using at = await place()
  {
    await using ledger = await opened(at)
    await Promise.all(Array.from({ length: 8 }, (_, n) => ledger.fill('acme', `beside-${n}`, 1)))
  }
  const runs = (await at.lossy.rows()).filter(({ stream }) => stream.includes('.beside-'))
  const group = (row: MediumRow): number => Math.floor(Number(row.at) / GROUP_SIZE)
  const lost = runs.find((row) => runs.some((each) => each.stream !== row.stream && group(each) === group(row)))
  const other = runs.find((row) => lost !== undefined && row.stream !== lost.stream && group(row) === group(lost))
  if (lost === undefined || other === undefined) throw new Error('no group has events of two runs')
  await at.lossy.alter(lost, { header: lost.header.replace('"actor"', '"aktor"') })
  {
    await using ledger = await opened(at)
    await ledger.ledger.integrity.scrub()
    const { status } = (await acknowledge(ledger, lost.stream, lost.revision)) as { status: string }
    assert.is(status, 'acknowledged')
  }
  const named = `loss-acknowledged ${lost.stream} @ ${lost.revision}`
  assert.equal(await verdict(at), { verdict: 'INCOMPLETE', faults: [named] })
  await at.lossy.alter(other, { header: other.header.replace('"actor"', '"aktor"') })
  const altered = await verdict(at)
  assert.is(altered.verdict, 'TAMPERED')
  assert.ok(altered.faults.some((fault) => fault.includes(`${other.stream} @ ${other.revision}`)))
  await at.lossy.alter(other, { header: other.header })
  await at.lossy.remove(other)
  assert.is((await verdict(at)).verdict, 'TAMPERED')
  await at.lossy.putBack(other)
  assert.equal(await verdict(at), { verdict: 'INCOMPLETE', faults: [named] })
})

test.run()
