import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import type { Policy } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { evidenceOfLine } from '../../../../src/domain/validator/line-evidence.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'

const test = suite('judgement: bare answers')

const ORDER = { order_id: 'A-1001', city: 'Bern', carrier: 'Post', weight: 12.5, lines: 3 }
const FIRST = { tool: 'get_order', args: { order_id: 'A-1001' }, result: ORDER }

interface Call {
  readonly tool: string
  readonly args: JsonObject
  readonly result: Json
}

/** The verdict on Basel instead of Bern after a further call, and `severity rule` of its findings about the city. */
function moved({ tool, args, result }: Call, policy: Policy = 'default'): readonly string[] {
  const [before, after] = [{ order: ORDER }, { order: { ...ORDER, city: 'Basel' } }]
  const evidence = evidenceOfLine([FIRST, { tool, args, result }])
  const { verdict, findings } = validateHandoff({ before, after, policy: resolvePolicy(policy), evidence })
  const about = findings.filter(({ path }) => path === '/order/city')
  return [verdict, ...about.map(({ severity, rule }) => `${severity} ${rule}`)]
}

const MOVED = ['accept', 'info moved-by-tool']
const CERTAIN = ['reject', 'error contradicted']
const SUSPECT = ['accept', 'warning contradicted']

test('one scalar answers about the thing that the call named, and under the name of the tool (JUD-94)', () => {
  const args = { order_id: 'A-1001' }
  for (const tool of ['get_city', 'getOrderCity', 'crm.fetch-city'])
    assert.equal(moved({ tool, args, result: 'Basel' }), MOVED, tool)
  assert.equal(moved({ tool: 'get_city', args, result: { content: [{ type: 'text', text: 'Basel' }] } }), MOVED)
  assert.equal(moved({ tool: 'get_city', args: { order_id: 'A-1002' }, result: 'Basel' }), CERTAIN)
  assert.equal(moved({ tool: 'get_carrier', args, result: 'Basel' }), CERTAIN)
  assert.equal(moved({ tool: 'get_city', args, result: 'Chur' }), CERTAIN)
  assert.equal(moved({ tool: 'get_city', args: { name_of_order: 'A-1001' }, result: 'Basel' }), CERTAIN)
  const untrusted = { evidence: [{ tool: 'get_city', untrusted: true as const }] }
  assert.equal(moved({ tool: 'get_city', args, result: 'Basel' }, untrusted), CERTAIN)
})

test('a tool that only confirms what it was asked to do moves nothing, and leaves nothing certain (JUD-95)', () => {
  const args = { order_id: 'A-1001', city: 'Basel' }
  for (const result of [{ ok: true }, { success: true, status: 'updated' }, 'ok', 'Done.', true])
    assert.equal(moved({ tool: 'update_order', args, result }), SUSPECT, JSON.stringify(result))
  for (const result of [{ ok: false }, { error: 'locked' }, null, {}, 'Error: locked'])
    assert.equal(moved({ tool: 'update_order', args, result }), CERTAIN, JSON.stringify(result))
  assert.equal(moved({ tool: 'update_order', args: { ...args, order_id: 'A-1002' }, result: { ok: true } }), CERTAIN)
  const strict = { suspect: 'refuse' } as const
  assert.is(moved({ tool: 'update_order', args, result: { ok: true } }, strict)[0], 'reject')
})

test.run()
