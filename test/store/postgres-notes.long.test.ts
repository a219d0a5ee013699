/** @module What the writers of a store on PostgreSQL attest of their groups of events, and what is found by it once somebody was at the tables. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createKeyRing } from '../../src/signing/key-ring.ts'
import { GROUP_NOTES, ringSeal } from '../../src/signing/note-seal.ts'
import { type EventStore, NO_STREAM } from '../../src/store/event-store.ts'
import { scanPostgres } from '../../src/store/postgres/postgres-reader.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { GROUP_SIZE } from '../../src/store/postgres/schema.ts'
import { initSchemaAt } from '../../src/store/postgres/schema-check.ts'
import { cuttingProxy } from '../support/cutting-proxy.ts'
import { owner, schemaOf, withoutNotes, writeOpen } from '../support/postgres-owner.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { seededRandom, testSeed } from '../support/random.ts'
import { appendOf } from '../support/records.ts'
import { eventually } from '../support/within.ts'

const test = suite('postgres: notes of groups')

const ring = createKeyRing('2026-01-01T00:00:00.000Z', (bytes) => new Uint8Array(bytes).fill(7))
const seal = ringSeal(() => ring, GROUP_NOTES)

async function opened(url: string): Promise<EventStore> {
  const store = await openPostgresStore({ url, timings: { writersMs: 60_000, probeMs: 20 } })
  store.noteWith?.(seal)
  return store
}

/** One group after the other. */
async function appendRuns(store: EventStore, runs: readonly string[], count = 1, revision = NO_STREAM): Promise<void> {
  for (const run of runs) {
    const result = await store.append(appendOf(`run-acme.${run}`, revision, count))
    assert.is(result.kind, 'appended')
  }
}

interface Found {
  readonly faults: readonly string[]
  readonly unattested: readonly string[]
}

async function found(url: string): Promise<Found> {
  const faults: string[] = []
  const unattested: string[] = []
  const notes = { seal, onUnattested: (text: string) => void unattested.push(text) }
  for await (const page of scanPostgres({ url, timings: { writersMs: 60_000 }, notes })) {
    for (const item of page) {
      if (!('fault' in item)) continue
      const { code, message } = item.fault
      const place = 'stream' in item.fault ? ` ${item.fault.stream} @ ${item.fault.revision}` : ''
      faults.push(`${code}${place} ${message}`)
    }
  }
  return { faults, unattested }
}

/** As who may set the triggers aside. */
async function damage(url: string, ...statements: readonly ((schema: string) => string)[]): Promise<void> {
  await using client = await owner(url)
  await client.query('SET session_replication_role = replica')
  for (const statement of statements) await client.query(statement(schemaOf(url)))
}

const ofRun = (run: string) => `stream = 'run-acme.${run}'`
const groupOf = (s: string, run: string) =>
  `(SELECT max(position) / ${GROUP_SIZE} FROM ${s}.events WHERE ${ofRun(run)})`

/** Runs a to e of two events, one group each, by one writer. */
async function written(): Promise<string> {
  const url = await newPostgresUrl()
  await using store = await opened(url)
  await appendRuns(store, ['a', 'b', 'c', 'd', 'e'], 2)
  return url
}

interface Case {
  readonly what: string
  readonly by: readonly ((schema: string) => string)[]
  readonly faults: readonly RegExp[]
}

const CASES: readonly Case[] = [
  { what: 'nothing was touched', by: [], faults: [] },
  {
    what: 'the last event of a run is deleted',
    by: [(s) => `DELETE FROM ${s}.events WHERE ${ofRun('b')} AND revision = 1`],
    faults: [/^missing run-acme\.b @ 1 this event is gone/],
  },
  {
    what: 'a whole run is deleted',
    by: [(s) => `DELETE FROM ${s}.events WHERE ${ofRun('c')}`],
    faults: [
      /^missing run-acme\.c @ 0 2 events from here on are gone/,
      /^group-notes all events of 1 group of events is gone/,
    ],
  },
  {
    what: 'a whole group is deleted, its row too',
    by: [
      (s) => `DELETE FROM ${s}.event_groups WHERE grp = ${groupOf(s, 'd')}`,
      (s) => `DELETE FROM ${s}.events WHERE ${ofRun('d')}`,
    ],
    faults: [/^group-notes notes of the writer .* are gone: the groups 3 to 3/, /^missing run-acme\.d @ 0/],
  },
  {
    what: 'the row of a group is deleted, and nothing else',
    by: [(s) => `DELETE FROM ${s}.event_groups WHERE grp = ${groupOf(s, 'c')}`],
    faults: [
      /^group-notes notes of the writer .* are gone: the groups 2 to 2/,
      /^group-notes 1 group of events is without the row/,
    ],
  },
  {
    what: 'the last row is deleted, and nothing else',
    by: [(s) => `DELETE FROM ${s}.event_groups WHERE grp = ${groupOf(s, 'e')}`],
    faults: [/^group-notes 1 group of events is without the row/],
  },
  {
    what: 'all rows of groups are deleted',
    by: [(s) => `DELETE FROM ${s}.event_groups`],
    faults: [/^group-notes 5 groups of events are without the row/],
  },
  {
    what: 'all rows are deleted, and the store says that it was written before there were any',
    by: [
      (s) => `DELETE FROM ${s}.event_groups WHERE grp < ${groupOf(s, 'd')}`,
      (s) => `UPDATE ${s}.meta SET value = ${groupOf(s, 'c')} WHERE name = 'noted-after'`,
    ],
    faults: [/^group-notes notes of the writer .* are gone: the groups 1 to 2/],
  },
  {
    what: 'the store says that groups are attested later than they are',
    by: [(s) => `UPDATE ${s}.meta SET value = 3 WHERE name = 'noted-after'`],
    faults: [/^group-notes groups are attested from behind 0 on, and the store says from behind 3/],
  },
  {
    what: 'two events lie in each other’s place',
    by: [
      (s) => `UPDATE ${s}.events SET position = -position WHERE ${ofRun('b')} AND revision = 1`,
      (s) =>
        `UPDATE ${s}.events SET position = (SELECT -position FROM ${s}.events WHERE position < 0) WHERE ${ofRun('a')} AND revision = 1`,
      (s) => `UPDATE ${s}.events SET position = ${GROUP_SIZE} + 1 WHERE position < 0`,
    ],
    faults: [/^group-notes run-acme\.a @ 1 lies at position/, /^group-notes run-acme\.b @ 1 lies at position/],
  },
  {
    what: 'another event lies in the place of one',
    by: [
      (s) => `UPDATE ${s}.events SET header = replace(header, '"v":1', '"v":2') WHERE ${ofRun('b')} AND revision = 0`,
    ],
    faults: [/^group-notes the events at position \d+ and behind it are not those that their writer put there/],
  },
  {
    what: 'a note is altered',
    by: [
      (s) => `DELETE FROM ${s}.events WHERE ${ofRun('b')} AND revision = 1`,
      (s) =>
        `UPDATE ${s}.event_groups SET note = replace(note, ',2,"run-acme.b",0]', ',1,"run-acme.b",0]') WHERE grp = ${groupOf(s, 'c')}`,
    ],
    faults: [
      /^group-notes the note of the group 3 is not as its writer sealed it/,
      /^group-notes notes of the writer .* are gone/,
    ],
  },
  {
    what: 'the notes of two groups are swapped',
    by: [
      (s) => `CREATE TABLE ${s}.kept AS SELECT * FROM ${s}.event_groups`,
      (s) =>
        `UPDATE ${s}.event_groups g SET note = k.note, seal = k.seal FROM ${s}.kept k
          WHERE g.grp IN (${groupOf(s, 'c')}, ${groupOf(s, 'd')}) AND k.grp = ${groupOf(s, 'c')} + ${groupOf(s, 'd')} - g.grp`,
    ],
    faults: [/^group-notes notes of the writer .* are gone/],
  },
]

for (const { what, by, faults } of CASES) {
  test(`where ${what}, what each writer attests shows it (STR-40, A400, A401)`, async () => {
    const url = await written()
    await damage(url, ...by)
    const seen = await found(url)
    assert.is(seen.faults.length, faults.length, seen.faults.join('\n'))
    for (const [at, fault] of faults.entries()) assert.match(seen.faults[at] ?? '', fault)
  })
}

test('of what one process wrote last, the end alone can go unnoticed, until another one writes (STR-40, STR-41, A402)', async () => {
  const url = await written()
  const cut = [
    (s: string) => `DELETE FROM ${s}.event_groups WHERE grp = ${groupOf(s, 'e')}`,
    (s: string) => `DELETE FROM ${s}.events WHERE ${ofRun('e')}`,
  ]
  {
    await using next = await opened(url)
    await appendRuns(next, ['f'])
  }
  assert.equal((await found(url)).faults, [])
  await damage(url, ...cut)
  const seen = (await found(url)).faults
  assert.ok(
    seen.some((fault) => fault.startsWith('missing run-acme.e @ 0 2 events from here on are gone')),
    seen.join('\n'),
  )

  const ended = await written()
  await damage(ended, ...cut)
  assert.equal((await found(ended)).faults, [])
})

test('all that a process wrote is gone with its notes: the first note of the next one names it (STR-41, A402)', async () => {
  const url = await written()
  {
    await using next = await opened(url)
    await appendRuns(next, ['f', 'g'])
  }
  await damage(
    url,
    (s) => `DELETE FROM ${s}.event_groups WHERE grp <= ${groupOf(s, 'e')}`,
    (s) => `DELETE FROM ${s}.events WHERE position < ${groupOf(s, 'f')} * ${GROUP_SIZE}`,
  )
  const seen = (await found(url)).faults
  assert.match(seen[0] ?? '', /^group-notes the last notes of the writer .* are gone, which another one saw/)
  assert.ok(
    seen.some((fault) => fault.startsWith('missing run-acme.e @ 0')),
    seen.join('\n'),
  )
})

test('whatever groups fail, are split, contended for or lose their answers, nothing is missed that is there, by who looks at the end or follows (STR-40, STR-45)', async () => {
  const url = await newPostgresUrl()
  await using proxy = await cuttingProxy(url.replace('postgres:', 'http:'))
  const through = new URL(url)
  through.port = new URL(proxy.url).port
  const random = seededRandom(testSeed(7))
  await using one = await opened(through.href)
  await using other = await opened(url)
  const broken: unknown[] = []
  let after: string | undefined
  for (let round = 0; round < 30; round += 1) {
    await eventually(async () => (one.status().state === 'ready' ? true : undefined), 'a store that is ready')
    const runs = new Set(Array.from({ length: 5 }, () => `run-acme.r${Math.floor(random() * 12)}`))
    const heads = new Map<string, number>()
    for (const run of runs) heads.set(run, await other.head(run))
    if (round % 3 === 1) proxy.cutNextAnswer()
    await Promise.all(
      [...heads].flatMap(([run, head]) =>
        [one, other].map((store) => store.append(appendOf(run, head, 1 + Math.floor(random() * 3)))),
      ),
    )
    const until = await other.end()
    if (until !== undefined) broken.push((await other.attested?.({ after, until }))?.broken)
    after = until
  }
  assert.ok(proxy.cuts() > 5)
  assert.equal(
    broken.filter((each) => each !== undefined),
    [],
  )
  assert.equal(await found(url), { faults: [], unattested: [] })
})

test('whichever event is deleted behind which a writer goes on, it is missed (STR-40, A400)', async () => {
  const random = seededRandom(testSeed(11))
  const url = await newPostgresUrl()
  const runs = Array.from({ length: 12 }, (_, run) => `r${run}`)
  {
    await using one = await opened(url)
    await using other = await opened(url)
    await Promise.all(
      runs.map((run, at) => (at % 2 === 0 ? one : other).append(appendOf(`run-acme.${run}`, NO_STREAM, 3))),
    )
    await appendRuns(one, ['last-one'])
    await appendRuns(other, ['last-other'])
  }
  for (let round = 0; round < 6; round += 1) {
    const run = runs[Math.floor(random() * runs.length)] ?? ''
    const kept = `kept_${round}`
    await damage(
      url,
      (s) =>
        `CREATE TABLE ${s}.${kept} AS SELECT position, stream, revision, header, salt, data, request FROM ${s}.events WHERE ${ofRun(run)} AND revision = 2`,
      (s) => `DELETE FROM ${s}.events WHERE ${ofRun(run)} AND revision = 2`,
    )
    const seen = (await found(url)).faults
    assert.is(seen.length, 1, seen.join('\n'))
    assert.match(seen[0] ?? '', `missing run-acme.${run} @ 2`)
    await damage(
      url,
      (s) =>
        `INSERT INTO ${s}.events (position, stream, revision, header, salt, data, request) SELECT * FROM ${s}.${kept}`,
    )
    assert.equal((await found(url)).faults, [])
  }
})

test('a store of the version before is upgraded beside processes that write: its history is not attested, nor is what they go on writing, and it is said (STR-44, A403)', async () => {
  const url = await newPostgresUrl()
  const schema = schemaOf(url)
  await using client = await owner(url)
  await withoutNotes(client, schema)
  await writeOpen(client, url, 'run-acme.before')
  await client.query('COMMIT')
  // One that began before, and commits behind it.
  await using slow = await owner(url)
  await writeOpen(slow, url, 'run-acme.under-way')
  const upgrading = initSchemaAt(url)
  await nextTurn()
  await slow.query('COMMIT')
  assert.equal(await upgrading, { from: 3, to: 4 })
  assert.equal((await found(url)).faults, [])
  {
    await using store = await opened(url)
    await appendRuns(store, ['a'])
    await writeOpen(client, url, 'run-acme.earlier-build')
    await client.query('COMMIT')
    await appendRuns(store, ['b'])
  }
  const seen = await found(url)
  assert.equal(seen.faults, [])
  assert.is(seen.unattested.length, 2)
  assert.match(seen.unattested[0] ?? '', 'among the 2 first ones')
  assert.match(seen.unattested[1] ?? '', 'among 1 that no writer attests')
  await damage(url, (s) => `DELETE FROM ${s}.events WHERE ${ofRun('a')}`)
  assert.match((await found(url)).faults[0] ?? '', /^missing run-acme\.a @ 0/)
})

test('whoever follows the store is told of what is gone, whichever page it reads (STR-45, A404)', async () => {
  const url = await written()
  await damage(url, (s) => `DELETE FROM ${s}.events WHERE ${ofRun('b')} AND revision = 1`)
  await using store = await opened(url)
  const lost = [{ stream: 'run-acme.b', revision: 1, position: String(2 * GROUP_SIZE + 1), events: 1 }]
  const lostIn = async (range: { after?: string; until?: string }) => (await store.attested?.(range))?.lost
  assert.equal(await lostIn({}), lost)
  const at = (group: number): string => String(group * GROUP_SIZE)
  assert.equal(await lostIn({ until: at(2) }), [])
  assert.equal(await lostIn({ after: at(2), until: at(3) }), lost)
  assert.equal(await lostIn({ after: at(3), until: at(5) }), [])
})

test('whoever goes on from page to page misses a note that is gone between two of them, and is told how far back notes go (STR-45)', async () => {
  const url = await written()
  const at = (group: number): string => String(group * GROUP_SIZE)
  const pages = async (): Promise<readonly (string | undefined)[]> => {
    await using store = await opened(url)
    const broken: (string | undefined)[] = []
    for (const [after, until] of [
      [undefined, at(2)],
      [at(2), at(3)],
      [at(3), at(5)],
    ] as const)
      broken.push((await store.attested?.({ after, until }))?.broken)
    return broken
  }
  assert.equal(await pages(), [undefined, undefined, undefined])
  {
    await using store = await opened(url)
    const end = String(GROUP_SIZE - 1)
    assert.equal((await store.attested?.({}))?.after, { now: end, noted: end })
  }
  await damage(url, (s) => `DELETE FROM ${s}.event_groups WHERE grp = ${groupOf(s, 'c')}`)
  const [first, second, third] = await pages()
  assert.equal([first, second], [undefined, undefined])
  assert.match(third ?? '', /^notes of the writer .* are gone: the groups 2 to 2/)
})

test('a note that waited behind later ones of its writer is no gap to who reads on from between them, and one that is gone still is (STR-68, A640)', async () => {
  const url = await written()
  await using client = await owner(url)
  const schema = schemaOf(url)
  const { rows } = await client.query<{ note: string }>(`SELECT note FROM ${schema}.event_groups ORDER BY grp`)
  const notes = rows.map(({ note }) => JSON.parse(note))
  // The second note comes once more behind the third, which goes further.
  const noted = { 3: { ...notes[2], settled: [...notes[2].settled, ...notes[3].settled] }, 4: notes[1] }
  await client.query('SET session_replication_role = replica')
  for (const [grp, note] of Object.entries(noted)) {
    const text = JSON.stringify(note)
    await client.query(`UPDATE ${schema}.event_groups SET note = $1, seal = $2 WHERE grp = $3`, [
      text,
      seal.seal(text),
      grp,
    ])
  }
  const brokenBehind = async (group: number): Promise<string | undefined> => {
    await using store = await opened(url)
    return (await store.attested?.({ after: String(group * GROUP_SIZE) }))?.broken
  }
  assert.equal(await Promise.all([1, 2, 3, 4].map(brokenBehind)), [undefined, undefined, undefined, undefined])
  assert.equal((await found(url)).faults, [])
  await client.query(`DELETE FROM ${schema}.event_groups WHERE grp = 3`)
  assert.match((await brokenBehind(3)) ?? '', /^notes of the writer .* are gone: the groups 2 to 3/)
})

test('notes under keys that are not here yet are none that are gone', async () => {
  const url = await written()
  const other = createKeyRing('2026-01-01T00:00:00.000Z', (bytes) => new Uint8Array(bytes).fill(8))
  await using store = await openPostgresStore({ url, timings: { writersMs: 60_000, probeMs: 20 } })
  store.noteWith?.(ringSeal(() => other, GROUP_NOTES))
  assert.is((await store.attested?.({}))?.broken, undefined)
})

test.run()
