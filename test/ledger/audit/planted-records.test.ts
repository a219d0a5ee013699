import { randomUUID } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { runStream } from '../../../schemas/names.ts'
import { FORMATS } from '../../../src/export/formats.ts'
import { checkedEvent } from '../../../src/ledger/read/parse-record.ts'
import { openMemoryStore } from '../../../src/store/memory/memory-store.ts'
import { openSqliteAudit } from '../../../src/store/sqlite/sqlite-audit.ts'
import { auditOfStore } from '../../support/audit-of-store.ts'
import { record } from '../../support/records.ts'
import { drive } from '../../support/run-driver.ts'
import { alice, testLedger } from '../../support/test-ledger.ts'

const test = suite('audit: records that somebody else wrote to the store')

const DEPTH = 200_000
const DEEP = `{"v":1,"args":${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}}`
const TIME = '2026-01-31T12:00:00.000Z'

interface Planted {
  readonly type: string
  /** Members of the header that differ from a plausible one; undefined: none. */
  readonly header?: Readonly<Record<string, unknown>>
  readonly data: string | JsonObject
}

const usage = (body: JsonObject): Planted => ({ type: 'UsageRecorded', data: { v: 1, agent: 'a', ...body } })

const PLANTED: Readonly<Record<string, Planted>> = {
  'a header without a time': { type: 'RunCompleted', header: { time: undefined }, data: { v: 1 } },
  'a time that is an object': { type: 'RunCompleted', header: { time: {} }, data: { v: 1 } },
  'a key id that is a list': { type: 'RunCompleted', header: { kid: ['x'] }, data: { v: 1 } },
  'an id that is null, an actor that is a number': {
    type: 'RunFailed',
    header: { id: null, actor: 7 },
    data: { v: 1 },
  },
  'a delegation that is a number, a trace that is an object': {
    type: 'RunCompleted',
    header: { via: 7, traceparent: {}, request: null },
    data: { v: 1 },
  },
  'a clock that is true': { type: 'RunCompleted', header: { clock: true, principal: {} }, data: { v: 1 } },
  'a start whose name and tags are objects': {
    type: 'RunStarted',
    data: { v: 2, name: {}, tags: { a: 1 }, budget: [] },
  },
  'a resume whose fence is a list and whose hold is a text': {
    type: 'RunResumed',
    data: { v: 1, fence: [1], holdMs: 'long', version: {} },
  },
  'a leaving whose reason and times are objects': {
    type: 'RunLeft',
    data: { v: 1, fence: 1, because: {}, error: 'x', attempts: {}, since: {}, until: {} },
  },
  'a wait that fits its schema, until a time that is none': {
    type: 'WaitStarted',
    data: { v: 1, waitId: randomUUID(), key: `sha256:${'0'.repeat(64)}`, until: 'zzz' },
  },
  'an agent that is an object': usage({ agent: { toString: 'x' }, usage: { tokens: 1 } }),
  'tokens that are a text': usage({ usage: { tokens: 'many', cost: '1' } }),
  'tokens beyond every integer': usage({ usage: { tokens: 1e300, cost: '1', currency: 'EUR' } }),
  'money that is none': usage({ usage: { tokens: 1, cost: 'free', currency: ['EUR'] } }),
  'more money than there is': usage({ usage: { tokens: 1, cost: '9'.repeat(60), currency: 'EUR' } }),
  'a model that is an object': usage({ usage: { tokens: 1, cost: '1', currency: 'EUR', model: {}, provider: 3 } }),
  'a reservation by an agent that is null': {
    type: 'BudgetReserved',
    data: { v: 1, reservationId: randomUUID(), agent: null, tokens: {}, cost: [] },
  },
  'a body that is too deep to be walked': { type: 'ToolCallClaimed', data: DEEP },
  'a body that is a list': { type: 'EnvelopeAccepted', data: '[]' },
}

for (const [what, { type, header, data }] of Object.entries(PLANTED)) {
  test(`${what} keeps neither list, index nor export of any tenant from going on (A192)`, async () => {
    await using store = openMemoryStore()
    using index = openSqliteAudit({ path: ':memory:' })
    const ledger = await testLedger({ store })
    const bob = { ...alice, tenant: 'globex' }
    await drive(ledger, 'r').start()
    await ledger.ledger.listRuns(alice, { limit: 10 })
    const stream = runStream(alice.tenant, 'r')
    const plausible = { v: 1, id: randomUUID(), stream, revision: 1, type, time: TIME, tenant: alice.tenant }
    const sealed = { actor: 'a', dataDigest: `sha256:${'0'.repeat(64)}`, kid: 'k1', mac: 'x' }
    const planted = {
      ...record({ type, data: typeof data === 'string' ? data : JSON.stringify(data) }),
      header: JSON.stringify({ ...plausible, ...sealed, ...header }),
    }
    const appended = await store.append({ stream, expectedRevision: 0, records: [planted] })
    assert.is(appended.kind, 'appended')
    await drive(ledger, 'later', bob).start()
    await drive(ledger, 'other').start()

    const mine = await ledger.ledger.listRuns(alice, { limit: 10 })
    assert.equal(mine.items.map(({ runId }) => runId).toSorted(), ['other', 'r'])
    const theirs = await ledger.ledger.listRuns(bob, { limit: 10 })
    assert.equal(
      theirs.items.map(({ runId }) => runId),
      ['later'],
    )
    const answer = await auditOfStore({ store, index }).ask(alice, { name: 'events', filter: {} }, { limit: 50 })
    if (!answer.ok) throw new Error(answer.detail)
    assert.equal(
      answer.items.map(({ run, revision }) => `${run}@${revision}`),
      ['r@0', 'r@1', 'other@0'],
    )
    const event = checkedEvent({ stream, revision: 1, position: '1', ...planted }, { seal: 'invalid' })
    const scope = { ledgerId: 'l', tenant: alice.tenant, leafIndex: () => 1 }
    for (const format of Object.values(FORMATS)) {
      const writer = format.open(scope)
      assert.type(writer.event(event) + writer.rest(), 'string')
    }
  })
}

test('a run that names itself as the run around it keeps no list from going on, and a time that is none lets nobody ask for due runs without a pause (A192)', async () => {
  await using store = openMemoryStore()
  const ledger = await testLedger({ store })
  await drive(ledger, 'r').start()
  const stream = runStream(alice.tenant, 'self')
  const childOf = { run: 'self', callId: randomUUID(), depth: 1 }
  const planted = plant(stream, [
    ['RunStarted', { v: 1, name: 'planted', tags: [], policy: {}, childOf }],
    ['WaitStarted', { v: 1, waitId: randomUUID(), until: TIME }],
  ])
  assert.is((await store.append({ stream, expectedRevision: -1, records: planted })).kind, 'appended')
  const never = runStream(alice.tenant, 'never')
  const start = plant(never, [['RunStarted', { v: 1, name: 'planted', tags: [], policy: {}, after: 'zzz' }]])
  assert.is((await store.append({ stream: never, expectedRevision: -1, records: start })).kind, 'appended')
  const { items } = await ledger.ledger.listRuns(alice, { limit: 10 })
  assert.equal(items.map(({ runId }) => runId).toSorted(), ['never', 'r', 'self'])
  const wait = { waitMs: 0, signal: new AbortController().signal }
  const due = await ledger.ledger.dueRuns(alice, { names: ['planted'], limit: 10 }, wait)
  assert.equal(due.items, [])
  assert.ok(Number(due.nextMs) > 0, 'a wait for it ends')
})

function plant(stream: string, bodies: readonly (readonly [type: string, data: JsonObject])[]) {
  return bodies.map(([type, data], revision) => ({
    ...record({ type, data: JSON.stringify(data) }),
    header: JSON.stringify({
      ...{ v: 1, id: randomUUID(), stream, revision, type, time: TIME, tenant: alice.tenant, actor: 'a' },
      ...{ dataDigest: `sha256:${'0'.repeat(64)}`, kid: 'k1', mac: 'x' },
    }),
  }))
}

test.run()
