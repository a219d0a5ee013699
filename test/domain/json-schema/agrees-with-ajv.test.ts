import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../../schemas/json.ts'
import { compileSchema } from '../../../src/domain/json-schema/compile-schema.ts'
import { type Random, randomOf, randomPayload, randomSchema } from './random-schemas.ts'

const test = suite('our reading of JSON Schema and that of Ajv')

const PAIRS = 400
const PAYLOADS_EACH = 4

function randomDocument(random: Random): JsonObject {
  const root = randomSchema(random)
  return {
    allOf: [root],
    $defs: { a: randomSchema(random, 2), b: randomSchema(random, 1), c: { $anchor: 'named', minProperties: 1 } },
  }
}

/** Undefined where Ajv's own code throws: its tracking of `unevaluated*` does on some schemas. */
function verdictOf(oracle: ValidateFunction, payload: JsonObject): boolean | undefined {
  try {
    return oracle(payload) as boolean
  } catch {
    return undefined
  }
}

test('both accept and refuse the same payloads', () => {
  const ajv = new Ajv2020({ strict: false, logger: false, validateSchema: false, addUsedSchema: false })
  addFormats.default(ajv)
  let [held, failed] = [0, 0]
  for (let seed = 0; seed < PAIRS; seed += 1) {
    const random = randomOf(seed)
    const document = randomDocument(random)
    const compiled = compileSchema(document)
    if (!compiled.ok) throw new Error(`seed ${seed}: ${compiled.message}`)
    const oracle = ajv.compile(document)
    for (let i = 0; i < PAYLOADS_EACH; i += 1) {
      const payload = randomPayload(random)
      const checked = compiled.check(payload)
      // A reference that leads round in a circle ends both, each in its way.
      if (checked.kind === 'too-expensive') continue
      const expected = verdictOf(oracle, payload)
      if (expected === undefined) continue
      const told = `seed ${seed}: ${JSON.stringify({ document, payload, faults: checked.faults, ajv: oracle.errors })}`
      assert.is(checked.faultsTotal === 0, expected, told)
      assert.is(checked.faults.length === 0, expected, told)
      if (expected) held += 1
      else failed += 1
    }
  }
  assert.ok(held > PAIRS / 5 && failed > PAIRS / 5, `one verdict nearly always: ${held} held, ${failed} failed`)
})

test.run()
