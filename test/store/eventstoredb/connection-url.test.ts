import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { StoreOpenError } from '../../../src/store/event-store.ts'
import { readConnectionUrl } from '../../../src/store/eventstoredb/connection-url.ts'

const test = suite('connection strings of EventStoreDB')

test('every spelling of a URL becomes the one that the client knows', () => {
  const read = (text: string): string => readConnectionUrl(text).connection
  assert.is(read('esdb://localhost:2113?tls=false'), 'esdb://localhost:2113?tls=false')
  assert.is(read('kurrentdb://localhost:2113/?tls=false'), 'esdb://localhost:2113?tls=false')
  const search = 'gossipTimeout=2&maxDiscoverAttempts=3'
  assert.is(read('esdb+discover://cluster.example:2113'), `esdb+discover://cluster.example:2113?${search}`)
  assert.is(read('kurrentdb+discover://cluster.example'), `esdb+discover://cluster.example?${search}`)
  const three = 'esdb://a:1,b:2,c:3?nodePreference=leader&tlsCAFile=ca.pem'
  assert.is(read(three), `${three}&${search}`)
  const own = 'esdb://a:1,b:2?gossip_timeout=9&maxDiscoverAttempts=1'
  assert.is(read(own), own)
})

test('credentials reach the client and nobody else', () => {
  const { connection, shown } = readConnectionUrl('kurrentdb://admin:chang%3Ait@db:2113?tls=true')
  assert.is(connection, 'esdb://admin:chang%3Ait@db:2113?tls=true')
  assert.is(shown, 'kurrentdb://db:2113?tls=true')
})

test('a URL that cannot be used is refused without a word of its password', () => {
  const unusable = [
    'esdb://',
    'esdb:host',
    'http://host',
    'esdb://admin:secret@',
    'esdb://admin:secret:more@host',
    'esdb://adminsecret@host',
    'esdb://admin:secret@host:port',
    'esdb://admin:secret@[::1]:2113',
    'esdb://admin:secret@host?tls',
    'esdb://admin:secret@host?tls=',
    'esdb://admin:secret@host?tlsVerifyCert=false',
    'esdb://admin:secret@host?throwOnAppendFailure=false',
    'esdb://admin:secret@host?what=ever',
  ]
  for (const text of unusable) {
    try {
      readConnectionUrl(text)
      assert.unreachable(text)
    } catch (error) {
      assert.ok(error instanceof StoreOpenError && error.code === 'store-unsupported', text)
      assert.not.match(error.message, /secret/)
    }
  }
})

test.run()
