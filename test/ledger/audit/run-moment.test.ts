import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import type { AuditReads } from '../../../src/ledger/audit/audit-reads.ts'
import { auditOf } from '../../support/audited.ts'
import { randomRun } from '../../support/random-run.ts'
import { drive, ok } from '../../support/run-driver.ts'
import { alice, type TestLedger, testLedger } from '../../support/test-ledger.ts'

const past = suite('audit: a run at a moment of the log')

type At = Parameters<AuditReads['runMoment']>[2]

async function stateNow({ ledger }: TestLedger, runId: string): Promise<JsonObject> {
  const found = await ledger.run(alice, runId)
  if (!found.ok) throw new Error(found.refusal.detail)
  return found.value
}

async function momentOf({ ledger }: TestLedger, runId: string, at: At) {
  const moment = await auditOf(ledger).runMoment(alice, runId, at)
  if (!moment.ok) throw new Error(`${moment.code}: ${moment.detail}`)
  return moment
}

async function stateThen(test: TestLedger, runId: string, at: At): Promise<JsonObject> {
  const { revision, time } = await momentOf(test, runId, at)
  const found = await test.ledger.run(alice, runId, { revision, timeMs: Date.parse(time) })
  if (!found.ok) throw new Error(found.refusal.detail)
  return found.value
}

past(
  'whatever happens later, a run as of a size of the log is the run of that moment: state, budget, open calls (HTTP-28)',
  async () => {
    for (const seed of [1, 2, 3]) {
      await using test = await testLedger({ audit: true })
      const moments: { readonly size: number; readonly states: Readonly<Record<string, JsonObject>> }[] = []
      for (const [index, runId] of ['first', 'second', 'first', 'second', 'first'].entries()) {
        await randomRun(test, runId, { seed: seed * 100 + index, steps: 12 })
        await drive(test, runId).hand('ann', { facts: [`f${index}`] })
        const { treeSize } = await auditOf(test.ledger).asOf(alice)
        const runs = index === 0 ? ['first'] : ['first', 'second']
        const states = Object.fromEntries(await Promise.all(runs.map(async (id) => [id, await stateNow(test, id)])))
        moments.push({ size: treeSize, states })
      }
      await drive(test, 'first').do({ kind: 'complete', body: {} })
      for (const { size, states } of moments)
        for (const [runId, state] of Object.entries(states))
          assert.equal(await stateThen(test, runId, { treeSize: size }), state, `${runId} as of ${size}, seed ${seed}`)
    }
  },
)

past(
  'a time is the events written by then, and a lease is over by the clock of that moment, not of now (HTTP-28)',
  async () => {
    await using test = await testLedger({ audit: true })
    const run = drive(test, 'r')
    await run.start()
    ok(await run.claim('pay'))
    test.clock.nowMs += 24 * 3_600_000
    ok(await run.hand('ann', { facts: ['late'] }))
    const { treeSize } = await auditOf(test.ledger).asOf(alice)
    const late = await stateThen(test, 'r', { treeSize })
    const claimed = (await momentOf(test, 'r', { treeSize: 2 })).time
    const early = await stateThen(test, 'r', { time: claimed })
    const overdue = ({ openCalls }: JsonObject) =>
      (openCalls as readonly JsonObject[]).map((call) => call.overdue ?? false)
    assert.equal([early.revision, overdue(early)], [1, [false]])
    assert.equal([Number(late.revision) > 1, overdue(late)], [true, [true]])
    // Any time until the next event is that moment; one in the future is now.
    const between = new Date(Date.parse(claimed) + 3_600_000).toISOString()
    assert.is((await momentOf(test, 'r', { time: between })).revision, 1)
    assert.is((await momentOf(test, 'r', { time: '9000-01-01T00:00:00.000Z' })).asOf.treeSize, treeSize)
  },
)

past(
  'before the run began, beyond the log, for a run that is none, and for a token of one run or agent it is refused, with what to do (A276)',
  async () => {
    await using test = await testLedger({ audit: true })
    await drive(test, 'early').start()
    await drive(test, 'r').start()
    const { runMoment } = auditOf(test.ledger)
    const refused = async (caller: object, runId: string, at: At): Promise<string> => {
      const found = await runMoment({ ...alice, ...caller }, runId, at)
      return found.ok ? 'ok' : `${found.code}: ${found.detail}`
    }
    assert.is(await refused({}, 'r', { treeSize: 2 }), 'ok')
    assert.match(
      await refused({}, 'r', { treeSize: 1 }),
      /^invalid-query: the run had not begun .* it began with event 2 /,
    )
    assert.match(await refused({}, 'r', { treeSize: 99 }), /^invalid-query: the log has \d+ events and no more/)
    assert.match(
      await refused({}, 'r', { time: '1990-01-01T00:00:00.000Z' }),
      /^invalid-query: the log had no event then/,
    )
    assert.match(await refused({}, 'none', { treeSize: 1 }), /^run-not-found/)
    assert.match(await refused({ run: 'r' }, 'r', { treeSize: 2 }), /^run-mismatch/)
    assert.match(await refused({ agent: 'ann' }, 'r', { treeSize: 2 }), /^agent-mismatch/)
    assert.match(await refused({ tenant: 'other' }, 'r', { treeSize: 2 }), /^invalid-query/)
    for (const revision of [-1, 7]) {
      const found = await test.ledger.run(alice, 'r', { revision })
      assert.is(found.ok ? 'ok' : found.refusal.code, 'unknown-step')
    }
  },
)

past(
  'a clock that was set back loses no event: the moment of a time is one place where that time was passed (F245)',
  async () => {
    await using test = await testLedger({ audit: true })
    await drive(test, 'r').start()
    for (const [index, step] of [3_600_000, -1_800_000, 3_600_000, -3_600_000, 7_200_000].entries()) {
      test.clock.setAheadMs += step
      await drive(test, `r${index}`).start()
    }
    const { treeSize } = await auditOf(test.ledger).asOf(alice)
    const times = await Promise.all(
      Array.from({ length: treeSize }, async (_, leaf) => (await momentOf(test, 'r', { treeSize: leaf + 1 })).time),
    )
    assert.not.equal(times, [...times].sort())
    for (const time of times) {
      const { asOf } = await momentOf(test, 'r', { time })
      assert.ok((times[asOf.treeSize - 1] ?? '') <= time)
      assert.ok(asOf.treeSize === treeSize || (times[asOf.treeSize] ?? '') > time)
    }
  },
)

past.run()
