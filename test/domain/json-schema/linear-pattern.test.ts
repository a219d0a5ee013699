import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { compilePattern } from '../../../src/domain/json-schema/linear-pattern.ts'
import { WorkExhausted } from '../../../src/domain/json-schema/work.ts'

const test = suite('patterns in linear time')

const runs = (pattern: string, text: string): boolean =>
  compilePattern(pattern, { stepsLeft: 1e7 }).test(text, { stepsLeft: 1e7 })

test('patterns mean what they mean in ECMAScript', () => {
  const table: [pattern: string, texts: string[]][] = [
    ['^[a-z]{2,4}-\\d+$', ['ab-1', 'abcde-1', 'a-1', 'abcd-', 'ABC-1']],
    ['^(?:SEA|NYC)(?<to>-[A-Z]{3})?$', ['SEA', 'NYC-SEA', 'SEANYC']],
    ['\\bart\\b', ['an art', 'party', 'art', 'é art']],
    ['\\Bart', ['party', 'art']],
    ['^.$', ['😀', '\n', 'a', '']],
    ['^[^\\]\\\\/]$', [']', '\\', '/', 'x']],
    ['^\\p{Lu}\\P{Lu}*$', ['Élan', 'éÉ', 'AbC']],
    ['^\\u{1f600}\\x41\\u0042\\cJ$', ['😀AB\n', '😀AB']],
    ['^\\ud83d\\ude00$', ['😀', '\ud83d']],
    ['^[\\ud83d\\ude00-\\u{1f64f}]+$', ['😀😁', 'x']],
    ['a{0}b', ['b', 'ab', 'a']],
    ['^a{2}$|^b{1,}?$', ['aa', 'a', 'bbb', '']],
    ['^(|a)+$', ['', 'aaa', 'b']],
    ['(a*)*$', ['', 'b', 'aab']],
    ['^\\$\\.\\{\\}\\/\\|$', ['$.{}/|', '$']],
    ['[\\w.+-]+@[\\w-]+\\.[\\w.]+', ['a.b+c@d-e.fr', 'a@b', '@']],
    ['^[\\b\\-\\]]$', ['\b', '-', ']', 'b']],
    ['', ['', 'x']],
  ]
  for (const [pattern, texts] of table) {
    for (const text of texts)
      assert.is(runs(pattern, text), new RegExp(pattern, 'u').test(text), `${pattern} on ${JSON.stringify(text)}`)
  }
})

test('random patterns agree with the engine on random texts', () => {
  const leaf = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\w', '\\b', '^', '$', '')
  const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
    pattern: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => a + b),
      fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`),
      fc
        .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,}', '{0,2}', '*?'))
        .map(([a, q]) => `(${a})${q}`),
    ),
  }))
  const text = fc.array(fc.constantFrom('a', 'b', 'é', ' ', '😀'), { maxLength: 6 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(pattern, text, (source, given) => {
      assert.is(runs(source, given), new RegExp(source, 'u').test(given))
    }),
    { numRuns: 2_000 },
  )
})

test('what has no linear bound is refused: look-around and back-references', () => {
  for (const pattern of [
    '(?=a)',
    '(?!a)',
    '(?<=a)',
    '(?<!a)',
    '(a)\\1',
    '(?<n>a)\\k<n>',
    'a{5000}',
    '((a{100}){100}){100}',
  ]) {
    assert.throws(
      () => compilePattern(pattern, { stepsLeft: 1e6 }),
      (error: Error) => error instanceof SyntaxError,
      pattern,
    )
  }
  assert.throws(
    () => runs('(', ''),
    (error: Error) => error instanceof SyntaxError,
  )
  assert.throws(
    () => compilePattern('a', { stepsLeft: 1e6 }).test('bbb', { stepsLeft: 1 }),
    (error: Error) => error instanceof WorkExhausted,
  )
})

test.run()
