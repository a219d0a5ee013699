import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runStream } from '../../schemas/names.ts'
import { openReadingLedger } from '../../src/compose/compose-reading.ts'
import { readSettings } from '../../src/settings/config.ts'
import { readConnectionUrl } from '../../src/store/postgres/connection-url.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { answers, runNames, type SharedPlace, sharedPlace } from '../support/shared-files.ts'
import { alice } from '../support/test-ledger.ts'

const test = suite('commands on PostgreSQL use what its processes share')

const RUNS = 30

interface Reading {
  readonly found: unknown
  /** Records of the store that were read for it. */
  readonly read: number
  readonly said: readonly string[]
}

/** Where `os.tmpdir()` is until the end of the test. */
function temporaryFolder(path: string): Disposable {
  const before = process.env.TMPDIR
  process.env.TMPDIR = path
  return {
    [Symbol.dispose]: () => {
      if (before === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = before
    },
  }
}

/** What a command on another machine reads of the store, and answers. */
async function readElsewhere(place: SharedPlace, trustNothing: boolean): Promise<Reading> {
  let read = 0
  const said: string[] = []
  const flags = { data: place.folder.file('elsewhere'), store: place.url, keys: place.folder.file('keys.json') }
  const onRead = (records: number): void => {
    read += records
  }
  const options = { onRead, trustNothing, onLeftAside: (why: string) => void said.push(why) }
  await using reading = await openReadingLedger(readSettings(flags, {}), options)
  return { found: await answers(reading.ledger), read, said }
}

test('a command without a data folder takes the shared files, reads the tail of the store alone, answers the same, and leaves nothing behind (F173, STR-33)', async () => {
  await using place = await sharedPlace()
  await place.write('first', runNames(0, RUNS))
  await using first = place.files('first')
  await first.turn()
  await place.write('first', ['late'])
  const temporary = place.folder.file('temporary')
  mkdirSync(temporary)
  using _ = temporaryFolder(temporary)
  const alone = await readElsewhere(place, true)
  const helped = await readElsewhere(place, false)
  assert.equal(helped.found, alone.found)
  assert.ok(alone.read > 2 * 3 * RUNS, `each file was made of the whole store: ${alone.read}`)
  assert.ok(helped.read < alone.read / 2, `${helped.read} of ${alone.read} records were read`)
  assert.equal(helped.said, [])
  assert.equal(existsSync(place.folder.file('elsewhere')), false)
  assert.equal(readdirSync(temporary), [])

  const { schema } = readConnectionUrl(place.url)
  await place.superuser.query(`UPDATE ${schema}.copy_parts SET bytes = bytes || '\\x00'`)
  const forged = await readElsewhere(place, false)
  assert.equal(forged.found, alone.found, 'a forged copy answers nothing (A227)')
  assert.is(forged.read, alone.read)
  assert.is(forged.said.length, 2, forged.said.join())
  await place.superuser.query(`DROP TABLE ${schema}.copies CASCADE`)
  assert.equal((await readElsewhere(place, false)).found, alone.found)
})

test('a proof needs no data folder either: it is made from the shared log and one event, and nothing else of the store is read (F173)', async () => {
  await using place = await sharedPlace()
  await place.write('first', runNames(0, RUNS))
  await using first = place.files('first')
  assert.ok((await first.turn()).includes('log.db'))
  const { schema } = readConnectionUrl(place.url)
  const idsOf = async (run: string): Promise<readonly string[]> => {
    const text = `SELECT header::json->>'id' AS id FROM ${schema}.events WHERE stream = $1 ORDER BY revision`
    const { rows } = await place.superuser.query<{ id: string }>(text, [runStream(alice.tenant, run)])
    return rows.map(({ id }) => id)
  }
  const temporary = place.folder.file('temporary')
  mkdirSync(temporary)
  using _ = temporaryFolder(temporary)
  const at = ['--store', place.url, '--keys', place.folder.file('keys.json'), '--data', place.folder.file('elsewhere')]
  const prove = async (id: string, ...more: readonly string[]) => {
    const { code, stdout, stderr } = await runInProcess(['proof', id, '--tenant', alice.tenant, ...at, ...more])
    return { code, stdout, stderr }
  }
  const [id = ''] = await idsOf('run-3')
  const [other = ''] = await idsOf('run-7')
  const proven = await prove(id, '--trust-nothing')
  assert.equal([proven.code, proven.stderr], [0, ''])
  assert.equal(await prove(id), proven)

  // A reading of the whole store meets what is gone.
  await place.superuser.query(`SET session_replication_role = replica`)
  await place.superuser.query(`DELETE FROM ${schema}.events WHERE header::json->>'id' = $1`, [other])
  assert.is((await prove(id, '--trust-nothing')).code, 3)
  assert.equal(await prove(id), proven)
  assert.is((await prove(other)).code, 3, 'an event that is gone is not proven')
  assert.equal(readdirSync(temporary), [])

  await place.superuser.query(`UPDATE ${schema}.copy_parts SET bytes = bytes || '\\x00'`)
  const forged = await prove(id)
  assert.is(forged.code, 3, 'a forged copy proves nothing, and the whole store is read (A227)')
  assert.match(forged.stderr, 'the shared copy of log.db is not used')
  assert.equal(existsSync(place.folder.file('elsewhere')), false)
})

test.run()
