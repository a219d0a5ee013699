import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { drive, ok, refusedWith } from '../support/run-driver.ts'
import { testLedger } from '../support/test-ledger.ts'

const DAY_MS = 86_400_000

const clock = suite('clock of leases and reservations')

async function claimedFor(leaseMs: number) {
  // A cache of one run: the other one evicts it, as happens at any moment.
  const test = await testLedger({ cachedRunsMax: 1 })
  const run = drive(test, 'r')
  await run.start()
  const callId = await run.claimed('pay', { key: 'k', leaseMs })
  const other = drive(test, 'other')
  await other.start()
  return {
    test,
    run,
    callId,
    evict: () => other.hand('a', { n: 1 }),
    again: () => run.claim('pay', { key: 'k' }),
    overdue: async () => (await run.call(callId)).overdue === true,
    [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
  }
}

for (const setAheadMs of [DAY_MS, -DAY_MS]) {
  const way = setAheadMs > 0 ? 'forward' : 'back'
  clock(`a lease lasts its length to the millisecond while the clock is set ${way} for a day (RUN-19)`, async () => {
    await using at = await claimedFor(10_000)
    const { clock: hand } = at.test
    hand.nowMs += 5_000
    hand.setAheadMs = setAheadMs
    // Puts the time that was set on the stream, which never goes back.
    await at.run.hand('a', { seen: 'the other day' })
    refusedWith(await at.again(), 'call-in-progress')
    await at.evict()
    assert.is(await at.overdue(), false)
    hand.setAheadMs = 0
    hand.nowMs += 7_000
    await at.evict()
    refusedWith(await at.again(), 'call-in-progress')
    hand.nowMs += 1
    await at.evict()
    assert.is(await at.overdue(), true)
    refusedWith(await at.again(), 'call-in-doubt')
  })
}

clock(
  'a lease granted or renewed while the clock was a day ahead ends in time after it was set back (RUN-19)',
  async () => {
    await using at = await claimedFor(10_000)
    const { clock: hand } = at.test
    hand.setAheadMs = DAY_MS
    const later = await at.run.claimed('later', { key: 'l', leaseMs: 10_000 })
    ok(await at.run.do({ kind: 'renew', callId: at.callId, body: { fence: 1 } }))
    hand.setAheadMs = 0
    hand.nowMs += 12_001
    refusedWith(await at.run.claim('later', { key: 'l' }), 'call-in-doubt')
    assert.is((await at.run.call(later)).status, 'in-doubt')
    refusedWith(await at.again(), 'call-in-progress')
    hand.nowMs += 10_000
    refusedWith(await at.again(), 'call-in-doubt')
  },
)

clock(
  'a process that meets a lease from a clock far ahead waits for one whole length of it and no longer',
  async () => {
    await using at = await claimedFor(10_000)
    const { clock: hand } = at.test
    hand.setAheadMs = DAY_MS
    await at.run.claimed('later', { key: 'l', leaseMs: 10_000 })
    hand.setAheadMs = 0
    const started = drive({ ...at.test, ledger: await at.test.sibling() }, 'r')
    refusedWith(await started.claim('later', { key: 'l' }), 'call-in-progress')
    hand.nowMs += 12_001
    refusedWith(await started.claim('later', { key: 'l' }), 'call-in-doubt')
  },
)

for (const setAheadMs of [DAY_MS, -DAY_MS]) {
  const way = setAheadMs > 0 ? 'forward' : 'back'
  clock(`a reservation lasts until its deadline while the clock is set ${way} for a day (RUN-19)`, async () => {
    await using test = await testLedger({ cachedRunsMax: 1 })
    const { clock: hand } = test
    const run = drive(test, 'r')
    const reserve = () => run.do({ kind: 'reserve', body: { agent: 'a', tokens: 1, deadlineMs: 10_000 } })
    const expired = async () => (await run.types()).filter((type) => type === 'ReservationExpired').length
    await run.start({ budget: { tokens: 100 } })
    const other = drive(test, 'other')
    await other.start()
    ok(await reserve())
    hand.setAheadMs = setAheadMs
    hand.nowMs += 5_000
    ok(await reserve())
    // Loaded again, as happens at any moment.
    await other.hand('a', { n: 1 })
    hand.nowMs += 6_999
    ok(await reserve())
    assert.is(await expired(), 0)
    hand.setAheadMs = 0
    hand.nowMs += 2
    await other.hand('a', { n: 2 })
    ok(await reserve())
    assert.is(await expired(), 1)
    hand.nowMs += 5_000
    ok(await reserve())
    assert.is(await expired(), 2)
  })
}

clock('a reservation that another process granted under a clock far ahead holds for a day at the most', async () => {
  await using test = await testLedger()
  const { clock: hand } = test
  const run = drive(test, 'r')
  await run.start({ budget: { tokens: 100 } })
  hand.setAheadMs = 30 * DAY_MS
  ok(await run.do({ kind: 'reserve', body: { agent: 'a', tokens: 1, deadlineMs: 10_000 } }))
  hand.setAheadMs = 0
  const started = drive({ ...test, ledger: await test.sibling() }, 'r')
  const reserve = () => started.do({ kind: 'reserve', body: { agent: 'a', tokens: 1 } })
  ok(await reserve())
  hand.nowMs += DAY_MS + 2_001
  ok(await reserve())
  assert.ok((await started.types()).includes('ReservationExpired'))
})

clock.run()
