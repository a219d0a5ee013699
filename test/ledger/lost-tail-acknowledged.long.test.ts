import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ACKNOWLEDGED_MAX } from '../../schemas/events/loss-acknowledged.ts'
import type { AppendRecord } from '../../schemas/header.ts'
import { ledgerStream, runStream, SYSTEM_TENANT } from '../../schemas/names.ts'
import { realEffects } from '../../src/ledger/effects.ts'
import { sealFact } from '../../src/ledger/identity/append-fact.ts'
import { Sealer } from '../../src/ledger/identity/sealer.ts'
import { LogStartError } from '../../src/ledger/log/log-deps.ts'
import { expectedNext } from '../../src/ledger/read/verified-events.ts'
import { isHeldPlace } from '../../src/signing/held-place.ts'
import { readOne } from '../../src/store/event-store.ts'
import { acknowledge, isOfAll, listed, reason, withLater } from '../support/acknowledging.ts'
import { isLossy, type LossyPlace, lossyPlace, openedOn, rowOn, verdictOn } from '../support/lossy-place.ts'
import { alice, codes, startedCode, withoutLog } from '../support/lossy-site.ts'
import type { MediumRow } from '../support/lossy-store.ts'
import type { TestLogs } from '../support/test-logs.ts'

const test = suite('an end of the store that is lost for good')

const onStore = isLossy() ? test : test.skip
const bob = { tenant: 'beta', actor: 'bob' }
const system = { tenant: SYSTEM_TENANT, actor: 'local' }

/** Checkpoints cover everything, those of the ledger itself included; `early` is the number of events when the copy was made. */
async function place(): Promise<{
  readonly at: LossyPlace
  readonly before: readonly MediumRow[]
  readonly early: number
}> {
  const at = await lossyPlace()
  let early = 0
  {
    await using ledger = await openedOn(at)
    await ledger.fill('acme', 'one', 2)
    await ledger.fill('beta', 'far', 1)
    await ledger.logs.publish()
    early = (await at.lossy.rows()).length
    await ledger.fill('acme', 'one-more', 1)
    await ledger.fill('beta', 'far-more', 1)
    await ledger.ledger.execute(
      alice,
      'one',
      { kind: 'envelope', body: { agent: 'a', payload: { n: 9 } } } as never,
      {},
    )
    await ledger.logs.publish()
  }
  return { at, before: await at.lossy.rows(), early }
}

/** As `losses acknowledge --all` does; returns the places. */
async function acknowledgeAll(ledger: TestLogs, admin: { tenant: string; actor: string }): Promise<readonly string[]> {
  const done: string[] = []
  for (;;) {
    const found = await ledger.ledger.lostEvents.list(admin)
    const open = found.ok ? found.value.items.filter(({ state, stream }) => state === 'open' && stream) : []
    const next = open.find(({ stream }) => stream === ledgerStream(admin.tenant)) ?? open[0]
    if (next?.stream === undefined || next.revision === undefined) return done
    const { stream, revision } = next
    const answer = await ledger.ledger.lostEvents.acknowledge(admin, { stream, revision, reason })
    if (!answer.ok) throw new Error(`${stream} @ ${revision}: ${answer.refusal.detail}`)
    done.push(`${stream} @ ${revision}`)
  }
}

const startError = async (at: LossyPlace): Promise<string> => {
  try {
    await using _ = await openedOn(at)
    return 'started'
  } catch (error) {
    if (!(error instanceof LogStartError)) throw error
    assert.match(error.message, /losses acknowledge --all --tenant/)
    return error.code
  }
}

/** Events; not what holds the places of lost ones. */
const events = async ({ lossy }: LossyPlace): Promise<readonly MediumRow[]> =>
  (await lossy.rows()).filter((row) => !isHeldPlace(row))

onStore(
  'an older copy is all that is left, and log.db and the checkpoints know more: acknowledged, every log goes on with its tree, and no revision is given twice (LOG-73 to LOG-75)',
  async () => {
    const { at, before, early } = await place()
    await using _ = at
    await at.lossy.rollBack(before.length - early)
    assert.is(await startError(at), 'store-behind-checkpoint')
    const left = await at.lossy.rows()
    {
      await using ledger = await openedOn(at, { acknowledges: true })
      assert.equal(codes(ledger.logs.losses('acme')), ['tenant missing'])
      assert.is(await startedCode(ledger, 'acme'), 'log-stopped')
      assert.is(await acknowledge(ledger, runStream('acme', 'one'), 5), 'loss-unknown', 'the own stream comes first')
      assert.equal(
        (await at.lossy.rows()).filter(({ stream }) => stream === ledgerStream('acme')).length,
        left.filter(({ stream }) => stream === ledgerStream('acme')).length,
      )
      const done = await acknowledgeAll(ledger, alice)
      assert.ok(done[0]?.startsWith(ledgerStream('acme')) && done.includes(`${runStream('acme', 'one')} @ 5`))
      assert.is(await startedCode(ledger, 'beta'), 'log-stopped')
    }
    assert.is(await startError(at), 'store-behind-checkpoint', 'the other logs')
    {
      await using ledger = await openedOn(at, { acknowledges: true })
      await acknowledgeAll(ledger, bob)
      await acknowledgeAll(ledger, system)
    }
    const later = async (ledger: TestLogs): Promise<void> => {
      await ledger.logs.publish()
      assert.equal([...new Set(codes(ledger.logs.losses('acme')))], ['run acknowledged'])
      isOfAll(
        ledger,
        withLater(before, await events(at), ({ header }) => header),
      )
    }
    {
      await using ledger = await openedOn(at)
      assert.equal(ledger.ledger.stats().stoppedLogs, [])
      for (const tenant of ['acme', 'beta']) assert.is(await startedCode(ledger, tenant), 'started')
      await later(ledger)
      const body = { agent: 'a', payload: {} }
      const written = await ledger.ledger.execute(alice, 'one', { kind: 'envelope', body } as never, {})
      assert.is(written.ok ? 'written' : written.refusal.code, 'stream-damaged')
    }
    const { verdict, faults } = await verdictOn(at)
    assert.is(verdict, 'INCOMPLETE')
    const lost = before.slice(early).map(({ stream, revision }) => `loss-acknowledged ${stream} @ ${revision}`)
    assert.equal([...faults].sort(), [...lost].sort())
    withoutLog(at)
    await using ledger = await openedOn(at)
    await ledger.fill('acme', 'later', 1)
    await later(ledger)
  },
)

/** Facts of `acme` behind what its stream of acknowledgements has, in one append. */
async function manyFacts({ store, keys }: TestLogs, count: number): Promise<void> {
  const sealer = new Sealer({ current: () => keys, onChange: () => () => undefined })
  const stream = ledgerStream('acme')
  const head = await store.head(stream)
  const last = await readOne(store, { stream, revision: head })
  if (last === undefined) throw new Error('no event')
  let at = expectedNext(sealer, last)
  const records: AppendRecord[] = []
  for (let fact = 0; fact < count; fact += 1) {
    const data = { v: 1, token: `t${fact}` }
    const draft = { tenant: 'acme', type: 'TokenRevoked', data, at }
    const { append, next } = sealFact({ sealer, effects: realEffects() }, draft)
    records.push(...append.records)
    at = next
  }
  const { kind } = await store.append({ stream, expectedRevision: head, records })
  assert.is(kind, 'appended')
}

onStore(
  'the stream of acknowledgements has lost more events than one acknowledgement names: they are acknowledged at once (LOG-74)',
  async () => {
    await using at = await lossyPlace()
    let early = 0
    {
      await using ledger = await openedOn(at)
      await ledger.fill('acme', 'one', 1)
      await ledger.logs.publish()
      early = (await at.lossy.rows()).length
      await manyFacts(ledger, ACKNOWLEDGED_MAX + 10)
      await ledger.logs.publish()
    }
    const before = await at.lossy.rows()
    await at.lossy.rollBack(before.length - early)
    {
      await using ledger = await openedOn(at, { acknowledges: true })
      assert.is((await acknowledgeAll(ledger, alice)).length, 1)
      await acknowledgeAll(ledger, system)
      const acknowledged = (await listed(ledger)).filter((item) => item.startsWith('acknowledged'))
      assert.is(acknowledged.length, 2)
    }
    const own = (await at.lossy.rows()).filter(({ stream }) => stream === ledgerStream('acme'))
    assert.equal(
      own.map(({ revision }) => revision),
      [...own.keys()],
    )
    {
      await using ledger = await openedOn(at)
      assert.is(await startedCode(ledger, 'acme'), 'started')
      await ledger.logs.publish()
      isOfAll(
        ledger,
        withLater(before, await events(at), ({ header }) => header),
      )
    }
    const { verdict, faults } = await verdictOn(at)
    assert.is(verdict, 'INCOMPLETE')
    const lost = before.slice(early).map(({ stream, revision }) => `loss-acknowledged ${stream} @ ${revision}`)
    assert.equal([...faults].sort(), [...lost].sort())
  },
)

onStore(
  'the end of the stream of acknowledgements is damaged or gone under a ledger: it is acknowledged first, others behind it (LOG-74)',
  async () => {
    for (const how of ['gone', 'damaged']) {
      const { at, before } = await place()
      await using _ = at
      const own = before.filter(({ stream }) => stream === ledgerStream('acme')).at(-1)
      const other = await rowOn(at, runStream('acme', 'one'), 1)
      if (own === undefined) throw new Error('no event')
      await using ledger = await openedOn(at)
      if (how === 'gone') await at.lossy.remove(own)
      else await at.lossy.alter(own, { data: '{"v":1}' })
      await at.lossy.alter(other, { data: '{"v":1}' })
      assert.is(await acknowledge(ledger, other.stream, 1), 'loss-unknown', how)
      for (const { stream, revision } of [own, other]) {
        const answer = await acknowledge(ledger, stream, revision)
        assert.is(typeof answer === 'string' ? answer : answer.status, 'acknowledged', `${how}: ${stream}`)
      }
      const rows = (await at.lossy.rows()).filter(({ stream }) => stream === own.stream)
      assert.equal(
        rows.map(({ revision }) => revision),
        [...rows.keys()],
        how,
      )
      await ledger.logs.publish()
      isOfAll(
        ledger,
        withLater(before, await events(at), ({ header }) => header),
      )
      const acknowledged = (await listed(ledger)).filter((item) => item.startsWith('acknowledged'))
      assert.is(acknowledged.length, 2, how)
    }
  },
)

onStore(
  'a part of a lost end is put back: what the log knows of the rest is kept, and whole again it goes on (LOG-76)',
  async () => {
    await using at = await lossyPlace()
    {
      await using ledger = await openedOn(at)
      await ledger.fill('acme', 'one', 2)
      await ledger.logs.publish()
      await ledger.fill('acme', 'two', 1)
      await ledger.logs.catchUp()
    }
    const two = runStream('acme', 'two')
    const [first, ...others] = (await at.lossy.rows()).filter(({ stream }) => stream === two)
    if (first === undefined) throw new Error('no event')
    for (const row of [first, ...others]) await at.lossy.remove(row)
    {
      await using ledger = await openedOn(at)
      assert.equal(codes(ledger.logs.losses('acme')), ['tenant missing'])
      assert.ok((await listed(ledger)).includes(`open ${two} @ 0`))
    }
    await at.lossy.putBack(first)
    {
      await using ledger = await openedOn(at)
      await ledger.logs.publish()
      const losses = ledger.logs.losses('acme').map(({ stream, revision }) => `${stream} @ ${revision}`)
      assert.equal(losses, [`${two} @ 1`])
      assert.is(await startedCode(ledger, 'acme'), 'log-stopped')
    }
    for (const row of others) await at.lossy.putBack(row)
    {
      await using ledger = await openedOn(at)
      await ledger.logs.publish()
      assert.equal(ledger.logs.losses('acme'), [])
      assert.is(await startedCode(ledger, 'acme'), 'started')
    }
    assert.is((await verdictOn(at)).verdict, 'VERIFIED')
  },
)

test.run()
