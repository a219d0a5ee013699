import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { formatPointer, parsePointer, valueAt } from '../../../schemas/json-pointer.ts'

const test = suite('JSON Pointers')

// RFC 6901, section 5.
const DOCUMENT = {
  foo: ['bar', 'baz'],
  '': 0,
  'a/b': 1,
  'c%d': 2,
  'e^f': 3,
  'g|h': 4,
  'i\\j': 5,
  'k"l': 6,
  ' ': 7,
  'm~n': 8,
}
const RFC_6901: [pointer: string, value: unknown][] = [
  ['', DOCUMENT],
  ['/foo', ['bar', 'baz']],
  ['/foo/0', 'bar'],
  ['/', 0],
  ['/a~1b', 1],
  ['/c%d', 2],
  ['/e^f', 3],
  ['/g|h', 4],
  ['/i\\j', 5],
  ['/k"l', 6],
  ['/ ', 7],
  ['/m~0n', 8],
]

test('the examples of RFC 6901 lead to their values', () => {
  for (const [pointer, value] of RFC_6901) {
    const tokens = parsePointer(pointer)
    assert.equal(tokens === undefined ? undefined : valueAt(DOCUMENT, tokens), value, pointer)
    assert.is(formatPointer(tokens ?? []), pointer)
  }
})

test('what is no pointer is none, and what is nowhere has no value', () => {
  for (const text of ['foo', '~', '/~', '/~2', '/a~', '#/foo', ' /foo']) assert.is(parsePointer(text), undefined, text)
  for (const tokens of [
    ['foo', '2'],
    ['foo', '-'],
    ['foo', '00'],
    ['foo', '1e0'],
    ['foo', 'length'],
    ['toString'],
    ['foo', '0', 'x'],
  ]) {
    assert.is(valueAt(DOCUMENT, tokens), undefined, tokens.join())
  }
})

test('any tokens survive a pointer', () => {
  fc.assert(fc.property(fc.array(fc.string()), (tokens) => assert.equal(parsePointer(formatPointer(tokens)), tokens)))
})

test.run()
