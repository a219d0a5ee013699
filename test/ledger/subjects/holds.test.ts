import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { HoldAnswer } from '../../../schemas/answers/holds.ts'
import type { PlaceHold } from '../../../schemas/hold.ts'
import { ledgerStream, runStream } from '../../../schemas/names.ts'
import type { RetentionClass } from '../../../schemas/retention.ts'
import type { Refusal } from '../../../src/domain/refusal.ts'
import { Sealer } from '../../../src/ledger/identity/sealer.ts'
import type { Caller, Ledger } from '../../../src/ledger/ledger.ts'
import { DamagedStreamError } from '../../../src/ledger/read/verified-events.ts'
import { HoldRecords } from '../../../src/ledger/subjects/hold-records.ts'
import type { EventStore, ReadRecord } from '../../../src/store/event-store.ts'
import { openSqliteSubjects } from '../../../src/store/sqlite/sqlite-subjects.ts'
import type { SubjectStore } from '../../../src/store/subject-store.ts'
import { collect } from '../../support/records.ts'
import { alice, ownCaller, type TestLedger, testLedger } from '../../support/test-ledger.ts'
import { openTestStore } from '../../support/test-store.ts'
import { wrapStore } from '../../support/wrap-store.ts'

const test = suite('legal holds')

const NAME = 'Zephyrine Quackenbush'
const REQUEST = { reason: 'asked by letter', basis: 'GDPR 17(1)(b)' }
const CLAIM = { reason: 'a claim is pending' }
const POLICY = { redaction: [{ name: 'person', at: ['/input/name'], keep: { subject: '/id' } }] }
const counsel: Caller = ownCaller('acme', { actor: 'portal', principal: 'counsel' })

async function recorded(t: TestLedger, run: string, subject: string, isEnded = true): Promise<void> {
  const body = { id: run, name: 'r', input: { name: NAME, id: subject }, policy: POLICY }
  assert.ok((await t.run(run, { kind: 'start', body })).ok)
  if (isEnded) assert.ok((await t.run(run, { kind: 'complete', body: {} })).ok)
}

async function placed(ledger: Ledger, what: Omit<PlaceHold, 'reason'>): Promise<HoldAnswer> {
  const found = await ledger.holds.place(counsel, { ...what, ...CLAIM })
  assert.ok(found.ok, JSON.stringify(found))
  return found.value
}

/** `erased`, `waiting`, `nothing`, or the code of the refusal and the hold that it names. */
async function erasing(ledger: Ledger, subject: string): Promise<readonly unknown[]> {
  const found = await ledger.subjects.erase(alice, subject, REQUEST)
  return found.ok ? [found.value.status] : [found.refusal.code, found.refusal.evidence?.hold]
}

const refusalOf = (found: { readonly ok: boolean; readonly refusal?: { readonly code: string } }) => found.refusal?.code

async function typesOf(t: TestLedger): Promise<string[]> {
  const records = await collect(t.store.readStream(ledgerStream(alice.tenant)))
  return records.map(({ header }) => JSON.parse(header).type).filter((type) => /^(Hold|Erasure|Subject)/.test(type))
}

for (const [what, target] of [
  ['its run', { run: 'one' }],
  ['the subject', { subject: 's' }],
  ['the tenant', { tenant: true }],
] as const) {
  test(`nothing of a subject is erased while a hold covers ${what}, and the refusal names the hold (LIFE-20, LIFE-21)`, async () => {
    const subjects = openSqliteSubjects(':memory:')
    await using t = await testLedger({ subjects })
    await recorded(t, 'one', 's')
    await recorded(t, 'two', 's')
    await recorded(t, 'three', 'other')
    const { hold, ...rest } = await placed(t.ledger, target)
    assert.equal([rest.state, rest.placedBy, rest.reason], ['active', 'counsel', CLAIM.reason])
    assert.equal(await erasing(t.ledger, 's'), ['held', hold])
    assert.equal(await erasing(t.ledger, 'other'), what === 'the tenant' ? ['held', hold] : ['erased'])
    assert.ok(subjects.keysOf(alice.tenant, 's').every(({ wrapped, state }) => wrapped !== null && state === 'open'))
    const records = await collect(t.store.readStream(ledgerStream(alice.tenant)))
    assert.not.ok(JSON.stringify(records).includes('"s"'), 'the record names keys, never the subject')

    const ended = await t.ledger.holds.release(counsel, hold, { reason: 'settled' })
    assert.equal(ended.ok && [ended.value.state, ended.value.releaseReason], ['released', 'settled'])
    assert.equal(await erasing(t.ledger, 's'), ['erased'])
  })
}

test('nothing of a subject is erased before the term of a class of retention that keeps one of its runs (LIFE-59)', async () => {
  const keep = { atLeast: 10, atMost: 20 }
  let classes: readonly RetentionClass[] = [{ class: 'ten-days', match: { name: 'r' }, keep, action: 'archive' }]
  await using t = await testLedger({ retention: () => classes })
  await recorded(t, 'one', 's')
  const early = await t.ledger.subjects.erase(alice, 's', REQUEST)
  const { code, evidence }: Partial<Refusal> = early.ok ? {} : early.refusal
  assert.equal([code, evidence?.class, evidence?.run], ['retention-floor', 'ten-days', 'one'])
  assert.equal(await typesOf(t), [])
  const until = Date.parse(String(evidence?.until))
  t.clock.nowMs = until - 1
  assert.is((await erasing(t.ledger, 's'))[0], 'retention-floor')
  classes = [{ class: 'other', match: { name: 'other' }, keep, action: 'archive' }]
  assert.equal(await erasing(t.ledger, 's'), ['erased'], 'no class keeps the run any more')

  classes = [{ class: 'ten-days', keep, action: 'archive' }]
  await recorded(t, 'two', 'later')
  t.clock.nowMs += 10 * 86_400_000
  assert.equal(await erasing(t.ledger, 'later'), ['erased'], 'the term is over')
})

test('a run that is not listed, as its beginning cannot be read, is kept as long as the longest class that may be its own (LIFE-59)', async () => {
  const inner = await openTestStore()
  const stream = runStream(alice.tenant, 'one')
  const readAll: EventStore['readAll'] = async function* (options) {
    for await (const page of inner.readAll(options))
      yield page.map((record) => ({ ...record, ...(record.stream === stream && { data: '{' }) }))
  }
  const classes: readonly RetentionClass[] = [
    { class: 'one-day', match: { name: 'r' }, keep: { atLeast: 1, atMost: 20 }, action: 'archive' },
    { class: 'elsewhere', tenant: 'other', keep: { atLeast: 15, atMost: 20 }, action: 'archive' },
    { class: 'ten-days', match: { name: 'x' }, keep: { atLeast: 10, atMost: 20 }, action: 'archive' },
  ]
  await using t = await testLedger({ store: wrapStore(inner, { readAll }), retention: () => classes })
  await recorded(t, 'one', 's')
  const early = await t.ledger.subjects.erase(alice, 's', REQUEST)
  const { code, evidence }: Partial<Refusal> = early.ok ? {} : early.refusal
  assert.equal([code, evidence?.class, evidence?.run], ['retention-floor', 'ten-days', 'one'])
  t.clock.nowMs = Date.parse(String(evidence?.until))
  assert.equal(await erasing(t.ledger, 's'), ['erased'])
})

const undying = (store: SubjectStore): SubjectStore =>
  new Proxy(store, {
    get: (target, name) => {
      if (name === Symbol.dispose) return () => undefined
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })

test('an erasure that waited for an open run does not go on under a hold that came meanwhile, at the next start neither (LIFE-21)', async () => {
  using subjects = openSqliteSubjects(':memory:')
  await using t = await testLedger({ subjects: undying(subjects) })
  await recorded(t, 'r', 's', false)
  assert.equal(await erasing(t.ledger, 's'), ['waiting'])
  const { hold } = await placed(t.ledger, { run: 'r' })
  assert.ok((await t.run('r', { kind: 'complete', body: {} })).ok)
  const there = () => subjects.keysOf(alice.tenant, 's').length
  const next = await t.sibling()
  assert.is(there(), 1)
  assert.equal(await erasing(next, 's'), ['held', hold])
  assert.ok((await next.holds.release(counsel, hold, { reason: 'settled' })).ok)
  await next[Symbol.asyncDispose]()
  await using _last = await t.sibling()
  assert.is(there(), 0, 'the start after the release has gone on')
})

test('a hold and an erasure at the same time: what is held is there (LIFE-21)', async () => {
  await using t = await testLedger()
  for (let round = 0; round < 10; round += 1) {
    const [run, subject] = [`r${round}`, `s${round}`]
    await recorded(t, run, subject)
    const [hold, first] = [() => placed(t.ledger, { run }), () => erasing(t.ledger, subject)]
    const isHoldFirst = round % 2 === 0
    await Promise.all(isHoldFirst ? [hold(), first()] : [first(), hold()])
    const left = await t.ledger.subjects.places(alice, subject)
    const last = (await typesOf(t)).filter((type) => type === 'HoldPlaced' || type === 'SubjectErased').at(-1)
    assert.ok(left.ok)
    assert.is(left.value.keys.length, isHoldFirst ? 1 : 0)
    assert.is(last, 'HoldPlaced', 'no key is destroyed behind a hold on it')
  }
})

/** The store as it would be after somebody changed its rows. */
function changed(store: EventStore, change: (record: ReadRecord) => readonly ReadRecord[]): EventStore {
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (name !== 'readStream') return member.bind(target)
      return async function* (...asked: Parameters<EventStore['readStream']>) {
        for await (const page of target.readStream(...asked)) yield page.flatMap(change)
      }
    },
  })
}

for (const [what, change] of [
  ['gone', () => []],
  ['altered', (record: ReadRecord) => [{ ...record, data: record.data.replace('"r"', '"q"') }]],
  [
    'of another type',
    (record: ReadRecord) => [{ ...record, header: record.header.replace('HoldPlaced', 'ServiceStopped') }],
  ],
] as const) {
  test(`a hold whose event is ${what} is not read as no hold: nothing is erased (LIFE-23)`, async () => {
    using subjects = openSqliteSubjects(':memory:')
    await using t = await testLedger({ subjects: undying(subjects) })
    await recorded(t, 'r', 's')
    await placed(t.ledger, { run: 'r' })
    await recorded(t, 'later', 'other')
    assert.equal(await erasing(t.ledger, 'other'), ['erased'], 'an event behind the hold')
    const store = changed(t.store, (record) => (record.header.includes('"HoldPlaced"') ? change(record) : [record]))
    await using next = await testLedger({ store, keys: t.keys.current(), subjects: undying(subjects) })
    assert.equal(await erasing(next.ledger, 's'), ['stream-damaged', undefined])
    assert.is(refusalOf(await next.ledger.holds.list(counsel)), 'stream-damaged')
    assert.is(subjects.keysOf(alice.tenant, 's').length, 1)
  })
}

test('an event that the log sees before the reader of holds does is not a lost one; one that stays away is (LIFE-23)', async () => {
  await using t = await testLedger()
  await placed(t.ledger, { tenant: true })
  const head = await t.store.head(ledgerStream(alice.tenant))
  const heads = [head - 1, head]
  const store = { head: async () => heads.shift() ?? head, readStream: t.store.readStream.bind(t.store) }
  const sealer = new Sealer(t.keys)
  const known = { events: head + 1 }
  const records = new HoldRecords({ store, sealer, acknowledged: undefined, knownHead: () => known })
  await records.of(alice.tenant)
  assert.is((await records.of(alice.tenant)).size, 1)
  known.events = head + 2
  const error = await records.of(alice.tenant).catch((reason: unknown) => reason)
  assert.instance(error, DamagedStreamError)
})

test('a hold is of a run or a subject that is there, and is released once, by a token of no run and no agent (LIFE-20, LIFE-22)', async () => {
  await using t = await testLedger()
  await recorded(t, 'r', 's')
  const { holds } = t.ledger
  assert.is(refusalOf(await holds.place(counsel, { run: 'none', ...CLAIM })), 'run-not-found')
  assert.is(refusalOf(await holds.place(counsel, { subject: 'none', ...CLAIM })), 'subject-unknown')
  assert.is(refusalOf(await holds.place({ ...counsel, agent: 'a' }, { run: 'r', ...CLAIM })), 'agent-mismatch')
  assert.not((await holds.place({ ...counsel, run: 'r' }, { run: 'r', ...CLAIM })).ok)
  const none = await holds.release(counsel, '0190f0f0-0000-7000-8000-000000000000', { reason: 'settled' })
  assert.is(refusalOf(none), 'hold-not-found')
  const { hold } = await placed(t.ledger, { run: 'r' })
  const [first, again] = [
    await holds.release(counsel, hold, { reason: 'settled' }),
    await holds.release(counsel, hold, { reason: 'twice' }),
  ]
  assert.equal(again, first)
  const foreign = { tenant: 'other', actor: 'bob' }
  assert.is(refusalOf(await holds.release(foreign, hold, { reason: 'settled' })), 'hold-not-found')
  assert.equal(await holds.list(foreign), { ok: true, value: { items: [] } })
  assert.equal(await typesOf(t), ['HoldPlaced', 'HoldReleased'])
})

test('a ledger that keeps nothing encrypted holds runs and tenants all the same (LIFE-20)', async () => {
  await using t = await testLedger({ subjects: 'none' })
  assert.ok((await t.run('r', { kind: 'start', body: { id: 'r', name: 'r' } })).ok)
  await placed(t.ledger, { run: 'r' })
  const { hold } = await placed(t.ledger, { tenant: true })
  const listed = await t.ledger.holds.list(alice)
  assert.equal(listed.ok && [listed.value.items.length, listed.value.items[0]?.hold], [2, hold])
  assert.is(refusalOf(await t.ledger.holds.place(counsel, { subject: 's', ...CLAIM })), 'keep-unavailable')
})

test.run()
