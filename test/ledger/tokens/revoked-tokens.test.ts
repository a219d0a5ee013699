import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RevocationsUnknownError } from '../../../src/ledger/tokens/tokens.ts'
import { type EventStore, type ReadRecord, StoreUnavailableError } from '../../../src/store/event-store.ts'
import { alice, ownCaller, testLedger } from '../../support/test-ledger.ts'

const test = suite('revoked tokens')

const JTI = '0190f0f0-0000-7000-8000-000000000001'
const foreign = ownCaller('other', { actor: 'bob' })

const assertUnknown = (judge: () => unknown): void => {
  assert.throws(judge, (error: unknown) => error instanceof RevocationsUnknownError)
}

const refusalOf = (found: { readonly ok: boolean; readonly refusal?: { readonly code: string } }) => found.refusal?.code

/** The store with another way to read streams. */
function reading(store: EventStore, read: (target: EventStore) => EventStore['readStream']): EventStore {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'readStream') return read(target)
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

function changed(store: EventStore, change: (record: ReadRecord) => readonly ReadRecord[]): EventStore {
  return reading(store, (target) => {
    return async function* (...asked) {
      for await (const page of target.readStream(...asked)) yield page.flatMap(change)
    }
  })
}

test('a token is revoked once, on record, for its own tenant, by a caller of no run and no agent (HTTP-82, A454)', async () => {
  await using t = await testLedger()
  const { tokens } = t.ledger
  assert.is(refusalOf(await tokens.revoke({ ...alice, agent: 'a' }, { token: JTI })), 'agent-mismatch')
  assert.is(refusalOf(await tokens.revoke({ ...alice, run: 'r' }, { token: JTI })), 'run-mismatch')
  const first = await tokens.revoke(alice, { token: JTI, reason: 'it was in a log' })
  assert.ok(first.ok, JSON.stringify(first))
  assert.equal([first.value.token, first.value.revokedBy, first.value.reason], [JTI, 'alice', 'it was in a log'])
  assert.equal(await tokens.revoke({ ...alice, actor: 'carol' }, { token: JTI, reason: 'again' }), first)
  const { known, ...listed } = first.value
  assert.is(known, false)
  assert.equal(await tokens.list(alice), { ok: true, value: { items: [listed], count: 1 } })
  assert.equal(await tokens.list(foreign), { ok: true, value: { items: [], count: 0 } })
  assert.is((await tokens.revocations(foreign.tenant)).isRevoked(JTI, undefined), false)
})

test('the process that revoked a token knows it at once, another one within a second, and without a promise in between (HTTP-84, A452)', async () => {
  await using t = await testLedger()
  await using other = await t.sibling()
  assert.is((await other.tokens.revocations(alice.tenant)).isRevoked(JTI, undefined), false)
  assert.is((await t.ledger.tokens.revocations(alice.tenant)).isRevoked(JTI, undefined), false)
  assert.ok((await t.ledger.tokens.revoke(alice, { token: JTI })).ok)
  const own = t.ledger.tokens.revocations(alice.tenant)
  assert.ok(!(own instanceof Promise) && own.isRevoked(JTI, undefined))
  t.clock.nowMs += 1_000
  assert.ok((await other.tokens.revocations(alice.tenant)).isRevoked(JTI, undefined))
  await using later = await t.sibling()
  assert.ok((await later.tokens.revocations(alice.tenant)).isRevoked(JTI, undefined), 'after a restart')
})

test('a reading that began before a revocation is not what this process goes by afterwards (A452)', async () => {
  await using t = await testLedger()
  const gates: Promise<void>[] = []
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const store = reading(t.store, (target) => {
    return async function* (...asked) {
      const own = gates.shift()
      if (own !== undefined) begun.resolve()
      yield* target.readStream(...asked)
      await own
    }
  })
  await using slow = await testLedger({ store, keys: t.keys.current() })
  assert.ok((await slow.ledger.tokens.revoke(alice, { token: 'before' })).ok)
  slow.clock.nowMs += 1_000
  assert.ok((await t.ledger.tokens.revoke(alice, { token: 'beside' })).ok)
  gates.push(gate.promise)
  const early = slow.ledger.tokens.revocations(alice.tenant)
  await begun.promise
  assert.ok((await slow.ledger.tokens.revoke(alice, { token: JTI })).ok)
  gate.resolve()
  await early
  assert.ok((await slow.ledger.tokens.revocations(alice.tenant)).isRevoked(JTI, undefined))
})

for (const [what, change] of [
  ['gone', () => []],
  ['altered', (record: ReadRecord) => [{ ...record, data: record.data.replace(JTI, JTI.replace('1', '2')) }]],
  [
    'of another type',
    (record: ReadRecord) => [{ ...record, header: record.header.replace('TokenRevoked', 'HoldReleased') }],
  ],
] as const) {
  test(`a revocation whose event is ${what} is not read as none: the list is unknown, and that of others is not (HTTP-84, A453)`, async () => {
    await using t = await testLedger()
    assert.ok((await t.ledger.tokens.revoke(alice, { token: JTI })).ok)
    assert.ok((await t.ledger.holds.place(alice, { tenant: true, reason: 'an event behind it' })).ok)
    const store = changed(t.store, (record) => (record.header.includes('"TokenRevoked"') ? change(record) : [record]))
    await using next = await testLedger({ store, keys: t.keys.current() })
    const revocations = await next.ledger.tokens.revocations(alice.tenant)
    for (const token of [JTI, 'another']) assertUnknown(() => revocations.isRevoked(token, undefined))
    assert.is(refusalOf(await next.ledger.tokens.list(alice)), 'stream-damaged')
    assert.is((await next.ledger.tokens.revocations(foreign.tenant)).isRevoked(JTI, undefined), false)
    await next.ledger.integrity.settled()
    assert.equal(
      next.ledger.losses({ tenant: alice.tenant }).map(({ stream, revision }) => [stream, revision]),
      [[`ledger-${alice.tenant}`, 0]],
    )
  })
}

test('a token that was issued after the lost events were recorded, or were found to be lost at the end, is accepted (HTTP-84, A453)', async () => {
  await using t = await testLedger()
  assert.ok((await t.ledger.tokens.revoke(alice, { token: JTI })).ok)
  const lostMs = t.clock.nowMs
  t.clock.nowMs += 60_000
  assert.ok((await t.ledger.tokens.revoke(alice, { token: 'later' })).ok)
  const without = (token: string): EventStore =>
    changed(t.store, (record) => (record.data.includes(`"${token}"`) ? [] : [record]))
  await using middle = await testLedger({ store: without(JTI), keys: t.keys.current() })
  const followedMs = lostMs + 60_000
  const inMiddle = await middle.ledger.tokens.revocations(alice.tenant)
  for (const issuedMs of [undefined, lostMs, followedMs, followedMs + 30_000])
    assertUnknown(() => inMiddle.isRevoked('new', issuedMs))
  assert.is(inMiddle.isRevoked('new', followedMs + 30_001), false)
  assert.is(inMiddle.isRevoked('later', followedMs + 30_001), true)

  await using end = await testLedger({ store: without('later'), keys: t.keys.current() })
  end.clock.nowMs = followedMs + 3_600_000
  const foundMs = end.clock.nowMs
  await end.ledger.tokens.revocations(alice.tenant)
  end.clock.nowMs += 90_000
  const atEnd = await end.ledger.tokens.revocations(alice.tenant)
  assertUnknown(() => atEnd.isRevoked('new', foundMs + 30_000))
  assert.is(atEnd.isRevoked('new', foundMs + 30_001), false)
  assert.is(atEnd.isRevoked(JTI, foundMs + 30_001), true)
})

test('a store that does not answer leaves the list unknown, and it is read again as soon as it does (A453)', async () => {
  await using t = await testLedger()
  assert.ok((await t.ledger.tokens.revoke(alice, { token: JTI })).ok)
  let isAway = true
  const store = reading(t.store, (target) => (...asked) => {
    if (isAway) throw new StoreUnavailableError('away', 1_000)
    return target.readStream(...asked)
  })
  isAway = false
  await using next = await testLedger({ store, keys: t.keys.current() })
  isAway = true
  const unknown = await Promise.resolve(next.ledger.tokens.revocations(alice.tenant)).catch((error: unknown) => error)
  assert.instance(unknown, RevocationsUnknownError)
  isAway = false
  assert.ok((await next.ledger.tokens.revocations(alice.tenant)).isRevoked(JTI, undefined))
})

test.run()
