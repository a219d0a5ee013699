import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseJson, parseJsonOrUndefined } from '../../schemas/json.ts'
import { rounds } from '../support/rounds.ts'

const test = suite('JSON as the language defines it')

/** Keys and values in the order of the text, whatever a key is called; numbers are told from texts. */
function listed(value: unknown): unknown {
  if (Array.isArray(value)) return ['list', ...value.map(listed)]
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : value
  return ['object', ...Reflect.ownKeys(value).map((key) => [key, listed(Reflect.get(value, key))])]
}

const KEY_PARTS = fc.constantFrom(
  '\\\\',
  '\\"',
  '\\n',
  '\\t',
  '\\/',
  '\\u005c',
  '\\u0022',
  '\\u00e9',
  'n',
  't',
  'u005c',
  '"x"',
  ':',
  'é',
  '𝒳',
  '1',
)
const KEY = fc.array(KEY_PARTS, { maxLength: 3 }).map((parts) => `"${parts.join('').replaceAll('"x"', '\\"x\\"')}"`)
const SPACE = fc.constantFrom('', ' ', '\n', '\t ')
const { text: TEXT } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    KEY,
    fc.constantFrom('0', '-1.5e-3', 'true', 'false', 'null', '"\\": {"', '[]', '{}'),
    fc.array(tie('text'), { maxLength: 4 }).map((items) => `[${items.join(' ,')}]`),
    fc
      .array(fc.tuple(KEY, SPACE, tie('text')), { maxLength: 4 })
      .map((members) => `{${members.map(([key, space, text]) => `${key}${space}:${space}${text}`).join(',')}}`),
  ),
}))

test('a key with an escape has its own name, whatever was read before it (A302)', () => {
  const pairs = [
    ['{"a":0,"\\\\":0}', '{"a":0,"\\"":1}', '"'],
    ['{"b":[],"\\\\":0}', '{"b":1,"\\n":2}', '\n'],
    ['{"c":1,"\\\\n":0}', '{"c":1,"\\n\\n":2}', '\n\n'],
    ['{"d":1,"x\\\\":0}', '{"d":1,"x\\t":2}', 'x\t'],
    ['{"e":1,"\\\\":0}', '{"e":1,"\\u0041" : 2}', 'A'],
  ] as const
  for (const [before, text, key] of pairs) {
    parseJson(before)
    assert.is(Object.keys(parseJson(text) as object)[1], key, text)
    parseJson(before)
    assert.is(Object.keys((parseJson(`[[${text}]]`) as object[][])[0]?.[0] ?? {})[1], key, `within lists: ${text}`)
  }
})

test('any text is read as the compiler of the language reads it, in one pass after another', () => {
  fc.assert(
    fc.property(fc.array(TEXT, { minLength: 1, maxLength: 6 }), (texts) => {
      for (const text of texts) {
        assert.equal(listed(parseJson(text)), listed(readApart(text)))
      }
    }),
    { numRuns: rounds(100, 400) },
  )
})

/** By the compiler of JavaScript, which takes no such shortcut and reads JSON as itself; its answer holds keys as texts, so that none is escaped. */
function readApart(text: string): unknown {
  const marked = runInNewContext(
    `JSON.stringify((function mark(v) {
      if (Array.isArray(v)) return v.map(mark)
      if (typeof v !== 'object' || v === null) return { value: v }
      return { members: Object.keys(v).map((key) => ({ key, of: mark(v[key]) })) }
    })((${text})))`,
  ) as string
  type Marked =
    | readonly Marked[]
    | { readonly value: unknown }
    | { readonly members: readonly { readonly key: string; readonly of: Marked }[] }
  const plain = (marked: Marked): unknown => {
    if (Array.isArray(marked)) return marked.map(plain)
    if ('value' in marked) return marked.value
    const { members } = marked as Extract<Marked, { readonly members: unknown }>
    return Object.fromEntries(members.map(({ key, of }) => [key, plain(of)]))
  }
  return plain(JSON.parse(marked))
}

test('members named __proto__ are members, the last of two keys counts, and what is no JSON throws or is undefined', () => {
  const value = parseJson('{"\\"":1,"__proto__":{"x":1},"a":1,"a":2}') as Record<string, unknown>
  assert.equal(Object.keys(value), ['"', '__proto__', 'a'])
  assert.is(Object.getPrototypeOf(value), Object.prototype)
  assert.is(value.a, 2)
  assert.throws(
    () => parseJson('{"\\"":1'),
    (error: unknown) => error instanceof SyntaxError,
  )
  assert.is(parseJsonOrUndefined('{"\\"":}'), undefined)
  assert.is(parseJsonOrUndefined('null'), null)
})

test('depth and length cost no stack, and time in proportion', () => {
  const deep = parseJson(`${'['.repeat(50_000)}{"\\"":1}${']'.repeat(50_000)}`)
  let depth = 0
  for (let at: unknown = deep; Array.isArray(at); at = at[0]) depth += 1
  assert.is(depth, 50_000)
  const long = JSON.stringify({ '"': 'x\n"'.repeat(500_000), plain: '\\'.repeat(500_000) })
  assert.equal(parseJson(long), JSON.parse(long))
})

test.run()
