// uvu's own equality stumbles over a member named `constructor`.
import { deepStrictEqual } from 'node:assert'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { FINDINGS_MAX, Finding } from '../../../schemas/finding.ts'
import type { Json, JsonObject } from '../../../schemas/json.ts'
import { resolvePolicy } from '../../../schemas/resolve-policy.ts'
import { emptyEvidence } from '../../../src/domain/validator/evidence.ts'
import { type HandoffInput, type Verdict, validateHandoff } from '../../../src/domain/validator/validate.ts'
import { jsonDigest } from '../../../src/signing/digests.ts'
import { rounds } from '../../support/rounds.ts'
import { context, reversedKeys } from './contexts.ts'

const test = suite('validator')
const policy = resolvePolicy({ suspect: 'refuse' })

function judge(before: Json, after: Json, more: Partial<HandoffInput> = {}): Verdict {
  return validateHandoff({ before: before as JsonObject, after: after as JsonObject, policy, ...more })
}

const copy = (value: Json): Json => JSON.parse(JSON.stringify(value))
const rules = ({ findings }: Verdict): string[] => findings.map(({ rule, path }) => `${rule} ${path}`)
const empty = { added: [], removed: [], modified: [] }

test('what did not change is accepted with confidence 1 and without a difference', () => {
  fc.assert(
    fc.property(context, (before) => {
      const { verdict, confidence = 1, diff, findings } = judge(before, copy(before))
      assert.equal({ verdict, confidence, diff }, { verdict: 'accept', confidence: 1, diff: empty })
      assert.ok(findings.every(({ rule }) => rule === 'nothing-protected'))
    }),
  )
})

test('the order in which a sender writes members changes nothing in the verdict', () => {
  fc.assert(
    fc.property(context, context, (before, after) => {
      deepStrictEqual(judge(reversedKeys(before), reversedKeys(after)), judge(before, after))
    }),
    { numRuns: rounds(60, 500) },
  )
})

test('any two contexts are judged: shares are shares, findings fit their schema, errors and only errors refuse', () => {
  fc.assert(
    fc.property(context, context, (before, after) => {
      const { verdict, confidence = 0, findings, findingsTotal } = judge(before, after)
      assert.ok(confidence >= 0 && confidence <= 1)
      assert.ok(findings.length === Math.min(findingsTotal, FINDINGS_MAX))
      for (const finding of findings) deepStrictEqual(Finding.parse(finding), finding)
      assert.is(verdict, findings.some(({ severity }) => severity === 'error') ? 'reject' : 'accept')
    }),
    { numRuns: rounds(60, 500) },
  )
})

test('a hundred findings are kept and all are counted', () => {
  const before = { facts: Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`f${i}`, i])) }
  const { findings, findingsTotal, diff, confidence } = judge(before, { facts: {} })
  assert.equal([findings.length, findingsTotal, diff.removed.length, confidence], [100, 250, 100, 0])
})

test('a value of more than 1 KiB stands in a finding as its digest', () => {
  const long = { text: 'x'.repeat(1024) }
  const [finding] = judge({ facts: { a: long } }, { facts: { a: 'x'.repeat(1022) } }).findings
  assert.equal(finding?.before, { digest: jsonDigest(long), bytes: 1035 })
  assert.is(finding?.after, 'x'.repeat(1022))
})

test('a key outside the manifest must keep its value, not its place (RUN-35)', () => {
  const before = { facts: { a: 1 }, plan: ['x', 'y'], notes: 'n' }
  const writes = ['plan']
  assert.equal(rules(judge(before, { ...before, plan: [] }, { writes })), [])
  assert.equal(rules(judge(before, { ...before, notes: 'm' }, { writes })), ['manifest-violation /notes'])
  assert.equal(rules(judge(before, { ...before, extra: 1 }, { writes })), ['manifest-violation /extra'])
  assert.equal(rules(judge(before, { facts: before.facts, plan: [] }, { writes })), ['manifest-violation /notes'])
  assert.equal(rules(judge(before, { ...before, facts: { a: 1, b: 2 } }, { writes })), ['manifest-violation /facts'])
})

test('a list outside the manifest may be carried along in another order only where its order says nothing', () => {
  const before = { facts: ['a', 'b'], steps: [1, 2] }
  assert.equal(rules(judge(before, { facts: ['b', 'a'], steps: [1, 2] }, { writes: [] })), [])
  assert.ok(rules(judge(before, { ...before, steps: [2, 1] }, { writes: [] })).includes('manifest-violation /steps'))
})

test('superseding does not widen the manifest', () => {
  const supersedes = [{ path: '/facts/a', reason: 'wrong' }]
  const verdict = judge({ facts: { a: 1 } }, { facts: { a: 2 } }, { supersedes, writes: [] })
  assert.equal(rules(verdict), ['manifest-violation /facts', 'superseded /facts/a'])
})

test('the schema is about what was handed over, not about the context it leads to', () => {
  const schema = { type: 'object', required: ['facts'], additionalProperties: false, properties: { facts: {} } }
  const before = { team: 1 }
  const after = { team: 1, facts: { a: 1 } }
  assert.equal(rules(judge(before, after, { schema, payload: { facts: { a: 1 } } })), [])
  assert.equal(rules(judge(before, after, { schema })), ['schema-violation /team'])
  assert.equal(rules(judge({}, {}, { schema })), ['schema-violation '])
})

test('policy relay judges neither grounds nor the first handoff', () => {
  const relay = resolvePolicy('relay')
  const after = { entities: ['one', 'two', 'three'] }
  assert.is(judge({}, after, { policy: relay }).verdict, 'reject')
  assert.is(judge({}, after, { policy: relay, first: true }).verdict, 'accept')
  assert.equal(judge({}, after, { policy: relay, first: true, evidence: emptyEvidence() }).findings, [])
})

test('ten thousand members are matched in time that grows with their number', () => {
  const list = (length: number, change: (i: number) => Json): Json => Array.from({ length }, (_, i) => change(i))
  const after = list(10_000, (i) => ({ t: 9_999 - i, v: `v${9_999 - i}`, more: 1 }))
  const { verdict, confidence } = judge({ facts: list(10_000, (i) => ({ t: i, v: `v${i}` })) }, { facts: after })
  assert.equal({ verdict, confidence }, { verdict: 'accept', confidence: 1 })
})

test('lists made to be tried against each other end within the budget', () => {
  const nested =
    (turn: number) =>
    (i: number): Json => [[[]], Array.from({ length: i % turn }, () => [[]]), [i % 3 === 0 ? [] : [[]]]]
  const list = (turn: number): Json => Array.from({ length: 8_000 }, (_, i) => nested(turn)(i))
  assert.ok(['accept', 'reject'].includes(judge({ facts: list(41) }, { facts: list(53) }).verdict))
})

test('neither input is changed', () => {
  fc.assert(
    fc.property(context, context, (before, after) => {
      const kept = [copy(before), copy(after)]
      judge(before, after)
      deepStrictEqual([before, after], kept)
    }),
  )
})

test.run()
