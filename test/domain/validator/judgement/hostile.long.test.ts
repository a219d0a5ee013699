import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { applyMode } from '../../../../projections/merge.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../../schemas/json.ts'
import type { Policy } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { addToolResult, type Evidence, emptyEvidence } from '../../../../src/domain/validator/evidence.ts'
import { judgeHandoff, validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { Pauses } from '../../../../src/domain/yielding.ts'
import { seededRandom, testSeed } from '../../../support/random.ts'

const test = suite('judgement: hostile documents')

const DOCUMENTS = 40
/** Steps between two pauses, at most: some 20 ms on a slow machine. */
const PIECE_MAX_STEPS = 250_000
/** Of one judgement: a step for each pair of two sizes of 300 KiB would be thousands of millions. */
const TOTAL_MAX_STEPS = 30_000_000

type Next = () => number

const list = <T>(length: number, make: (i: number) => T): T[] => Array.from({ length }, (_, i) => make(i))
const object = (length: number, make: (i: number) => [string, Json]): JsonObject =>
  Object.fromEntries(list(length, make))
const nest = (depth: number, key: string, inner: Json): Json =>
  depth === 0 ? inner : { [key]: nest(depth - 1, key, inner) }
const wrap = (depth: number, inner: Json): Json => (depth === 0 ? inner : [wrap(depth - 1, inner)])

/** Each makes about as many leaves as it is asked for. */
const MAKERS: readonly ((n: number, next: Next) => Json)[] = [
  (n) => list(n >> 1, (i) => ({ a: 1, b: `x${i % 3}` })),
  (n) => list(n >> 2, (i) => ({ id: `A-${i}`, city: `c${i}`, total: i * 1.25 + 10, qty: i + 11 })),
  (n) => list(n >> 2, (i) => ({ id: `A-${i % 9}`, ref: `R-${i % 7}`, code: `K${i}`, v: i + 10 })),
  (n) => list(n, (i) => `value ${i % 997}`),
  (n) => list(n, (i) => (i * 7919) % 1000),
  (n) => object(n, (i) => [`key ${i}`, i + 10]),
  (n) => object(n >> 1, (i) => [`K${i}a`, { id: `K${i}a`, status: i % 2 === 0 ? 'pending' : 'done' }]),
  (n, next) =>
    nest(
      20 + Math.floor(next() * 35),
      'k',
      list(n >> 1, (i) => ({ v: i, name: `n${i}` })),
    ),
  (n, next) =>
    wrap(
      20 + Math.floor(next() * 35),
      list(n, (i) => `abc${i}`),
    ),
  (n) => list(n >> 3, (i) => ({ [`k${i}`]: i, z: 1, tags: list(6, (j) => `t${i * j}`) })),
  (n) => object(20, (i) => [`text ${i}`, `word ${i} 2024-05-0${(i % 9) + 1} 12 kg, `.repeat(n >> 3)]),
  (n) => object(n >> 1, (i) => [i % 2 === 0 ? `Key_${i}` : `kéy-${i}`, [i, i + 1]]),
  (n) => list(n >> 4, (i) => object(16, (j) => [`items_${j}_total`, i * j + 10])),
]

function grow(next: Next): Json {
  const make = MAKERS[Math.floor(next() * MAKERS.length)] as (typeof MAKERS)[number]
  return make(2_000 + Math.floor(next() * 8_000), next)
}

/** Changes everything, or nearly nothing, in one of a few ways. */
function changed(value: Json, by: { readonly share: number; readonly next: Next }): Json {
  const { share, next } = by
  if (Array.isArray(value)) {
    const members = value.map((member) => changed(member as Json, by))
    if (next() < 0.2) members.reverse()
    return members.length > 8 && next() < 0.2
      ? [...members, ...members.slice(0, 3)]
      : members.slice(next() < 0.2 ? 1 : 0)
  }
  if (isJsonObject(value)) {
    const keys = Object.keys(value)
    return Object.fromEntries(
      keys.flatMap((key): [string, Json][] => {
        if (next() < share * 0.05) return []
        return [[next() < share * 0.05 ? key.toUpperCase() : key, changed(value[key] as Json, by)]]
      }),
    )
  }
  if (next() >= share) return value
  return typeof value === 'number' ? value + 100_000 : `${value} `.repeat(2)
}

function policyOf(next: Next): Policy {
  const paths = list(
    200,
    (i) => `/${list(1 + (i % 6), (depth) => ((i >> depth) & 1 ? '*' : ['facts', 'k', 'a'][depth % 3])).join('/')}`,
  )
  const some = <T>(value: T): T | undefined => (next() < 0.5 ? value : undefined)
  const declared = {
    ungrounded: 'reject' as const,
    restated: 'reject' as const,
    lists: some(Object.fromEntries(paths.map((path) => [path, 'set' as const]))),
    tolerance: some(Object.fromEntries(paths.map((path) => [path, { relative: 0.1 }]))),
    immutable: some(paths),
    invariants: some(
      list(32, (i) => ({
        name: `n${i}`,
        expression: list(12, () => 'count(after.facts) >= sum(before.facts, v)').join(' && '),
      })),
    ),
  }
  return JSON.parse(JSON.stringify(declared)) as Policy
}

function evidenceOf(results: readonly Json[]): Evidence {
  const evidence = emptyEvidence(11)
  for (const [i, value] of results.entries()) addToolResult(evidence, { value, revision: i + 1, bytes: 1 })
  evidence.results.failed.set('c', { tool: 'value 1', revision: 1 })
  return evidence
}

function judgeOne(seed: number): { readonly most: number; readonly total: number } {
  const next = seededRandom(testSeed(seed))
  const before = { facts: grow(next), entities: grow(next) }
  const payload = changed(before, { share: [0, 0.02, 1][seed % 3] as number, next }) as JsonObject
  const policy = resolvePolicy(policyOf(next))
  const mode = (['replace', 'merge', 'extend'] as const)[seed % 3 === 0 ? 0 : Math.floor(next() * 3)] ?? 'replace'
  const after = applyMode({ context: before, payload, mode, policy })
  const results = [before.facts, changed(before, { share: 1, next }), payload]
  const supersedes = list(256, (i) => ({ path: `/facts/key ${i}`, reason: 'the customer said so' }))
  const input = { before, after, policy, supersedes, writes: ['facts'] }
  const pauses = new Pauses()
  const judging = judgeHandoff({ ...input, evidence: evidenceOf(results) }, pauses)
  let end = judging.next()
  while (end.done !== true) end = judging.next()
  assert.equal(end.value, validateHandoff({ ...input, evidence: evidenceOf(results) }), `seed ${seed}`)
  return pauses
}

test('hostile documents, evidence and policies are judged in pieces of counted work, and the verdict is the same in one go (F93, F94)', () => {
  for (let seed = 0; seed < DOCUMENTS; seed += 1) {
    const { most, total } = judgeOne(seed)
    assert.ok(most <= PIECE_MAX_STEPS, `seed ${seed}: ${most} steps without a pause`)
    assert.ok(total <= TOTAL_MAX_STEPS, `seed ${seed}: ${total} steps`)
  }
})

test.run()
