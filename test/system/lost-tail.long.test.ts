import { readFileSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readConnectionUrl } from '../../src/store/postgres/connection-url.ts'
import { GROUP_SIZE } from '../../src/store/postgres/schema.ts'
import { countersign } from '../support/command-line.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { assertOneLine } from '../support/refused-start.ts'
import type { ServerProcess } from '../support/server-process.ts'
import { startLedgers } from '../support/shared-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { eventually, within } from '../support/within.ts'

const test = suite('a start on a server that lost the end of what it acknowledged')

/** What a standby that lagged has not: the newest events, as its superuser sees them go. */
async function loseTail(url: string, events: number): Promise<void> {
  const { config, schema } = readConnectionUrl(url)
  const client = new pg.Client(config)
  await client.connect()
  await client.query('SET session_replication_role = replica')
  const newest = `SELECT position FROM ${schema}.events ORDER BY position DESC LIMIT ${events}`
  await client.query(`DELETE FROM ${schema}.events WHERE position IN (${newest})`)
  await client.query(
    `DELETE FROM ${schema}.event_groups WHERE grp > (SELECT max(position) FROM ${schema}.events) / ${GROUP_SIZE}`,
  )
  await client.end()
}

/** A ledger with some runs, stopped: its last checkpoint is on record, and kept in its data folder. */
async function stopped(use: (server: ServerProcess, url: string) => Promise<void>): Promise<void> {
  const url = await newPostgresUrl()
  await using ledgers = await startLedgers({ url, processes: 1 })
  const [server] = ledgers.servers
  if (server === undefined) throw new Error('one ledger was asked for')
  const client = await server.client()
  for (let run = 0; run < 8; run += 1) {
    assert.is((await client.post('/v1/runs', { id: `r${run}`, name: 'r' })).status, 201)
  }
  assert.equal(await server.stop(), { code: 0, signal: null })
  await use(server, url)
}

test('events that a checkpoint covers are gone: the start is refused, by the checkpoint that the process kept itself (F149)', async () => {
  await stopped(async (server, url) => {
    await loseTail(url, 6)
    const refused = await within(countersign(['serve', '--port', '0', '--data', server.data, '--store', url]))
    assertOneLine(
      refused,
      /holds \d+ events of the log (?:acme|system), its last checkpoint covers \d+.*standby that lagged/,
    )
  })
})

test('an event that no checkpoint covers yet is gone: the start goes on and names the place (F149)', async () => {
  await stopped(async (server, url) => {
    // The last checkpoint itself.
    await loseTail(url, 1)
    await server.start()
    const named = (): true | undefined =>
      server.output.includes('no longer holds the last event that this process saw') ? true : undefined
    await eventually(named, 'the line in the log')
    const client = await server.client()
    assert.is((await client.post('/v1/runs', { id: 'later', name: 'r' })).status, 201)
  })
})

test('verify with the data folder of a process names what was cut off the end in the database; without one it says what it cannot know (A229)', async () => {
  await stopped(async (server, url) => {
    const keys = ['--keys', `${server.data}/keys.json`]
    const withFolder = [...keys, '--data', server.data]
    const whole = await countersign(['verify', url, ...withFolder])
    assert.is(whole.code, 0, whole.stdout)
    assert.not.match(whole.stdout, /cut off/)

    await loseTail(url, 6)
    const cut = await countersign(['verify', url, ...withFolder])
    assert.is(cut.code, 3, cut.stdout)
    assert.match(cut.stdout, /log-behind-checkpoint.*the log .*acme, only \d+ are here/)
    using elsewhere = tempFolder()
    const without = await countersign(['verify', url, ...keys, '--data', elsewhere.path])
    assert.is(without.code, 0, without.stdout)
    assert.match(without.stdout, /whether events were cut off at the end: there is no .*checkpoints/)

    const others = elsewhere.file('store.db.checkpoints')
    const kept = readFileSync(`${server.data}/store.db.checkpoints`, 'utf8')
    writeFileSync(others, kept.replaceAll(JSON.parse(kept).origin, 'another.example'))
    const foreign = await countersign(['verify', url, ...keys, '--data', elsewhere.path])
    assert.is(foreign.code, 0, foreign.stdout)
    assert.match(foreign.stdout, /are of the ledger another\.example/)
  })
})

test.run()
