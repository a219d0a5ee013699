import pg from 'pg'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type EventStore, NO_STREAM } from '../../src/store/event-store.ts'
import { bigintArray } from '../../src/store/postgres/binary-array.ts'
import { readConnectionUrl } from '../../src/store/postgres/connection-url.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { GROUP_SIZE } from '../../src/store/postgres/schema.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { appendOf, collect } from '../support/records.ts'

const test = suite('postgres: what a question costs as the store grows')

const FEW = 10_000
/** `COUNTERSIGN_TEST_FLAT_ROWS=1000000` measures so many. */
const MANY = Number(process.env.COUNTERSIGN_TEST_FLAT_ROWS ?? 100_000)
const REVISIONS = 100
const TENANTS = 10
/** Indexes get a level deeper at some size, of four or five; a table that is read through costs ten times as much. */
const GROWTH = 1.6
const SLACK_BUFFERS = 12

interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** Everything that goes to the server while `work` runs, through pools and clients alike. */
async function statementsOf(work: () => Promise<unknown>): Promise<readonly Statement[]> {
  const seen: Statement[] = []
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [first, values] = args as [string | { text: string; values?: unknown[] }, unknown[] | undefined]
    if (typeof first === 'string') seen.push({ text: first, values: values ?? [] })
    else seen.push({ text: first.text, values: first.values ?? values ?? [] })
    return Reflect.apply(query, this, args)
  } as typeof query
  try {
    await work()
  } finally {
    pg.Client.prototype.query = query
  }
  return seen.filter(({ text }) => /^\s*(SELECT|WITH)\b/.test(text))
}

interface Plan {
  readonly Plan: { readonly 'Shared Hit Blocks': number; readonly 'Shared Read Blocks': number }
}

/** Pages of tables and indexes that the statements touch, in a session that has run them before: the first time reads the catalogue. */
async function buffersOf(client: pg.Client, statements: readonly Statement[]): Promise<number> {
  let buffers = 0
  for (const statement of statements) {
    await planOf(client, statement)
    const plan = await planOf(client, statement)
    buffers += plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  }
  return buffers
}

async function planOf(client: pg.Client, { text, values }: Statement): Promise<Plan['Plan']> {
  await client.query('BEGIN')
  const { rows } = await client.query(`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`, [...values])
  await client.query('ROLLBACK')
  const [{ Plan: plan }] = rows[0]['QUERY PLAN'] as [Plan]
  return plan
}

/** Runs whose events lie far apart, of several tenants, as many processes write them. */
async function fill(client: pg.Client, schema: string, rows: number): Promise<void> {
  const runs = rows / REVISIONS
  await client.query(
    `INSERT INTO ${schema}.events (position, stream, revision, header, salt, data, request)
      SELECT (n + 1)::bigint * ${GROUP_SIZE}, 'run-t' || (n % ${runs}) % ${TENANTS} || '.r' || n % ${runs}, n / ${runs},
        '{"id":"' || n || '","type":"EnvelopeAccepted","v":1}' || repeat('h', 400), '\\x00112233445566778899aabbccddeeff',
        repeat('x', 600), CASE WHEN n % 3 = 0 THEN 'request-' || n END
      FROM generate_series(0, ${rows - 1}) AS n`,
  )
  await client.query(
    `INSERT INTO ${schema}.events (position, stream, revision, header, salt, data)
      SELECT (${rows} + 1 + n)::bigint * ${GROUP_SIZE}, 'run-small.r', n, '{}', '', '{}' FROM generate_series(0, 2) AS n`,
  )
  await client.query(`SELECT setval('${schema}.append_groups', ${rows + 3})`)
  await client.query(`ANALYZE ${schema}.events`)
}

/** By what is asked: each touches a bounded number of events. */
function questions(store: EventStore, rows: number): Readonly<Record<string, () => Promise<unknown>>> {
  const run = 'run-t7.r17'
  const at = (n: number): string => String(n * GROUP_SIZE)
  const first = async (pages: AsyncIterable<unknown>): Promise<void> => {
    for await (const _ of pages) return
  }
  return {
    'the head of a run': () => store.head(run),
    'a run of 100 events': () => collect(store.readStream(run)),
    'the last events of a run': () => collect(store.readStream(run, { from: REVISIONS - 5, direction: 'backwards' })),
    'a request by its id': () => store.findRequest(run, 'request-17'),
    'an event by its position': () => store.recordAt(at(rows / 2)),
    'the end of the store': () => store.end(),
    'a page in the middle': () => first(store.readAll({ after: at(rows / 2) })),
    'a page of one tenant': () => first(store.readAll({ after: at(rows / 2), tenant: 't7' })),
    'all events of a tenant that has three': () => collect(store.readAll({ tenant: 'small' })),
    'the tail': () => collect(store.readAll({ after: at(rows - 5) })),
    'the tail of one tenant': () => collect(store.readAll({ after: at(rows - 50), tenant: 't7' })),
    'the tail of a tenant without events': () => collect(store.readAll({ after: at(rows - 5), tenant: 'none' })),
  }
}

async function costs(rows: number): Promise<ReadonlyMap<string, number>> {
  const url = await newPostgresUrl()
  const { config, schema } = readConnectionUrl(url)
  const client = new pg.Client(config)
  await client.connect()
  await fill(client, schema, rows)
  await using store = await openPostgresStore({ url })
  const found = new Map<string, number>()
  for (const [what, ask] of Object.entries(questions(store, rows))) {
    const statements = await statementsOf(ask)
    assert.ok(statements.length > 0, what)
    found.set(what, await buffersOf(client, statements))
  }
  const appends = {
    'an append to a run': appendOf('run-t7.r17', REVISIONS - 1),
    'the first append of a run': appendOf('run-t7.new', NO_STREAM),
  }
  for (const [what, append] of Object.entries(appends)) {
    const statements = await statementsOf(() => store.append(append))
    const [writing] = statements.filter(({ text }) => text.includes('append_group'))
    if (writing === undefined) throw new Error('an append calls append_group')
    // What was written is refused as a conflict by now: the next one is measured.
    const head = append.expectedRevision + 1
    const next = [...writing.values]
    next.splice(1, 1, bigintArray([head]))
    next.splice(4, 1, bigintArray([head + 1]))
    found.set(what, await buffersOf(client, [{ text: writing.text, values: next }]))
  }
  await client.end()
  return found
}

test(`reads, tails and appends touch as many pages of the database at ${MANY} events as at ${FEW}, but for a level of an index (F171)`, async () => {
  const [few, many] = [await costs(FEW), await costs(MANY)]
  const table = [...few].map(([what, buffers]) => ({ what, few: buffers, many: many.get(what) ?? Number.NaN }))
  for (const { what, few: before, many: after } of table)
    console.log(`${what}: ${before} pages at ${FEW}, ${after} at ${MANY}`)
  assert.equal(
    table.filter((row) => !(row.many <= row.few * GROWTH + SLACK_BUFFERS)),
    [],
  )
})

test.run()
