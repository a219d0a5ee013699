import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { bearer, type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('reviews over HTTP')

async function asked(edge: TestEdge, path: string, scope: string, body?: object) {
  const headers = { ...(await bearer(edge, { subject: 'ann', scopes: [scope] })), 'content-type': 'application/json' }
  const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await edge.app.request(path, init)
  return { status: response.status, body: (await response.json()) as JsonObject }
}

test('who audits signs off what was read, and it is listed (HTTP-72)', async () => {
  await using edge = await testEdge({ audit: true })
  await asked(edge, '/v1/runs', 'runs:write', { name: 'r' })
  const body = { query: 'refusals', asOf: 1, findings: 'nothing odd' }
  const sign = (scope: string, more: object = {}) => asked(edge, '/v1/reviews', scope, { ...body, ...more })
  for (const scope of ['runs:read', 'audit:export', 'admin', 'holds:write'])
    assert.is((await sign(scope)).status, 403, scope)
  for (const wrong of [{ asOf: 0 }, { findings: '' }, { findings: 'x'.repeat(4_097) }, { query: 'No' }, { more: 1 }])
    assert.is((await sign('audit:read', wrong)).body.code, 'invalid-body', JSON.stringify(wrong))
  assert.is((await sign('audit:read', { asOf: 1_000 })).body.code, 'invalid-query')
  const { status, body: signed } = await sign('audit:read')
  assert.equal([status, signed.query, signed.asOf], [200, 'refusals', 1])
  const { items } = (await asked(edge, '/v1/audit/reviews', 'audit:read')).body as { items: { actor: string }[] }
  assert.equal(
    items.map(({ actor }) => actor),
    ['ann'],
  )
})

test.run()
