import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { addToolResult, emptyEvidence, settle } from '../../../../src/domain/validator/evidence.ts'
import { rowsIn } from '../../../../src/domain/validator/grounding/read-rows.ts'
import type { RowIndex } from '../../../../src/domain/validator/grounding/row-index.ts'
import { lookupIn, sameRows } from '../../../../src/domain/validator/grounding/same-row.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { finish, Pauses } from '../../../../src/domain/yielding.ts'

const test = suite('judgement: much evidence')

const RESULTS = 500
const ROWS = 800

/** About 100 KB. */
function resultOf(n: number): Json {
  return Array.from({ length: ROWS }, (_, i) => ({
    order_id: `A-${n}-${i}`,
    city: `city of ${n * i}`,
    total: n * 1000 + i + 0.25,
    lines: [{ sku: `S${i}`, qty: i + 11, note: `a line of order ${i} in result ${n}` }],
  }))
}

test('50 MB of results are within the index, and a handoff is judged against them in as many steps as it has leaves (A133)', () => {
  const evidence = emptyEvidence(7)
  let bytes = 0
  for (let n = 0; n < RESULTS; n += 1) {
    const value = resultOf(n)
    const size = JSON.stringify(value).length
    bytes += size
    addToolResult(evidence, { value, revision: n + 1, bytes: size })
  }
  assert.ok(bytes >= 50_000_000, `${bytes}`)
  const index = finish(settle(evidence, new Pauses())) as RowIndex
  assert.is(index.truncated, false)

  const policy = resolvePolicy({ ungrounded: 'reject' })
  const honest = { orders: [{ order_id: 'A-499-799', city: `city of ${499 * 799}`, total: 499_799.25 }] }
  const wrong = { orders: [{ order_id: 'A-499-799', city: 'city of 5', total: 499_799.25 }] }
  assert.equal(validateHandoff({ before: {}, after: honest, policy, evidence }).findings, [])
  const { findings } = validateHandoff({ before: {}, after: wrong, policy, evidence })
  assert.equal(
    findings.map(({ rule, path }) => [rule, path]),
    [['disagrees-with-tool', '/orders/0/city']],
  )

  const lookup = lookupIn(index, () => true, new Pauses())
  const { stepsLeft } = lookup
  for (const row of rowsIn(wrong)) sameRows(lookup, row)
  assert.ok(stepsLeft - lookup.stepsLeft < 100, `${stepsLeft - lookup.stepsLeft} steps`)
})

test.run()
