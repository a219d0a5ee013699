import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { StoreOpenError } from '../../../src/store/event-store.ts'
import { readConnectionUrl } from '../../../src/store/postgres/connection-url.ts'

const test = suite('connection strings of PostgreSQL')

/** What the URL is refused for, and `undefined` where it is taken. */
function refusal(url: string): string | undefined {
  try {
    readConnectionUrl(url)
    return undefined
  } catch (error) {
    assert.ok(error instanceof StoreOpenError && error.code === 'store-unsupported', String(error))
    assert.not.match(error.message, /hunter2/, 'no message repeats a password')
    return error.message
  }
}

const at = (host: string, query = '') => `postgres://ledger:hunter2@${host}/agents${query}`

test('to another machine nothing goes in the clear unless the URL says sslmode=disable (STR-38, F250)', () => {
  for (const host of [
    'db',
    'db:5432',
    '10.0.0.7',
    '[fd00::1]',
    'localhost.example',
    '127.0.0.1.example',
    '128.0.0.1',
  ]) {
    const why = refusal(at(host)) ?? 'taken'
    assert.match(why, /another machine: write sslmode=verify-full .* or sslmode=disable on a network where/, host)
    assert.match(refusal(at(host, '?schema=x&sslmode=')) ?? 'taken', 'sslmode is one of', host)
    assert.equal(readConnectionUrl(at(host, '?sslmode=disable')).secrecy, 'not encrypted')
  }
  for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '127.3.2.1:5433', '[::1]', '%2Fvar%2Frun%2Fpostgresql']) {
    const { config, secrecy } = readConnectionUrl(at(host))
    assert.equal([config.ssl, secrecy], [false, 'this machine'], host)
  }
})

test('an encrypted connection says whether the server is verified (STR-38)', () => {
  const read = (query: string) => {
    const { config, secrecy } = readConnectionUrl(at('db', query))
    const { rejectUnauthorized, checkServerIdentity } = config.ssl as { [name: string]: unknown }
    return [rejectUnauthorized, checkServerIdentity === undefined, secrecy]
  }
  assert.equal(read('?sslmode=verify-full'), [true, true, 'encrypted'])
  assert.equal(read('?sslmode=verify-ca'), [true, false, 'encrypted'])
  assert.equal(read('?sslmode=require'), [false, true, 'encrypted, server not verified'])
})

test('what would weaken a connection unread is refused: an option twice, an authority that nobody looks at (STR-38)', () => {
  const refused: readonly (readonly [query: string, why: RegExp])[] = [
    ['?sslmode=disable&sslmode=verify-full', /sslmode is given more than once/],
    ['?sslmode=require&sslrootcert=ca.pem', /sslrootcert means nothing under sslmode=require/],
    ['?sslmode=disable&sslkey=key.pem', /sslkey means nothing under sslmode=disable/],
    ['?sslmode=prefer', /sslmode is one of disable, require, verify-ca, verify-full/],
    ['?sslmode=verify-full&sslrootcert=/nowhere/ca.pem', /the file of sslrootcert cannot be read/],
    ['?ssl=true', /the option "ssl" is not supported/],
  ]
  for (const [query, why] of refused) assert.match(refusal(at('db', query)) ?? 'taken', why)
  assert.match(refusal(at('localhost', '?sslrootcert=ca.pem')) ?? 'taken', /sslrootcert means nothing/)
  assert.match(refusal('postgres://ledger:100%hunter2@localhost/agents') ?? 'taken', /as %25/)
})

test.run()
