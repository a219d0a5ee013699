/** @module A run so long that whoever holds it in memory runs out of it. */
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import type { ApiClient } from './api-client.ts'
import { countersign } from './command-line.ts'
import { type ServerProcess, startServer } from './server-process.ts'

/** Requests of one batch: handoffs, which make a step of the run's state, and usage, which makes no state: an event each. */
const HANDOFFS = 32
const USAGES = 224
const BATCH_EVENTS = HANDOFFS + USAGES
/** The old space of V8. A run of 20,000 events of this size, held as objects, would not fit beside the server. */
const HEAP_MIB = 128
/** As Node 22 has it. With twice as much, which is the default of Node 24, V8 collects all the time in so small an old space (docs/operations.md). */
const YOUNG_MIB = 16
const TEXT = 'x'.repeat(1_000)
const RUN = 'long'

export async function readLongRun({ events }: { readonly events: number }): Promise<void> {
  await using server = await startServer({
    nodeArgs: [`--max-old-space-size=${HEAP_MIB}`, `--max-semi-space-size=${YOUNG_MIB}`],
    args: ['--rate-per-second', '0'],
  })
  try {
    await writeAndRead(server, events)
  } catch (error) {
    if (error instanceof assert.Assertion) throw error
    // A server out of memory says so on its way down, and that is what a failing test must show.
    await server.stop()
    throw new Error(`${error}; the server's last words: ${server.output.slice(-2_000)}`)
  }
  const verified = await countersign(['verify', '--data', server.data])
  assert.is(verified.code, 0, verified.stdout + verified.stderr)
}

async function writeAndRead(server: ServerProcess, events: number): Promise<void> {
  const client = await server.client()
  const written = await writeRun(client, events)
  await assertExported(client, `/v1/runs/${RUN}/export`, written)
  await assertExported(client, '/v1/export', written)
  await assertReplayed(client, written)
  assert.is((await client.get('/healthz')).status, 200)

  await server.restart()
  const after = await server.client()
  const envelope = { agent: 'a', payload: { notes: 'after the restart' } }
  assert.is(
    (await after.post(`/v1/runs/${RUN}/envelopes`, envelope)).status,
    201,
    'a cold run of this length is loaded',
  )
  assert.equal(await server.stop(), { code: 0, signal: null })
}

/** Gives the number of events. */
async function writeRun(client: ApiClient, events: number): Promise<number> {
  assert.is((await client.post('/v1/runs', { id: RUN, name: RUN })).status, 201)
  let written = 1
  while (written < events) {
    const items = [
      ...Array.from({ length: HANDOFFS }, (_, index) => handoff(written + index)),
      ...Array.from({ length: USAGES }, (_, index) => usage(index)),
    ]
    const answer = await client.post('/v1/batch', { items })
    assert.is(answer.status, 200, answer.text)
    const statuses = (answer.body.items as readonly JsonObject[]).map(({ status }) => status)
    assert.ok(
      statuses.every((status) => status === 201),
      answer.text.slice(0, 500),
    )
    written += BATCH_EVENTS
  }
  return written
}

const handoff = (n: number): JsonObject => ({
  run: RUN,
  op: 'envelope',
  body: { agent: 'a', payload: { notes: n, text: TEXT } },
})

const usage = (tokens: number): JsonObject => ({
  run: RUN,
  op: 'usage',
  body: { agent: 'a', usage: { tokens, model: TEXT.slice(0, 200) } },
})

async function assertExported(client: ApiClient, path: string, events: number): Promise<void> {
  let lines = 0
  let last = ''
  for await (const line of client.lines(path)) {
    lines += 1
    last = line
  }
  assert.is(JSON.parse(last).trailer?.events, lines - 1, 'it is whole')
  // A tenant's export holds the ledger's own events, too.
  assert.ok(lines > events, `${lines} of ${events}`)
}

async function assertReplayed(client: ApiClient, events: number): Promise<void> {
  let lines = 0
  let last = ''
  for await (const line of client.lines(`/v1/runs/${RUN}/replay`)) {
    lines += 1
    last = line
  }
  assert.is(lines, events + 1)
  const verdict = JSON.parse(last)
  assert.is(verdict.verdict, 'VERIFIED', last)
  assert.is(verdict.events, events)
  assert.is(verdict.snapshots.matched, ((events - 1) / BATCH_EVENTS) * HANDOFFS)
}
