import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ApiClient } from '../support/api-client.ts'
import { startNode } from '../support/eventstoredb-node.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'
import { startLedgers } from '../support/shared-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const test = suite('a new process on EventStoreDB, with the files of one that was stopped')

/** Twice as many events, of which a start looks at no more than 2,000 again (STR-54). */
const RUNS = 2_560
const BATCH_RUNS = 128
const FILES = ['views.db', 'audit.db', 'log.db']

async function start(url: string, data: string, keys: string): Promise<ServerProcess> {
  mkdirSync(data, { recursive: true })
  copyFileSync(keys, join(data, 'keys.json'))
  return await startServer({ data, args: ['--store', url, '--scrub-days', '0', '--checkpoint-seconds', '1'] })
}

/** Once all that follows the store has caught up with it. */
async function answers(client: ApiClient): Promise<unknown> {
  const runs = (await client.get('/v1/runs?limit=100')).body.items as readonly object[]
  const events = await client.get('/v1/audit/events?types=EnvelopeAccepted&limit=100')
  assert.is(events.status, 200, events.text)
  const found = events.body.items as readonly { readonly digest?: string }[]
  await eventually(
    async () => ((await client.get('/v1/log/checkpoint')).status === 200 ? true : undefined),
    'a checkpoint',
  )
  return { runs: runs.length, rows: runs, events: found.length, found }
}

test('files copied out of the folder of a stopped process are checked and taken: the new one reads what came since, and answers the same (F252)', async () => {
  await using node = await startNode()
  await using first = await startLedgers({ url: node.url, processes: 1, args: ['--checkpoint-seconds', '1'] })
  const [owner] = first.servers
  if (owner === undefined) throw new Error('one server was asked for')
  const client = await owner.client()
  for (let from = 0; from < RUNS; from += BATCH_RUNS) {
    const items = Array.from({ length: BATCH_RUNS }, (_, i) => [
      { run: `r${from + i}`, op: 'start', body: { name: 'r' } },
      { run: `r${from + i}`, op: 'envelope', body: { agent: 'a', payload: { n: from + i } } },
    ]).flat()
    const { body, text } = await client.post('/v1/batch', { items })
    assert.ok(
      (body.items as readonly { status: number }[]).every(({ status }) => status === 201),
      text,
    )
  }
  const expected = await answers(client)
  assert.equal(await owner.stop(), { code: 0, signal: null })

  using folder = tempFolder()
  mkdirSync(folder.file('copied'))
  for (const name of FILES) copyFileSync(join(owner.data, name), folder.file(`copied/${name}`))
  const read: number[] = []
  for (const data of ['copied', 'empty']) {
    const before = node.sent.subscription
    await using server = await start(node.url, folder.file(data), join(owner.data, 'keys.json'))
    assert.equal(await answers(await server.client()), expected, data)
    read.push(node.sent.subscription - before)
    assert.not.match(server.output, /made anew|rebuilt/, data)
  }
  const [helped = 0, alone = 0] = read
  assert.ok(alone >= 2 * RUNS, `without them everything is read: ${alone}`)
  assert.ok(helped < alone / 2, `${helped} of ${alone} events were read`)
})

test.run()
