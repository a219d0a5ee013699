import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { CHECK_STEPS_MAX, compileSchema } from '../../../src/domain/json-schema/compile-schema.ts'
import { leastCpuMs } from '../../support/least-cpu.ts'
import { rounds } from '../../support/rounds.ts'
import { hostilePair } from './hostile-schemas.ts'
import { randomOf } from './random-schemas.ts'

const test = suite('hostile schemas')

const PAIRS = rounds(2_500, 2_500, 10_000)
/** The ceiling is 50 ms of a machine of its own; this one is shared, and collects garbage in between. */
const BLOCKED_MAX_MS = 500

test(`(A57) ${PAIRS} pairs of a schema and a payload made to cost: each ends within its count of work`, () => {
  const ended = { checked: 0, tooExpensive: 0, notTaken: 0 }
  for (let seed = 0; seed < PAIRS; seed += 1) {
    const random = randomOf(seed)
    const { kind, schema, payload } = hostilePair(random, Math.max(0.2, random.whole(1_001) / 1_000) ** 5)
    const compiledMs = leastCpuMs(BLOCKED_MAX_MS, () => void compileSchema(schema))
    assert.ok(compiledMs < BLOCKED_MAX_MS, `seed ${seed} (${kind}): ${compiledMs} ms to compile`)
    const compiled = compileSchema(schema)
    if (!compiled.ok) {
      ended.notTaken += 1
      continue
    }
    const ms = leastCpuMs(BLOCKED_MAX_MS, () => void compiled.check(payload))
    assert.ok(ms < BLOCKED_MAX_MS, `seed ${seed} (${kind}): ${ms} ms to check`)
    const checked = compiled.check(payload)
    if (checked.kind === 'too-expensive') ended.tooExpensive += 1
    else {
      ended.checked += 1
      assert.ok(checked.steps <= CHECK_STEPS_MAX && checked.faults.length <= 100, `seed ${seed} (${kind})`)
    }
  }
  for (const [end, count] of Object.entries(ended)) assert.ok(count > PAIRS / 400, `${end}: ${count} of ${PAIRS}`)
})

test.run()
