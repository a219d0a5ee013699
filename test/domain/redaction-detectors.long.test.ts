import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { normalForm } from '../../schemas/normal-form.ts'
import { REDACTION_DETECTORS } from '../../schemas/redaction.ts'
import { spansOf } from '../../src/domain/redaction/detectors.ts'
import { plainForm } from '../../src/domain/redaction/plain-form.ts'
import { BLOCK_CHARS, TextSteps } from '../../src/domain/redaction/text-steps.ts'
import { finish, Pauses, PIECE_STEPS } from '../../src/domain/yielding.ts'
import { rounds } from '../support/rounds.ts'
import { expectedPlainForm, expectedSpans } from './redaction-oracle.ts'

const test = suite('detectors of redaction')

const MARK = /[\p{M}\uff9e]/u
const PLAIN_MAX = 2 * 1024 * 1024

const steps = (): TextSteps => new TextSteps({ stepsLeft: 1e12 }, new Pauses())

type Detector = (typeof REDACTION_DETECTORS)[number]

function found(detector: Detector, text: string): readonly (readonly [number, number])[] {
  const lists = finish(spansOf(detector, text, steps()))
  return lists.flat().map(({ from, to }) => [from, to] as const)
}

const expected = (detector: Detector, text: string): readonly (readonly [number, number])[] =>
  expectedSpans(detector, text).map(({ from, to }) => [from, to] as const)

const KEY = ['-----BEGIN', 'PRIVATE KEY-----'].join(' ')

/** Something for each detector, and each part of that. */
const WHOLE = [
  'a.b+c@mail.example.com',
  '4111 1111 1111 1111',
  '378282246310005',
  '4000-0566-5566-5556-123',
  'DE89 3704 0044 0532 0130 00',
  'NO9386011117947',
  '+49 (30) 123-4567',
  '078-05-1120',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
  'Bearer abcdef012345678==',
  'TOKEN  abcdefghijklmnop/1',
  `${['ghp', '0123456789abcdefABCD'].join('_')}`,
  `${['sk', 'live', 'abcdefghijklmnopqrst'].join('_')}`,
  `AKIA${'ABCDEFGH12345678'}`,
  'https://user:secret@example.com',
  `${KEY}\nabc\n-----END PRIVATE KEY-----`,
]
const SMALL = [
  'a',
  'Z',
  '4',
  '0',
  '1',
  '9',
  '.',
  '-',
  ' ',
  '+',
  '@',
  ':',
  '/',
  '=',
  '_',
  '(',
  '\n',
  'eyJ',
  '://',
  'é',
  '１',
  '\u{1d7d8}',
  '\u{1f600}',
  '\u0301',
  '\u200b',
  'ß',
]
const HOSTILE = [
  'a@',
  'a.a.',
  '@',
  'eyJ',
  'eyJaaaaaaa.',
  '4 ',
  '4-',
  '44 4 ',
  '+1 ',
  KEY,
  '-----END',
  '-----BEGIN ',
  'AA00',
  'AA00 ',
  'DE89 ',
  '1-',
  '000-00-',
  '://a:',
  '://',
  'bearer ',
  'sk-',
  'AKIA',
  '======',
]

const piece = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...SMALL) },
  { weight: 2, arbitrary: fc.constantFrom(...HOSTILE) },
  fc.constantFrom(...WHOLE),
  fc
    .tuple(fc.constantFrom(...WHOLE), fc.nat(30), fc.nat(30))
    .map(([whole, from, to]) => whole.slice(Math.min(from, to), Math.max(from, to) + 1)),
  fc.tuple(fc.constantFrom(...SMALL, ...HOSTILE), fc.integer({ min: 2, max: 140 })).map(([each, n]) => each.repeat(n)),
)
const text = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(''))

test('what each detector finds is what its expression finds, on texts made at random', () => {
  for (const detector of REDACTION_DETECTORS) {
    fc.assert(
      fc.property(text, (given) => assert.equal(found(detector, given), expected(detector, given))),
      { numRuns: rounds(60, 600) },
    )
    for (const whole of WHOLE) {
      for (let at = 0; at <= whole.length; at += rounds(5, 1)) {
        for (const part of [whole.slice(0, at), whole.slice(at)]) {
          for (const given of [part.repeat(40), `${part} `.repeat(40), `${part}${whole}`, `${whole}${part}${whole}`])
            assert.equal(found(detector, given), expected(detector, given), `${detector} ${given}`)
        }
      }
    }
  }
})

test('what crosses the border of two blocks is found as well', () => {
  for (const whole of WHOLE) {
    for (let before = BLOCK_CHARS - whole.length; before <= BLOCK_CHARS; before += rounds(11, 3)) {
      const given = `${' '.repeat(before)}${whole} ${'x'.repeat(BLOCK_CHARS)} ${whole}`
      for (const detector of REDACTION_DETECTORS) assert.equal(found(detector, given), expected(detector, given))
    }
  }
})

test('a text without hidden characters is the same, taken in blocks or as one', () => {
  const plain = (given: string): string | undefined => finish(plainForm(given, PLAIN_MAX, steps()))
  const letters = [
    ...SMALL,
    '\u1100',
    '\u1161',
    '\u11a8',
    '\uff76',
    '\uff9e',
    '\ufdfa',
    '\u0344',
    '\u{1d165}',
    '漢',
    '한',
  ]
  const long = fc.array(fc.tuple(fc.constantFrom(...letters), fc.integer({ min: 1, max: 90 })), { maxLength: 200 })
  fc.assert(
    fc.property(long, fc.integer({ min: 1, max: 20 }), (runs, shift) => {
      const given = 'x'.repeat(shift) + runs.map(([each, n]) => each.repeat(MARK.test(each) ? 2 : n)).join('')
      const text = given.repeat(Math.ceil((2 * BLOCK_CHARS) / Math.max(1, given.length)))
      assert.is(plain(text), expectedPlainForm(text, PLAIN_MAX))
    }),
    { numRuns: rounds(15, 60) },
  )
})

test('a normal form is that of the engine, and takes time linear in rows of combining marks (A247)', () => {
  const marks = ['\u0301', '\u0327', '\u0345', '\uff9e', '\u{1d165}', '\u{1e8d0}']
  for (const form of ['NFC', 'NFKC'] as const) {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...marks, ...marks, 'e', '漢'), { maxLength: 120 }),
        fc.nat(200),
        (row, n) => {
          const given = `${'é'.repeat(n)}${row.join('')}e\u0301`
          if (row.join('').length <= 120) assert.is(normalForm(form, given), given.normalize(form))
        },
      ),
    )
  }
  /** Of the processor, in milliseconds: a busy machine gives it late. */
  const timeOf = (given: string): number => {
    const before = process.cpuUsage()
    normalForm('NFKC', given)
    return process.cpuUsage(before).user / 1_000
  }
  const row = '\u0301'.repeat(8_000) + '\u0327'.repeat(8_000)
  timeOf(row)
  const once = Math.min(timeOf(row), timeOf(row), timeOf(row))
  assert.ok(timeOf(row.repeat(8)) < once * 8 * 6 + 50)
})

/** Longest part that an expression with flag `y` of the detectors reads. */
const STICKY_CHARS = 30

/** How many characters are really looked at meanwhile, counted where texts are read: what the detectors charge plays no part. */
function charsRead(work: () => unknown): number {
  const { charCodeAt, codePointAt, charAt, startsWith, endsWith, indexOf } = String.prototype
  const { test: tests } = RegExp.prototype
  let chars = 0
  const counted = <A extends unknown[], R>(
    read: (this: string, ...of: A) => R,
    ofCall: (text: string, of: A) => number,
  ) =>
    function (this: string, ...of: A): R {
      chars += ofCall(this, of)
      return read.apply(this, of)
    }
  Object.assign(String.prototype, {
    charCodeAt: counted(charCodeAt, () => 1),
    codePointAt: counted(codePointAt, () => 1),
    charAt: counted(charAt, () => 1),
    startsWith: counted(startsWith, (_, [what]) => what.length),
    endsWith: counted(endsWith, (_, [what]) => what.length),
    indexOf(this: string, what: string): number {
      const found = indexOf.call(this, what)
      chars += found === -1 ? this.length : found + what.length
      return found
    },
  })
  RegExp.prototype.test = function (given) {
    chars += this.sticky ? STICKY_CHARS : given.length
    return tests.call(this, given)
  }
  try {
    work()
    return chars
  } finally {
    Object.assign(String.prototype, { charCodeAt, codePointAt, charAt, startsWith, endsWith, indexOf })
    RegExp.prototype.test = tests
  }
}

function charged(detector: Detector, given: string): { readonly steps: number; readonly most: number } {
  const work = { stepsLeft: 1e12 }
  const pauses = new Pauses()
  finish(spansOf(detector, given, new TextSteps(work, pauses)))
  return { steps: 1e12 - work.stepsLeft, most: pauses.most }
}

const CHARS = 16 * 1024

const repeated = (unit: string, chars: number): string => unit.repeat(Math.ceil(chars / unit.length)).slice(0, chars)

const UNITS = [
  ...HOSTILE,
  ...HOSTILE.map((unit) => `${unit} `),
  'a@a.',
  'a@a.a ',
  '4 4-',
  '4444 4444 4444 444x ',
  '+1 2 3 4 5 6x',
  'aaaaaaaaaaaaaaaaaaaaaaa ',
  'AA00 0000 000-',
  'AA00aaaaaaaaaaaaaaa',
  'DE89 3704 0044 0532 0130 00 ',
  'sk-aaaaaaaaaaaaaaa ',
  'sk_live_aaaaaaaaaaaaaaa.',
  'bearer    aaaaaaaaaaa ',
  'bearer aaaaaaaaaaaa ',
  `://${'a'.repeat(64)}:${'a'.repeat(128)} `,
  `-----BEGIN ${'A'.repeat(44)}`,
  '-----BEGIN PRIVATE KEY-----END',
  '-----E',
]
/** Most that a detector may read for a character of its text. */
const READS_A_CHAR = 90
/** A step is charged for so many characters, and for some that are looked at more than once. */
const READS_A_STEP = 8 * 6

test('a detector reads in proportion to its text, at the worst that is found, and charges what it reads (A247)', () => {
  const parts = WHOLE.flatMap((whole) => [whole, whole.slice(0, -1), whole.slice(1), `${whole.slice(0, -1)} `])
  for (const detector of REDACTION_DETECTORS) {
    const costs = [...UNITS, ...parts].map((unit) => ({
      unit,
      read: charsRead(() => charged(detector, repeated(unit, 4_096))),
    }))
    for (const { unit } of costs.sort((a, b) => b.read - a.read).slice(0, rounds(1, 3))) {
      const base = charsRead(() => charged(detector, repeated(unit, CHARS)))
      assert.ok(base < CHARS * READS_A_CHAR, `${detector} ${unit}: ${base / CHARS} a character`)
      for (const factor of [2, 4, 8]) {
        const given = repeated(unit, CHARS * factor)
        const read = charsRead(() => charged(detector, given))
        assert.ok(read < base * factor * 1.05, `${detector} ${unit}: ${read} for ${factor} times ${base}`)
        const { steps: paid, most } = charged(detector, given)
        assert.ok(read < paid * READS_A_STEP, `${detector} ${unit}: ${read} read, ${paid} steps charged`)
        assert.ok(most < 2 * PIECE_STEPS, `${detector} ${unit}: ${most} without a pause`)
      }
    }
  }
})

test('no text that is searched for makes a detector read more than its share for a character (A247)', () => {
  const unit = fc.array(piece, { minLength: 1, maxLength: 4 }).map((pieces) => pieces.join('') || 'a')
  for (const detector of REDACTION_DETECTORS) {
    fc.assert(
      fc.property(unit, (given) => {
        const once = charsRead(() => charged(detector, repeated(given, 2_000)))
        const eightfold = charsRead(() => charged(detector, repeated(given, 16_000)))
        assert.ok(eightfold < once * 8 * 1.3 + 2_000, `${once} to ${eightfold}`)
        assert.ok(eightfold < 16_000 * READS_A_CHAR, `${eightfold / 16_000} a character`)
      }),
      { numRuns: rounds(15, 100) },
    )
  }
})

test('a detector gives way within one text, as often as its text is longer (A247)', () => {
  for (const detector of REDACTION_DETECTORS) {
    const units = ['4 ', 'a', 'eyJaaaaaa.', 'a@a.a', `${KEY} `, 'bearer abcdefghijklmnop', 'AA00 ']
    for (const unit of units.filter((_, at) => at % rounds(3, 1) === 0)) {
      const pausesOf = (chars: number): number => {
        let pauses = 0
        for (const work = spansOf(detector, repeated(unit, chars), steps()); work.next().done !== true; ) pauses += 1
        return pauses
      }
      const once = pausesOf(512 * 1024)
      assert.ok(once > 1, `${detector} ${unit}: ${once}`)
      assert.ok(pausesOf(1024 * 1024) >= 1.5 * once)
    }
  }
})

test.run()
