import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Finding } from '../../../schemas/finding.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { parsePointer, valueAt } from '../../../schemas/json-pointer.ts'
import { resolvePolicy } from '../../../schemas/resolve-policy.ts'
import { changedPart } from '../../../src/dashboard/diff/changed-part.ts'
import { diffContexts } from '../../../src/dashboard/diff/context-diff.ts'
import { valueText } from '../../../src/dashboard/diff/value-text.ts'
import { validateHandoff } from '../../../src/domain/validator/validate.ts'

const test = suite('dashboard: the diff of two contexts')

const finding = (path: string): Finding => ({ rule: 'contradicted', severity: 'error', path, message: 'changed' })

test('what stayed is folded, what changed stands side by side, what came and went stands alone', () => {
  const before = { a: 1, kept: [1, 2], gone: 'x', facts: [{ id: 'f1', value: 'old' }] }
  const after = { a: 1, kept: [2, 1], facts: [{ id: 'f1', value: 'new' }], came: true }
  const { lines, changes } = diffContexts(before, after)
  assert.equal(
    lines.map(({ kind, depth, label, before: left, after: right, folded }) => [
      kind,
      depth,
      label,
      left ?? right ?? folded,
    ]),
    [
      ['folded', 0, '', 1],
      ['inside', 0, 'kept', undefined],
      ['folded', 1, '', 2],
      ['removed', 0, 'gone', 'x'],
      ['inside', 0, 'facts', undefined],
      ['inside', 1, '- f1', undefined],
      ['folded', 2, '', 1],
      ['changed', 2, 'value', 'old'],
      ['added', 0, 'came', 'true'],
    ],
  )
  assert.is(changes, 3)
})

test('a finding stands at the line it is about, also where its element moved or nothing changed there', () => {
  const before = {
    facts: [
      { id: 'a', v: 1 },
      { id: 'b', v: 2 },
    ],
    note: 'same',
  }
  const after = { facts: [{ id: 'b', v: 3 }], note: 'same' }
  const findings = [finding('/facts/0'), finding('/facts/1/v'), finding('/note'), finding('/nowhere')]
  const { lines, unplaced } = diffContexts(before, after, { findings })
  const at = (pointer: string) => lines.find((line) => line.pointer === pointer)
  assert.equal([at('/facts/0')?.kind, at('/facts/0')?.findings.length], ['removed', 1])
  assert.equal([at('/facts/1/v')?.kind, at('/facts/1/v')?.after], ['changed', '3'])
  assert.equal([at('/note')?.kind, at('/note')?.findings.length], ['same', 1])
  assert.equal(
    unplaced.map(({ path }) => path),
    ['/nowhere'],
  )
})

test('a reason stands where it permits a change', () => {
  const supersedes = [{ path: '/facts/cause', reason: 'new report' }]
  const { lines } = diffContexts({ facts: { cause: 'a' } }, { facts: { cause: 'b' } }, { supersedes })
  assert.is(lines.find(({ pointer }) => pointer === '/facts/cause')?.reason, 'new report')
})

test('lines beyond the limit are counted, not lost', () => {
  const before = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, index]))
  const { lines, omitted, changes } = diffContexts(before, {}, { linesMax: 20 })
  assert.equal([lines.length, omitted, changes], [20, 30, 50])
})

const value = fc.jsonValue({ maxDepth: 3, stringUnit: 'binary-ascii' })
const context = fc.dictionary(
  fc.constantFrom('entities', 'facts', 'a', '', 'x/y', '__proto__'),
  value,
) as fc.Arbitrary<JsonObject>

test('contexts of equal text have no change, and any other pair of scalars under a key shows up', () => {
  fc.assert(
    fc.property(context, context, (before, after) => {
      const { changes, lines } = diffContexts(before, after)
      if (valueText(before) === valueText(after)) return changes === 0
      return lines.some(({ kind }) => kind !== 'folded')
    }),
    { numRuns: 300 },
  )
})

test('every finding of the validator finds its line', () => {
  const policy = resolvePolicy({ criticalKeys: ['entities', 'facts'], ungrounded: 'off' })
  fc.assert(
    fc.property(context, context, (before, after) => {
      const { findings } = validateHandoff({ before, after, policy })
      const { unplaced } = diffContexts(before, after, { findings, linesMax: 100_000 })
      const known = unplaced.filter(({ path }) => {
        const tokens = parsePointer(path)
        return tokens !== undefined && tokens.length > 0 && valueAt(before, tokens) !== undefined
      })
      assert.equal(
        known.map(({ path }) => path),
        [],
      )
    }),
    { numRuns: 300 },
  )
})

test('the changed part of a text is whole words, and the parts are the text', () => {
  assert.equal(changedPart('184300.00 EUR', '214300.00 EUR'), ['', '184300.00', ' EUR'])
  assert.equal(changedPart('same', 'same'), ['same', '', ''])
  fc.assert(fc.property(fc.string(), fc.string(), (text, other) => changedPart(text, other).join('') === text))
})

test.run()
