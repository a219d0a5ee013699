import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { evidenceOfLine } from '../../../../src/domain/validator/line-evidence.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('judgement: changes that nothing may let pass in silence')

/** `severity rule path` of each finding, under the default policy. */
function said(before: JsonObject, after: JsonObject, evidence: readonly Json[] = []): readonly string[] {
  const verdict = validateHandoff({ before, after, policy: resolvePolicy(), evidence: evidenceOfLine(evidence) })
  return verdict.findings.map(({ severity, rule, path }) => `${severity} ${rule} ${path}`)
}

const ORDER = { order_id: 'A-1001', city: 'Basel' }
const orders = (city: string): JsonObject => ({ facts: { orders: [{ ...ORDER, city }] } })

/** What is said of a new city that this answer gave. */
function afterAnswer(result: Json, tool = 'update_order', args: Json = ORDER): readonly string[] {
  return said(orders('Bern'), orders('Basel'), [{ tool, args, result }])
}

const REFUSED = ['error contradicted /facts/orders/0/city']
const MOVED = ['info moved-by-tool /facts/orders/0/city']

test('A601 an answer that says it failed, or that it only tried, moves nothing, whatever it holds (JUD-111)', () => {
  const failed: readonly JsonObject[] = [
    ...['ok', 'okay', 'success', 'succeeded', 'successful', 'isSuccess'].map((key) => ({ [key]: false })),
    ...['isError', 'is_error', 'failed', 'dry_run', 'dryRun', 'simulated', 'simulation'].map((key) => ({
      [key]: true,
    })),
    ...[{ error: 'not the owner' }, { error: { code: 4 } }, { errors: ['a'] }, { errors: { a: 1 } }, { errors: true }],
    ...['statusCode', 'status_code', 'httpStatus', 'http_status_code'].map((key) => ({ [key]: 403 })),
  ]
  for (const sign of failed) {
    assert.equal(afterAnswer({ ...ORDER, ...sign }), REFUSED, JSON.stringify(sign))
    assert.equal(afterAnswer({ ...sign, requested: ORDER }), REFUSED, JSON.stringify(sign))
    const text = JSON.stringify({ ...ORDER, ...sign })
    assert.equal(afterAnswer({ content: [{ type: 'text', text }] }), REFUSED, text)
  }
  assert.equal(afterAnswer(ORDER, 'update_order', { ...ORDER, dry_run: true }), REFUSED)
  for (const sign of [
    { ok: true },
    { error: null },
    { errors: [] },
    { error: '' },
    { statusCode: 200 },
    { dry_run: false },
  ])
    assert.equal(afterAnswer({ ...ORDER, ...sign }), MOVED, JSON.stringify(sign))
})

test('A602 a state that failed says so of the call where the tool does more than read (JUD-111)', () => {
  const signs: readonly JsonObject[] = [
    ...['failed', 'failure', 'error', 'errored', 'rejected', 'denied', 'forbidden', 'unauthorized'].map((status) => ({
      status,
    })),
    ...['state', 'outcome', 'result'].map((key) => ({ [key]: 'Failed' })),
    ...['accepted', 'applied', 'saved', 'updated'].map((key) => ({ [key]: false })),
    { status: 409 },
  ]
  const readers =
    'get list read fetch show find search check query lookup look describe view poll watch load retrieve inspect count track'
  for (const sign of signs) {
    const answer = { ...ORDER, ...sign }
    assert.equal(afterAnswer(answer), REFUSED, JSON.stringify(sign))
    for (const reader of [...readers.split(' ').map((verb) => `${verb}_order`), 'order_status', 'order_state'])
      assert.equal(afterAnswer(answer, reader), MOVED, `${reader} ${JSON.stringify(sign)}`)
  }
})

test('A603 an action is handed over as done although the answer says, in any of these ways, that it failed (JUD-21, JUD-111)', () => {
  const actions = (status: string): JsonObject => ({ actions: [{ tool: 'rotate_keys', status }] })
  for (const result of [
    { ok: false },
    { success: false },
    { errors: ['no'] },
    { status: 'failed' },
    { statusCode: 503 },
  ])
    assert.equal(said(actions('open'), actions('done'), [{ tool: 'rotate_keys', args: {}, result }]), [
      'warning disagrees-with-tool /actions/0/status',
    ])
})

test.run()
