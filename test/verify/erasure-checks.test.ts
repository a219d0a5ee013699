import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ErasureChecks } from '../../src/verify/erasure-checks.ts'
import { verdictOf, worse } from '../../src/verify/fault.ts'
import { seededRandom, testSeed } from '../support/random.ts'

const test = suite('erasures that verify judges')

const TENANTS = ['acme', 'other'] as const
const encrypted = (key: string): string =>
  JSON.stringify({ redacted: { kept: [{ key, count: 1, at: [], $enc: 'x' }] } })
const naming = (...keyIds: readonly string[]): string => JSON.stringify({ keyIds })

test('a key that is gone is TAMPERED unless its own tenant recorded the erasure of this very key, in 100 cases (LIFE-10)', () => {
  const seed = testSeed(10)
  const random = seededRandom(seed)
  for (let n = 0; n < 100; n += 1) {
    const checks = new ErasureChecks()
    const [key, another] = [`key-${n}`, `another-${n}`]
    const [tenant, foreign] = random() < 0.5 ? TENANTS : [TENANTS[1], TENANTS[0]]
    const forged = [
      () => undefined,
      () => checks.take({ type: 'SubjectErased', tenant: foreign }, naming(key)),
      () => checks.take({ type: 'SubjectErased', tenant }, naming(another)),
      () => checks.take({ type: 'ErasureRequested', tenant: foreign }, naming(key)),
      () => checks.take({ type: 'RunStarted', tenant }, naming(key)),
    ]
    const at = Math.floor(random() * forged.length)
    const first = random() < 0.5
    if (first) forged[at]?.()
    checks.take({ type: 'ToolCallClaimed', tenant }, encrypted(key))
    if (!first) forged[at]?.()
    const { erased, faults } = checks.finish((id) => id === another && at !== 2)
    const verdict = faults.map(({ code }) => verdictOf(code)).reduce(worse, 'VERIFIED')
    assert.equal([erased, verdict], [0, 'TAMPERED'], `seed ${seed}, case ${n}, forgery ${at}`)
  }
})

test('an erasure on record is counted, one without its end is INCOMPLETE, and one whose key is back is, too (LIFE-10)', () => {
  const judged = (types: readonly string[], exists: boolean): readonly [number, string[]] => {
    const checks = new ErasureChecks()
    checks.take({ type: 'RunStarted', tenant: 'acme' }, encrypted('k'))
    for (const type of types) checks.take({ type, tenant: 'acme' }, naming('k'))
    const { erased, faults } = checks.finish(() => exists)
    return [erased, faults.map(({ code }) => `${code} ${verdictOf(code)}`)]
  }
  const both = ['ErasureRequested', 'SubjectErased']
  assert.equal(judged([], true), [0, []])
  assert.equal(judged(both, false), [1, []])
  assert.equal(judged(['ErasureRequested'], false), [0, ['erasure-unfinished INCOMPLETE']])
  assert.equal(judged(both, true), [1, ['erasure-undone INCOMPLETE']])
})

test.run()
