import { chmodSync, chownSync, writeFileSync } from 'node:fs'
import pg from 'pg'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { NO_STREAM, StoreOpenError } from '../../src/store/event-store.ts'
import { readConnectionUrl } from '../../src/store/postgres/connection-url.ts'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { SCHEMA_VERSION } from '../../src/store/postgres/schema.ts'
import { initSchemaAt, schemaStatusAt } from '../../src/store/postgres/schema-check.ts'
import { certificate, keyPair, pem, privatePem } from '../support/certificates.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { postgresServer, SERVER_USER_ID, startPostgres } from '../support/postgres-server.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { appendOf } from '../support/records.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'
import { eventually } from '../support/within.ts'

const test = suite('postgres: what no waiting mends ends a start')

/** A start that would wait for ever, but for the first word that it waits. */
async function start(url: string): Promise<string> {
  const waiting = new AbortController()
  try {
    await using _ = await openPostgresStore({
      url,
      patience: { signal: waiting.signal, onAway: () => waiting.abort() },
    })
    return 'opened'
  } catch (error) {
    if (error instanceof StoreOpenError) return `${error.code} ${error.message}`
    throw error
  }
}

/** Of a server that serves as `localhost`, and what signed its certificate; and another authority. */
async function certificates(folder: TempFolder) {
  const [root, own, other] = await Promise.all([keyPair(), keyPair(), keyPair()])
  const authority = (name: string, keys: typeof root) => certificate({ name, keys, by: keys, issuer: name, isCa: true })
  const served = await certificate({ name: 'database', keys: own, by: root, issuer: 'root', host: 'localhost' })
  const files = {
    ca: pem(await authority('root', root)),
    other: pem(await authority('other root', other)),
    cert: pem(served),
    key: await privatePem(own),
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(folder.file(name), text, { mode: 0o600 })
  chmodSync(folder.path, 0o755)
  for (const name of ['cert', 'key'])
    if (SERVER_USER_ID !== undefined) chownSync(folder.file(name), SERVER_USER_ID, SERVER_USER_ID)
}

test('a certificate that is not accepted, and a server without TLS, are refused at once with what to do: no start waits for them (F188)', async () => {
  using folder = tempFolder()
  await certificates(folder)
  const files = { ssl_cert_file: folder.file('cert'), ssl_key_file: folder.file('key') }
  const server = await startPostgres({ ssl: 'on', ...files })
  const plain = await newPostgresUrl(server)
  const at = (host: string, mode: string, authority: string): string => {
    const url = new URL(plain)
    url.hostname = host
    url.searchParams.set('sslmode', mode)
    url.searchParams.set('sslrootcert', folder.file(authority))
    return url.toString()
  }
  assert.is(await start(at('localhost', 'verify-full', 'ca')), 'opened')
  assert.is(await start(at('127.0.0.1', 'verify-ca', 'ca')), 'opened')
  const refused = /^store-unreadable .*the certificate of the server is not accepted \(.*\): name that of its authority/
  for (const mode of ['verify-full', 'verify-ca']) assert.match(await start(at('localhost', mode, 'other')), refused)
  assert.match(await start(at('127.0.0.1', 'verify-full', 'ca')), refused)
  await server.kill()

  const { url } = await postgresServer()
  if (process.env.POSTGRES_URL) return console.log('skipped: the server of POSTGRES_URL may well take TLS connections')
  assert.match(await start(`${url}?sslmode=require`), /^store-unreadable .*the server takes no TLS connections/)
})

test('a database, a role or a right that is missing is named with what to do, by "store init" and by a start', async () => {
  const server = await startPostgres()
  const { url } = server
  const client = new pg.Client(url)
  await client.connect()
  await client.query('CREATE ROLE guest LOGIN')
  await client.end()
  const elsewhere = new URL(url)
  elsewhere.pathname = '/nowhere'
  const guest = new URL(url)
  guest.username = 'guest'
  const init = async (...args: readonly string[]) => (await runInProcess(['store', 'init', '--store', ...args])).stderr
  assert.match(await init(elsewhere.href), /database "nowhere" does not exist: .*CREATE DATABASE/)
  assert.match(await init(guest.href), /permission denied for database .*: .*a role that may create a schema/)
  assert.match(await init(url, '--writer', 'nobody_yet'), /role "nobody_yet" does not exist: .*CREATE ROLE/)
  assert.match(await start(elsewhere.href), /^store-unreadable .*"nowhere" does not exist: .*CREATE DATABASE/)
  await server.kill()
})

test('verify says of a schema of a newer version that it cannot be read, and nothing of what it finds there (F193)', async () => {
  const url = await newPostgresUrl()
  {
    await using store = await openPostgresStore({ url })
    await store.append(appendOf('run-acme.r', NO_STREAM))
  }
  const { config, schema } = readConnectionUrl(url)
  const client = new pg.Client(config)
  await client.connect()
  await client.query(`UPDATE ${schema}.meta SET value = 99 WHERE name = 'version'`)
  await client.end()
  using folder = tempFolder()
  const verified = await runInProcess(['verify', url, '--data', folder.path])
  assert.is(verified.code, 3)
  assert.match(verified.stdout, /INCOMPLETE {2}unreadable .* has version 99, this build knows up to \d+: update it/)
  const status = await runInProcess(['store', 'status', '--store', url])
  assert.is(status.code, 1)
  assert.match(status.stdout, /version 99 of \d+.* update it/)
})

test('a change of the schema that is held up says so and changes nothing, is named by store status, and holds no append up for long (F194)', async () => {
  const url = await newPostgresUrl()
  const { config, schema } = readConnectionUrl(url)
  const client = new pg.Client(config)
  await client.connect()
  await client.query('BEGIN')
  await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('countersign/migrations', 0))`)
  await client.query(`LOCK TABLE ${schema}.events`)
  assert.is((await schemaStatusAt(url)).events, undefined)
  const status = await runInProcess(['store', 'status', '--store', url])
  assert.is(status.code, 1)
  assert.match(status.stdout, `schema ${schema}: it is being made or upgraded right now\nconnection: `)
  const waited = await initSchemaAt(url, undefined, 50).then(
    () => 'changed',
    (error: unknown) => String(error),
  )
  assert.match(waited, 'nothing was changed, run it again')
  await client.query('ROLLBACK')
  await client.end()
  assert.equal(await initSchemaAt(url), { from: SCHEMA_VERSION, to: SCHEMA_VERSION })
  // Another test may change its schema in the same database.
  await eventually(async () => ((await schemaStatusAt(url)).events === 0 ? true : undefined), 'a count of the events')
})

test.run()
