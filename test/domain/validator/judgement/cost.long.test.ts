import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { identityCandidates } from '../../../../projections/list-identity.ts'
import { applyMode } from '../../../../projections/merge.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { addToolResult, emptyEvidence } from '../../../../src/domain/validator/evidence.ts'
import { toolQuestion } from '../../../../src/domain/validator/grounding/answers.ts'
import { rowsIn } from '../../../../src/domain/validator/grounding/read-rows.ts'
import type { RowIndex } from '../../../../src/domain/validator/grounding/row-index.ts'
import { lookupIn, sameRows } from '../../../../src/domain/validator/grounding/same-row.ts'
import { judgeHandoff, validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { Pauses } from '../../../../src/domain/yielding.ts'
import { leastCpuMs } from '../../../support/least-cpu.ts'
import { rounds } from '../../../support/rounds.ts'

const test = suite('judgement: cost')

const policy = resolvePolicy()
const list = <T>(length: number, make: (i: number) => T): T[] => Array.from({ length }, (_, i) => make(i))
const object = (length: number, make: (i: number) => [string, Json]): JsonObject =>
  Object.fromEntries(list(length, make))

/** All of the claim in the long suite; a quarter of the size shows the same in a sixteenth of what a product would take. */
const KB = rounds(25, 200)
const many = <T>(length: number, make: (i: number) => T): T[] => list(Math.floor((length * KB) / 200), make)
const keys = (length: number, make: (i: number) => [string, Json]): JsonObject => Object.fromEntries(many(length, make))

/** Work by the product of two sizes would take minutes. */
const CPU_MAX_MS = 2_000

/** About so much each, made so that work by the product of two of their sizes would take minutes. */
const HOSTILE: Readonly<Record<string, () => readonly [Json, Json]>> = {
  'objects that look the same': () => [
    many(8000, (i) => ({ a: 1, b: `x${i % 3}` })),
    many(8000, (i) => ({ a: 1, b: `x${(i + 1) % 3}` })),
  ],
  'one object again and again': () => [many(12_000, () => ({ k: 1 })), many(11_999, () => ({ k: 1 }))],
  'objects of many shapes': () => [
    many(4000, (i) => ({ [`k${i}`]: i, z: 1 })),
    many(4000, (i) => ({ [`k${i}`]: i, z: 1, y: 2 })),
  ],
  'nothing in common': () => [many(6000, (i) => ({ a: `x${i}`, b: i })), many(6000, (i) => ({ a: `y${i}`, b: i }))],
  'one identity for all': () => [[{ id: 'a', v: many(20_000, (i) => i) }], many(9000, () => ({ id: 'a', v: [1] }))],
  'texts turned round': () => [many(20_000, (i) => `value ${i}`), many(20_000, (i) => `value  ${19_999 - i}`)],
  'numbers turned round': () => [many(30_000, (i) => i), many(30_000, (i) => 29_999 - i)],
  'many keys that change': () => [keys(15_000, (i) => [`key_${i}`, i]), keys(15_000, (i) => [`key_${i}`, i + 1])],
  'many keys that shadow': () => [keys(8000, (i) => [`key_${i}a`, i]), keys(8000, (i) => [`Key-${i}A`, i])],
  'many names said again': () => {
    const names = keys(6000, (i) => [`special name ${i}`, i])
    return [names, { ...names, again: keys(6000, (i) => [`special name ${i}`, i + 1]) }]
  },
  'many totals of a long list': () => {
    const items = many(10_000, (i) => ({ a: i }))
    return [{ items }, { items, ...keys(2000, (i) => [`items_total_a${i}`, i]) }]
  },
  'numbers beside a log': () => {
    const numbers = (by: number): JsonObject => keys(15_000, (i) => [`b${i}`, i * by + 100])
    return [
      { log: [1], ...numbers(1) },
      { log: [1, 2], ...numbers(3) },
    ]
  },
  'numbers beside lists and a log': () => {
    const lists = keys(5000, (i) => [`l${i}`, [i, i * 7]])
    const numbers = (by: number): JsonObject => keys(5000, (i) => [`b${i}`, i * by + 100.5])
    return [
      { log: [1], ...lists, ...numbers(1) },
      { log: [1, 2], ...lists, ...numbers(3) },
    ]
  },
  'members that are gone': () => [
    many(12_000, (i) => ({ v: 1, id: `a${i}` })),
    many(3900, (i) => ({ v: 1, id: `b${i}` })),
  ],
  'members alike, nested otherwise': () => [
    { x: { w: many(12_000, () => ({ k: 1 })) } },
    { w: { x: many(12_000, () => ({ k: 1 })) } },
  ],
  'rows in rows': () => [many(9000, (i) => [[i, `a${i}`], [i + 1]]), many(9000, (i) => [[i, `b${i}`], [i + 2]])],
  'texts full of dates': () => ['2024-05-01 '.repeat(20_000), '2024-05-02 '.repeat(20_000)],
  'texts full of groups': () => ['1,'.repeat(100_000), `${'1 '.repeat(100_000)}x`],
  'lists in lists': () => {
    const nested = (depth: number, inner: Json): Json => (depth === 0 ? inner : [nested(depth - 1, inner)])
    return [
      nested(
        50,
        many(15_000, (i) => `abc${i}`),
      ),
      nested(
        50,
        many(15_000, (i) => `abc${i + 1}`),
      ),
    ]
  },
}

for (const [what, make] of Object.entries(HOSTILE)) {
  test(`${KB} KB of ${what} are judged, replaced or extended, in time that grows with their size (JUD-29)`, () => {
    const [before, after] = make()
    const context = { facts: before } as JsonObject
    const payload = { facts: after } as JsonObject
    const leastMs = leastCpuMs(CPU_MAX_MS, () => {
      const { findings } = validateHandoff({ before: context, after: payload, policy })
      assert.ok(findings.length <= 100)
      applyMode({ context, payload, mode: 'extend', policy })
    })
    assert.ok(leastMs < CPU_MAX_MS, `${leastMs} ms of CPU`)
  })
}

/** How often an object beside many changes is looked through, and a member of a list beside many that are gone. */
function looksBeside(changes: number): readonly number[] {
  const looks = [0, 0]
  const watched = (object: JsonObject, i: 0 | 1): JsonObject =>
    new Proxy(object, {
      ownKeys: (target) => {
        looks[i] = (looks[i] ?? 0) + 1
        return Reflect.ownKeys(target)
      },
    })
  const order = (by: number): JsonObject => object(changes, (i) => [`b${i}`, i * by + 100])
  const rows = list(changes, (i): JsonObject => ({ v: 1, id: `a${i}` }))
  const before = { order: watched({ log: [1], ...order(1) }, 0), rows: [{ v: 1, id: 'kept' }, ...rows] }
  const after = { order: { log: [1, 2], ...order(3) }, rows: [watched({ v: 1, id: 'kept' }, 1)] }
  const { findingsTotal } = validateHandoff({ before, after, policy })
  assert.ok(findingsTotal >= changes, `${findingsTotal}`)
  return looks
}

test('what changes are held against is looked through as often beside two thousand changes as beside twenty (JUD-103)', () => {
  assert.equal(looksBeside(2000), looksBeside(20))
})

/** Steps between two pauses, at most: some 20 ms on a slow machine. */
const PIECE_MAX_STEPS = 200_000

/** The most of these contexts takes 50, at any size; work by the product of two sizes takes hundreds. */
const STEPS_PER_BYTE_MAX = 64

/** Judged by three answers to one question: neither, and the contexts themselves, before and after. */
function judgedInPieces([before, after]: readonly [Json, Json]): { readonly pieces: number } & Pick<
  Pauses,
  'most' | 'total'
> {
  const evidence = emptyEvidence(7)
  const documents = { before: { facts: before } as JsonObject, after: { facts: after } as JsonObject }
  for (const [i, value] of [[before, after], before, after].entries()) {
    addToolResult(evidence, { value: value as Json, revision: i + 1, asked: toolQuestion('look_up', {}), bytes: 1 })
  }
  const pauses = new Pauses()
  const judging = judgeHandoff({ ...documents, policy: resolvePolicy({ ungrounded: 'reject' }), evidence }, pauses)
  let pieces = 1
  while (judging.next().done !== true) pieces += 1
  return { pieces, most: pauses.most, total: pauses.total }
}

for (const [what, make] of Object.entries(HOSTILE)) {
  test(`${KB} KB of ${what} are judged by as much evidence in pieces of counted work, of a bounded number for each byte (JUD-29, F93, A586)`, () => {
    const documents = make()
    const { pieces, most, total } = judgedInPieces(documents)
    const each = total / JSON.stringify(documents).length
    assert.ok(each <= STEPS_PER_BYTE_MAX, `${each} steps a byte`)
    assert.ok(most <= PIECE_MAX_STEPS, `${most} steps without a pause`)
    assert.ok(pieces > 1 || what.startsWith('texts full'), `${pieces} pieces`)
  })
}

test('what a policy declares is looked up once a place, whatever the product of its pointers and the lists of a context (F94)', () => {
  const lists = Object.fromEntries(list(256, (i) => [`/*/q${i}`, 'set' as const]))
  const before = { facts: object(8000, (i) => [`k${i}`, [1]]) }
  const payload = { facts: object(8000, (i) => [`k${i}`, [2]]) }
  let reads = 0
  const counted = new Proxy(lists, {
    get: (target, path) => {
      reads += 1
      return Reflect.get(target, path)
    },
  })
  const extended = applyMode({ context: before, payload, mode: 'extend', policy: { ...policy, lists: counted } })
  assert.is(Object.keys(extended.facts as JsonObject).length, 8000)
  assert.ok(reads <= 256, `${reads} reads of the policy`)
})

test('invariants spend steps by the texts and objects that they look through: beyond the count they refuse (F94)', () => {
  const text = 'é'.repeat(250_000)
  const expression = list(30, () => 'after.text == before.text').join(' && ')
  const strict = resolvePolicy({ invariants: list(32, (i) => ({ name: `n${i}`, expression })) })
  const { findings } = validateHandoff({ before: { text }, after: { text, more: 1 }, policy: strict })
  assert.match(findings.find(({ rule }) => rule === 'invariant')?.message ?? '', /takes more than/)
  const once = resolvePolicy({ invariants: [{ name: 'n', expression: 'after.text == before.text' }] })
  assert.is(validateHandoff({ before: { text }, after: { text, more: 1 }, policy: once }).verdict, 'accept')
})

test('totals beside thousands of lists are looked up by name (F95)', () => {
  const lists = object(1900, (i) => [`l${i} x`, [i]])
  const words = list(36, (i) => `${'ab'[i % 2]}${String.fromCharCode(97 + (i % 26))}`).join('_')
  const totals = object(32, (i) => [`total_${words}_${'xyzuvwklmn'[i % 10]}${i}`, i + 5])
  const pauses = new Pauses()
  const judging = judgeHandoff({ before: { facts: lists }, after: { facts: { ...lists, ...totals } }, policy }, pauses)
  let pieces = 1
  while (judging.next().done !== true) pieces += 1
  assert.ok(pieces > 10 && pauses.most <= PIECE_MAX_STEPS, `${pieces} pieces of at most ${pauses.most} steps`)
})

test('a contradiction below keys as long as a context is on record in a verdict of bounded size (A130)', () => {
  const long = 'k'.repeat(200_000)
  const before = { [long]: object(200, (i) => [`a${i}`, i]), facts: object(1000, (i) => [`${'q'.repeat(400)}${i}`, i]) }
  const strict = resolvePolicy({ suspect: 'refuse' })
  const { verdict, findings, findingsTotal, diff } = validateHandoff({ before, after: {}, policy: strict })
  const changed = validateHandoff({ before, after: { ...before, [long]: {} }, policy: strict })
  assert.is(verdict, 'reject')
  assert.is(changed.verdict, 'reject')
  assert.is(findingsTotal, 2)
  assert.ok(JSON.stringify({ findings, diff }).length < 256 * 1024)
  assert.ok(JSON.stringify(changed).length < 256 * 1024)
  assert.is(changed.findingsTotal, 200)
  assert.match(changed.findings[0]?.message ?? '', /too long to be told/)
  assert.ok(changed.findings.every(({ path, supersede }) => path.length <= 4096 && supersede === undefined))
})

test('paths of usual length are all told, up to 100 findings', () => {
  const before = { facts: object(150, (i) => [`a usual name of a fact ${i}`, i]) }
  const { findings, findingsTotal, diff } = validateHandoff({ before, after: { facts: {} }, policy })
  assert.equal([findings.length, findingsTotal, diff.removed.length], [100, 150, 100])
})

const ALIKE = list(5000, (i) => ({ a: 'same', b: 'same', c: i + 10, d: i + 20 }))

test('rows that look like many recorded ones are looked up in a bounded number of steps, and what is left over refuses (A131)', () => {
  const evidence = addToolResult(emptyEvidence(), { value: ALIKE, revision: 1, bytes: 1 })
  const strict = resolvePolicy({ ungrounded: 'reject' })
  const after = { rows: ALIKE.map((row) => ({ ...row, d: row.d + 100_000 })) }
  const { verdict, findings } = validateHandoff({ before: {}, after, policy: strict, evidence })
  assert.is(verdict, 'reject')
  assert.ok(findings.some(({ rule, severity }) => rule === 'evidence-truncated' && severity === 'error'))
  const lookup = lookupIn(evidence.results.index as RowIndex, () => true, new Pauses())
  for (const row of rowsIn(after)) sameRows(lookup, row)
  assert.ok(lookup.stepsLeft < 0 && lookup.stepsLeft > -10_000, `${lookup.stepsLeft}`)
})

test('a list of one shape does not lend its identity to another that reads the same (A132)', () => {
  const shared = `shared${Math.random()}`
  identityCandidates([{ 'id\nname': 1 }], shared)
  assert.equal(identityCandidates([{ id: 1, name: 'a' }], shared)[0]?.keys, ['id'])
  identityCandidates([{ name: 1 }], `${shared}\nid`)
  assert.equal(identityCandidates([{ id: 1, name: 'a' }], shared)[0]?.keys, ['id'])
})

test.run()
