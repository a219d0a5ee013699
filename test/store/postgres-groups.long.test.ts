import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import pg from 'pg'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Append, type AppendResult, NO_STREAM } from '../../src/store/event-store.ts'
import { readConnectionUrl } from '../../src/store/postgres/connection-url.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { anyCharacter } from '../support/any-character.ts'
import { cuttingProxy } from '../support/cutting-proxy.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { appendOf, collect, headerId, idsOf, record } from '../support/records.ts'
import { eventually } from '../support/within.ts'

const test = suite('postgres: groups of appends')

/** What an array's textual form has to escape, among everything else; PostgreSQL stores no U+0000. */
const anyText = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 40 }).map((text) => text.replaceAll('\0', '')),
  fc.constantFrom('', 'NULL', '{}', '{"a":"\\"\\\\"}', '{a,b}', '\\x00', "'", '\u{1f600}\u2028'),
)

/** A server answers with an error before it lets go of what the transaction held: readings wait for that, however busy the machine is. */
const PATIENT = { writersMs: 60_000 }

async function client(url: string): Promise<pg.Client & AsyncDisposable> {
  const made = new pg.Client(readConnectionUrl(url).config)
  made.on('error', () => undefined)
  await made.connect()
  return Object.assign(made, { [Symbol.asyncDispose]: async () => await made.end() })
}

/** As a process of the version before appends. */
async function appendEarlier(by: pg.Client, url: string, stream: string, revision: number): Promise<unknown> {
  const { rows } = await by.query(
    `SELECT outcome FROM ${readConnectionUrl(url).schema}.append_events($1::text[], $2::bigint[], $3::integer[], $4::integer[], $5::text[], $6::bytea[], $7::text[], $8::text[])`,
    [[stream], [revision], [1], [0], [`{"id":"earlier-${revision}"}`], [Buffer.alloc(16)], ['{}'], [null]],
  )
  return rows[0]?.outcome
}

/** Groups of the store that the server is at work on. */
const GROUPS = `FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%append_group%' AND query LIKE $1`

async function underWay(url: string, groups: number): Promise<void> {
  await using observer = await client(url)
  await eventually(async () => {
    const { rows } = await observer.query(`SELECT pid ${GROUPS}`, [`% ${readConnectionUrl(url).schema}.%`])
    return rows.length === groups ? true : undefined
  }, 'groups under way')
}

async function endWriters(url: string): Promise<void> {
  await using observer = await client(url)
  await observer.query(`SELECT pg_terminate_backend(pid) ${GROUPS}`, [`% ${readConnectionUrl(url).schema}.%`])
}

test('whatever characters and bytes an event holds, they are stored and read as they are (F174)', async () => {
  await using store = await openPostgresStore({ url: await newPostgresUrl() })
  let runs = 0
  const texts = fc.record({ header: anyText, data: anyText, requestId: fc.option(anyText, { nil: undefined }) })
  const rows = fc.uniqueArray(texts, { minLength: 1, maxLength: 6, selector: ({ requestId }) => requestId ?? {} })
  const salts = fc.uint8Array({ maxLength: 20 })
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(rows, salts), { minLength: 1, maxLength: 5 }), async (group) => {
      const appends = group.map(([each, salt]): Append => {
        runs += 1
        const records = each.map(({ requestId, header, data }) => {
          const made = record()
          // A header holds the id of its event, whatever else is in it.
          const own = { ...made, header: header + made.id, data, salt }
          return requestId === undefined ? own : { ...own, requestId }
        })
        return { stream: `run-acme.r${runs}`, expectedRevision: NO_STREAM, records }
      })
      const results = await Promise.all(appends.map((append) => store.append(append)))
      assert.equal([...new Set(results.map(({ kind }) => kind))], ['appended'])
      for (const { stream, records } of appends) {
        const read = await collect(store.readStream(stream))
        assert.equal(
          read.map(({ header, salt, data, requestId }) => ({ header, salt, data, requestId })),
          records.map(({ header, salt, data, requestId }) => ({ header, salt, data, requestId })),
        )
      }
    }),
    { numRuns: 60 },
  )
})

test('of a group, what does not fit is refused by name and everything else is written, at the positions that were answered (F175)', async () => {
  await using store = await openPostgresStore({ url: await newPostgresUrl() })
  const known = (stream: string, expectedRevision: number): Append => ({
    stream,
    expectedRevision,
    records: [record(), record({ requestId: 'known' })],
  })
  for (const run of ['run-acme.b', 'run-acme.d', 'run-acme.e']) await store.append(known(run, NO_STREAM))
  // Neither in the order of their streams, nor as long as each other; what conflicts holds a known request as well.
  const group = [
    appendOf('run-acme.f', NO_STREAM, 3),
    known('run-acme.e', 0),
    appendOf('run-acme.c', NO_STREAM, 2),
    known('run-acme.b', 1),
    appendOf('run-acme.d', 1, 4),
    appendOf('run-acme.a', 5),
  ]
  const results = await Promise.all(group.map((append) => store.append(append)))
  const [first, conflict, second, duplicate, third, early] = results
  assert.equal(conflict, { kind: 'conflict', actual: 1 })
  assert.equal(duplicate, { kind: 'duplicate-request', requestId: 'known', revision: 1 })
  assert.equal(early, { kind: 'conflict', actual: NO_STREAM })
  for (const [result, append] of [
    [first, group[0]],
    [second, group[2]],
    [third, group[4]],
  ] as const) {
    assert.ok(result?.kind === 'appended' && append !== undefined)
    const read = await collect(store.readStream(append.stream, { from: append.expectedRevision + 1 }))
    assert.equal(
      read.map(headerId),
      append.records.map(({ id }) => id),
    )
    assert.equal([read.at(-1)?.revision, read.at(-1)?.position], [result.revision, result.position])
  }
  assert.is((await idsOf(store)).length, 6 + 3 + 2 + 4)
})

test('processes that append to the same runs at once take turns: each revision is written once, by one of them (F176)', async () => {
  const url = await newPostgresUrl()
  await using one = await openPostgresStore({ url, timings: PATIENT })
  await using other = await openPostgresStore({ url })
  const runs = Array.from({ length: 20 }, (_, n) => `run-acme.r${n}`)
  for (let revision = NO_STREAM; revision < 15; revision += 1) {
    const results = await Promise.all([
      ...runs.map((run) => one.append(appendOf(run, revision))),
      ...runs.toReversed().map((run) => other.append(appendOf(run, revision))),
    ])
    const kinds = results.map(({ kind }) => kind)
    assert.equal(kinds.filter((kind) => kind === 'appended').length, runs.length)
    assert.equal(kinds.filter((kind) => kind === 'conflict').length, runs.length)
  }
  assert.is((await idsOf(one)).length, runs.length * 16)
})

for (const end of ['COMMIT', 'ROLLBACK']) {
  test(`a run that another process is writing to holds up its own group alone, and no reader passes what is held, up to the ${end} (STR-37, F179)`, async () => {
    const url = await newPostgresUrl()
    await using store = await openPostgresStore({ url, timings: { writersMs: 0 } })
    await using other = await client(url)
    await other.query('BEGIN')
    await appendEarlier(other, url, 'run-acme.held', NO_STREAM)
    const held = appendOf('run-acme.held', NO_STREAM)
    const holding = store.append(held)
    await underWay(url, 1)
    const free = appendOf('run-acme.free', NO_STREAM)
    assert.is((await store.append(free)).kind, 'appended')
    assert.is((await store.append(appendOf('run-acme.free', 0))).kind, 'appended')
    assert.equal(await idsOf(store), [], 'what was drawn before them is not decided yet')
    await other.query(end)
    const result = await holding
    assert.equal(result, end === 'COMMIT' ? { kind: 'conflict', actual: 0 } : { ...result, kind: 'appended' })
    await using patient = await openPostgresStore({ url, timings: PATIENT })
    const records = await collect(patient.readAll())
    assert.equal(
      records.map(({ stream }) => stream),
      ['run-acme.held', 'run-acme.free', 'run-acme.free'],
    )
    assert.is(headerId(records[0] as (typeof records)[0]), end === 'COMMIT' ? 'earlier--1' : held.records[0]?.id)
  })
}

test('a process that ends between two groups under way leaves whole appends and a first revision to each run, in an order without gaps (STR-37, F179)', async () => {
  const url = await newPostgresUrl()
  await using other = await client(url)
  await other.query('BEGIN')
  await appendEarlier(other, url, 'run-acme.held', NO_STREAM)
  const store = await openPostgresStore({ url, timings: { settleMs: 0, callMs: 60_000 } })
  const holding = store.append(appendOf('run-acme.held', NO_STREAM, 2))
  await underWay(url, 1)
  assert.is((await store.append(appendOf('run-acme.free', NO_STREAM, 3))).kind, 'appended')
  // The server ends what is under way as it does where the process at the other end is gone.
  await endWriters(url)
  assert.ok(['unknown', 'unavailable'].includes((await holding).kind))
  await other.query('ROLLBACK')
  await store[Symbol.asyncDispose]()
  await using next = await openPostgresStore({ url, timings: PATIENT })
  const records = await collect(next.readAll())
  assert.equal(
    records.map(({ stream, revision }) => `${stream}@${revision}`),
    [0, 1, 2].map((n) => `run-acme.free@${n}`),
  )
  assert.is((await next.append(appendOf('run-acme.held', NO_STREAM))).kind, 'appended')
})

test('where the answer of one group is lost, what became of it is found out, and the other group has its own answer (STR-19, F179)', async () => {
  const url = await newPostgresUrl()
  await using proxy = await cuttingProxy(url.replace('postgres:', 'http:'))
  const through = new URL(url)
  through.port = new URL(proxy.url).port
  await using store = await openPostgresStore({ url: through.href, timings: { probeMs: 20 } })
  await using beside = await openPostgresStore({ url })
  for (let round = 0; round < 10; round += 1) {
    await eventually(async () => (store.status().state === 'ready' ? true : undefined), 'a store that is ready')
    const appends = ['a', 'b'].map((run) => appendOf(`run-acme.${run}${round}`, NO_STREAM))
    proxy.cutNextAnswer()
    const results: AppendResult[] = await Promise.all(
      appends.map(async (append, index) => {
        for (let turns = 0; turns < index; turns += 1) await nextTurn()
        return await store.append(append)
      }),
    )
    for (const [index, { stream, records }] of appends.entries()) {
      const read = (await collect(beside.readStream(stream))).map(headerId)
      const { kind } = results[index] as AppendResult
      assert.ok(kind === 'appended' || kind === 'unavailable', kind)
      assert.equal(read, kind === 'appended' ? [records[0]?.id] : [])
    }
  }
  assert.ok(proxy.cuts() >= 10)
})

test('a process of the version before goes on appending while a newer one does: neither writes over the other (STR-36, F177)', async () => {
  const url = await newPostgresUrl()
  await using store = await openPostgresStore({ url })
  await using earlier = await client(url)
  const append = (revision: number): Promise<unknown> => appendEarlier(earlier, url, 'run-acme.r', revision)
  assert.is(await append(NO_STREAM), 'appended')
  assert.is((await store.append(appendOf('run-acme.r', 0))).kind, 'appended')
  assert.is(await append(0), 'conflict')
  assert.is(await append(1), 'appended')
  assert.equal(await store.append(appendOf('run-acme.r', 1)), { kind: 'conflict', actual: 2 })
  assert.equal(
    (await idsOf(store)).filter((id) => id.startsWith('earlier')),
    ['earlier--1', 'earlier-1'],
  )
})

test('appends of a moment are one notification, and the last of a process is announced before it closes (STR-35, F178)', async () => {
  const url = await newPostgresUrl()
  await using listener = await client(url)
  const told: string[] = []
  listener.on('notification', ({ payload }) => void told.push(payload ?? ''))
  await listener.query(`LISTEN ${readConnectionUrl(url).schema}_appended`)
  {
    await using store = await openPostgresStore({ url, timings: { announceMs: 3_600_000 } })
    for (let revision = NO_STREAM; revision < 50; revision += 1) await store.append(appendOf('run-acme.r', revision))
    await eventually(async () => {
      await listener.query('SELECT 1')
      return told.length === 1 ? true : undefined
    }, 'the first notification, sent at once')
  }
  await listener.query('SELECT 1')
  assert.is(told.length, 2)
  assert.is(new Set(told).size, 1)
})

test('what another process appended wakes a tail though it was announced with others, and without a look every so often (F178)', async () => {
  const url = await newPostgresUrl()
  await using reader = await openPostgresStore({ url, timings: { pollMs: 3_600_000 } })
  await using writer = await openPostgresStore({ url })
  const stop = new AbortController()
  const tail = reader.subscribe({}, stop.signal)[Symbol.asyncIterator]()
  assert.is((await tail.next()).value, 'caught-up')
  const sent = Array.from({ length: 300 }, (_, n) => appendOf(`run-acme.r${n % 30}`, Math.floor(n / 30) - 1))
  for (let from = 0; from < sent.length; from += 30) {
    await Promise.all(sent.slice(from, from + 30).map((append) => writer.append(append)))
  }
  const seen: string[] = []
  while (seen.length < sent.length) {
    const page = (await tail.next()).value
    if (Array.isArray(page)) seen.push(...page.map(headerId))
  }
  stop.abort()
  await tail.return?.(undefined)
  assert.equal(seen.toSorted(), sent.map(({ records }) => String(records[0]?.id)).toSorted())
})

test.run()
