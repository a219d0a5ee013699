import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { bearer, type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('legal holds over HTTP')

async function asked(
  edge: TestEdge,
  path: string,
  scope: string,
  body?: object,
): Promise<{ status: number; body: JsonObject }> {
  const headers = {
    ...(await bearer(edge, { subject: 'counsel', scopes: [scope] })),
    'content-type': 'application/json',
  }
  const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await edge.app.request(path, init)
  return { status: response.status, body: (await response.json()) as JsonObject }
}

test('a hold is placed and released under holds:write, and listed to who audits or erases (HTTP-70, HTTP-71)', async () => {
  await using edge = await testEdge()
  const reason = 'a claim is pending'
  const place = (scope: string, body: object) => asked(edge, '/v1/holds', scope, body)
  for (const scope of ['subjects:erase', 'admin', 'audit:read', 'runs:write'])
    assert.is((await place(scope, { tenant: true, reason })).status, 403, scope)
  for (const body of [{ reason }, { tenant: true, run: 'r', reason }, { tenant: true }, { tenant: false, reason }])
    assert.is((await place('holds:write', body)).body.code, 'invalid-body', JSON.stringify(body))
  assert.is((await place('holds:write', { run: 'none', reason })).status, 404)
  const { status, body: held } = await place('holds:write', { tenant: true, reason })
  assert.equal(
    [status, held.state, held.scope, held.placedBy, held.reason],
    [200, 'active', 'tenant', 'counsel', reason],
  )
  for (const scope of ['holds:write', 'subjects:erase', 'audit:read'])
    assert.equal((await asked(edge, '/v1/holds', scope)).body.items, [held])
  assert.is((await asked(edge, '/v1/holds', 'runs:read')).status, 403)
  const release = `/v1/holds/${String(held.hold)}/release`
  assert.is((await asked(edge, release, 'subjects:erase', { reason: 'settled' })).status, 403)
  const ended = await asked(edge, release, 'holds:write', { reason: 'settled' })
  assert.equal([ended.status, ended.body.state, ended.body.releasedBy], [200, 'released', 'counsel'])
  assert.equal((await asked(edge, release, 'holds:write', { reason: 'again' })).body, ended.body)
  const none = await asked(edge, '/v1/holds/0190f0f0-0000-7000-8000-000000000000/release', 'holds:write', { reason })
  assert.equal([none.status, none.body.code], [404, 'hold-not-found'])
})

test.run()
