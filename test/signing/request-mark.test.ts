import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { RequestMark } from '../../schemas/header.ts'
import { requestId, requestMac, runIdFromKey } from '../../src/signing/request-mark.ts'

const test = suite('request mark')
const scope = { tenant: 'acme', run: 'r1', actor: 'agent' }
const key = Buffer.alloc(32, 1)
const content = { method: 'POST', path: '/v1/runs/r1/envelopes', body: { a: 1, b: [2] } }

test('a mark is one that the header takes', () => {
  const mark = { id: requestId(scope, 'key-1'), mac: requestMac(key, content) }
  assert.equal(RequestMark.parse(mark), mark)
  assert.match(mark.id, /^[0-9a-f]{8}-[0-9a-f]{4}-5/)
})

test('the id is the same at every repeat, and another for another key, tenant, run or actor (STR-13)', () => {
  assert.is(requestId(scope, 'key-1'), requestId({ ...scope }, 'key-1'))
  const ids = [
    requestId(scope, 'key-1'),
    requestId(scope, 'key-2'),
    requestId({ ...scope, tenant: 'acm' }, 'key-1'),
    requestId({ ...scope, run: 'r2' }, 'key-1'),
    requestId({ ...scope, actor: 'other' }, 'key-1'),
    requestId({ ...scope, run: 'r1","x' }, 'key-1'),
    runIdFromKey('acme', 'agent', 'key-1'),
    runIdFromKey('acme', 'agent', 'key-2'),
  ]
  assert.is(new Set(ids).size, ids.length)
})

test('ids stay what they were: they are on disk', () => {
  assert.is(requestId(scope, 'key-1'), '85076694-6b28-54dd-93d4-1b1437705044')
  assert.is(runIdFromKey('acme', 'agent', 'key-1'), '1daa6f85-84da-5be8-b76f-f521d9a40751')
})

test('another method, path, body or key gives another mac; another spelling of the body does not (F15, STR-13)', () => {
  const macs = [
    requestMac(key, content),
    requestMac(key, { ...content, method: 'PUT' }),
    requestMac(key, { ...content, path: '/v1/runs/r2/envelopes' }),
    requestMac(key, { ...content, body: { a: 1, b: [3] } }),
    requestMac(key, { ...content, body: undefined }),
    requestMac(key, { ...content, body: null }),
    requestMac(Buffer.alloc(32, 2), content),
  ]
  assert.is(new Set(macs).size, macs.length)
  assert.is(requestMac(key, { ...content, body: { b: [2], a: 1 } }), macs[0])
})

test.run()
