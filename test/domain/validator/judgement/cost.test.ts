import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { applyMode } from '../../../../projections/merge.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('judgement: cost')

const policy = resolvePolicy()
const list = <T>(length: number, make: (i: number) => T): T[] => Array.from({ length }, (_, i) => make(i))
const object = (length: number, make: (i: number) => [string, Json]): JsonObject =>
  Object.fromEntries(list(length, make))

/** About 200 KB each, made so that work by the product of two of their sizes would take minutes. */
const HOSTILE: Readonly<Record<string, () => readonly [Json, Json]>> = {
  'objects that look the same': () => [
    list(8000, (i) => ({ a: 1, b: `x${i % 3}` })),
    list(8000, (i) => ({ a: 1, b: `x${(i + 1) % 3}` })),
  ],
  'one object again and again': () => [list(12_000, () => ({ k: 1 })), list(11_999, () => ({ k: 1 }))],
  'objects of many shapes': () => [
    list(4000, (i) => ({ [`k${i}`]: i, z: 1 })),
    list(4000, (i) => ({ [`k${i}`]: i, z: 1, y: 2 })),
  ],
  'nothing in common': () => [list(6000, (i) => ({ a: `x${i}`, b: i })), list(6000, (i) => ({ a: `y${i}`, b: i }))],
  'one identity for all': () => [[{ id: 'a', v: list(20_000, (i) => i) }], list(9000, () => ({ id: 'a', v: [1] }))],
  'texts turned round': () => [list(20_000, (i) => `value ${i}`), list(20_000, (i) => `value  ${19_999 - i}`)],
  'numbers turned round': () => [list(30_000, (i) => i), list(30_000, (i) => 29_999 - i)],
  'many keys that change': () => [object(15_000, (i) => [`key_${i}`, i]), object(15_000, (i) => [`key_${i}`, i + 1])],
  'many keys that shadow': () => [object(8000, (i) => [`key_${i}a`, i]), object(8000, (i) => [`Key-${i}A`, i])],
  'many names said again': () => {
    const names = object(6000, (i) => [`special name ${i}`, i])
    return [names, { ...names, again: object(6000, (i) => [`special name ${i}`, i + 1]) }]
  },
  'many totals of a long list': () => {
    const items = list(10_000, (i) => ({ a: i }))
    return [{ items }, { items, ...object(2000, (i) => [`items_total_a${i}`, i]) }]
  },
  'texts full of dates': () => ['2024-05-01 '.repeat(20_000), '2024-05-02 '.repeat(20_000)],
  'texts full of groups': () => ['1,'.repeat(100_000), `${'1 '.repeat(100_000)}x`],
  'lists in lists': () => {
    const nested = (depth: number, inner: Json): Json => (depth === 0 ? inner : [nested(depth - 1, inner)])
    return [
      nested(
        50,
        list(15_000, (i) => `abc${i}`),
      ),
      nested(
        50,
        list(15_000, (i) => `abc${i + 1}`),
      ),
    ]
  },
}

for (const [what, make] of Object.entries(HOSTILE)) {
  test(`200 KB of ${what} are judged, replaced or extended, in time that grows with their size (JUD-29)`, () => {
    const [before, after] = make()
    const started = process.cpuUsage()
    const context = { facts: before } as JsonObject
    const { findings } = validateHandoff({ before: context, after: { facts: after } as JsonObject, policy })
    assert.ok(findings.length <= 100)
    applyMode({ context, payload: { facts: after } as JsonObject, mode: 'extend', policy })
    const { user } = process.cpuUsage(started)
    assert.ok(user < 2_000_000, `${user / 1000} ms of CPU`)
  })
}

test.run()
