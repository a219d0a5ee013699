import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../../schemas/json.ts'
import type { Policy } from '../../../schemas/policy.ts'
import { resolvePolicy } from '../../../schemas/resolve-policy.ts'
import { LINE_DOCUMENT_MAX_BYTES, validateLine } from '../../../src/domain/validator/validate-line.ts'
import { parseStrictJson } from '../../../src/signing/strict-json.ts'

const test = suite('a line of validate')

const text = (line: string | Uint8Array, policy?: Policy) => validateLine(line, resolvePolicy(policy), parseStrictJson)
const judge = (line: string | Uint8Array, policy?: Policy) => JSON.parse(text(line, policy))
const first = (line: string | Uint8Array): string => {
  const [{ rule, path }] = judge(line).findings
  return `${rule} ${path}`
}
const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`

test('a verdict is one line of JSON, its members in a fixed order', () => {
  const line = '{"before":{"facts":{"a":"x\\ny"}},"after":{"facts":{"a":"\\u2028"}}}'
  assert.not.match(text(line), /\n/)
  assert.match(
    text(line),
    /^\{"verdict":"reject","confidence":0,"diff":\{"added":\[\],"removed":\[\],"modified":\["\/facts\/a"\]\},"findings":\[\{"rule":/,
  )
})

test('what the rules of input refuse is rejected, with the place and confidence 0', () => {
  const refused: [line: string | Uint8Array, at: string][] = [
    ['', ''],
    ['{', ''],
    ['[]', ''],
    ['null', ''],
    ['{"before":{}}', '/after'],
    ['{"before":[],"after":{}}', '/before'],
    ['{"before":{},"after":null}', '/after'],
    ['{"before":{},"after":{"a":1,"a":2}}', '/after/a'],
    ['{"before":{"a":9007199254740993},"after":{}}', '/before/a'],
    ['{"before":{"a":-0},"after":{}}', '/before/a'],
    ['{"before":{},"after":{},"supersedes":{}}', '/supersedes'],
    ['{"before":{},"after":{},"supersedes":[{"path":"/a"}]}', '/supersedes'],
    ['{"before":{},"after":{},"supersedes":[{"path":1,"reason":"x"}]}', '/supersedes'],
    [`{"before":{},"after":{"a":${nested(64)}}}`, '/after'],
    [`{"before":{},"after":{"a":"${'x'.repeat(LINE_DOCUMENT_MAX_BYTES)}"}}`, '/after'],
    [new Uint8Array([0x7b, 0xff, 0x7d]), ''],
    ['\ufeff{"before":{},"after":{}}', ''],
  ]
  for (const [line, at] of refused) {
    assert.is(first(line), `invalid-input ${at}`)
    assert.equal([judge(line).verdict, judge(line).confidence], ['reject', 0])
  }
  assert.match(first('{"before":{},"after":{"a":"\\ud800"}}'), /^invalid-input/)
  assert.match(first('{"before":{},"after":{"a":"\ud800"}}'), /^invalid-input/)
  assert.match(first('{"before":{},"after":{"__proto__":1}}'), /^invalid-input/)
})

test('a document may nest 64 deep and hold 512 KiB, and evidence may be larger', () => {
  assert.is(judge(`{"before":{},"after":{"a":${nested(63)}}}`).verdict, 'accept')
  const full = `{"a":"${'x'.repeat(LINE_DOCUMENT_MAX_BYTES - 8)}"}`
  assert.is(judge(`{"before":${full},"after":${full},"evidence":[${full},${full}]}`).verdict, 'accept')
})

test('members beyond the four are left alone', () => {
  assert.is(judge('{"before":{},"after":{},"label":"innocent","findings":7}').verdict, 'accept')
})

test('bytes and text of a line are judged alike', () => {
  const line = '{"before":{"entities":["Zoë"]},"after":{"entities":["ZOË"]},"evidence":"Zoë"}'
  assert.is(text(new TextEncoder().encode(line)), text(line))
})

test('evidence is any JSON value: null and an empty list are evidence of nothing', () => {
  const line = (evidence: Json) => JSON.stringify({ before: {}, after: { entities: ['ACME'] }, evidence })
  for (const nothing of [null, [], {}, '']) assert.is(first(line(nothing)), 'ungrounded /entities/0')
  for (const something of ['ACME', ['of ACME Inc'], { ACME: 1 }]) assert.equal(judge(line(something)).findings, [])
})

test('a thousand findings print as a hundred', () => {
  const facts = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`f${i}`, i]))
  assert.is(judge(JSON.stringify({ before: { facts }, after: { facts: {} } })).findings.length, 100)
})

test('the policy decides', () => {
  const line = '{"before":{"claims":{"a":1},"facts":{"a":1}},"after":{"claims":{"a":2},"facts":{"a":1}}}'
  assert.equal([judge(line).verdict, judge(line).findings[0].suspect], ['accept', true])
  assert.is(judge(line, { suspect: 'refuse' }).verdict, 'reject')
  assert.is(judge(line, { free: ['claims'] }).verdict, 'accept')
  assert.is(judge(line, { protect: ['facts'] }).verdict, 'accept')
  assert.is(judge(line, { criticalKeys: ['claims'] }).verdict, 'reject')
  assert.is(judge(line, 'relay').verdict, 'accept')
})

test('evidence of the form {tool, result} is what a tool answered: a row that disagrees is found, and a failed call is no success (JUD-21)', () => {
  const line = (after: Json, evidence: Json) => JSON.stringify({ before: {}, after, evidence })
  const reject = { ungrounded: 'reject' } as const
  const row = [{ tool: 'get_order', result: { order_id: 'A-1001', total: 120 } }]
  const order = (total: number): Json => ({ facts: { order: { order_id: 'A-1001', total } } })
  assert.is(judge(line(order(120), row), reject).verdict, 'accept')
  assert.equal(
    judge(line(order(210), row), reject).findings.map(({ rule, path }: { rule: string; path: string }) => [rule, path]),
    ['disagrees-with-tool', 'ungrounded'].map((rule) => [rule, '/facts/order/total']),
  )
  const done = { actions: [{ id: 'c3', tool: 'refund', status: 'done' }] }
  const call = { call: 'c3', tool: 'refund' }
  assert.is(judge(line(done, [{ ...call, result: 'Error: no such payment' }]), reject).verdict, 'reject')
  assert.is(judge(line(done, [{ ...call, result: { refunded: 120 } }]), reject).verdict, 'accept')
})

test.run()
