import { randomUUID } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import type { EventStore } from '../../src/store/event-store.ts'
import { bearer, type TestEdge, testEdge } from '../support/test-edge.ts'
import { within } from '../support/within.ts'

const test = suite('revoked tokens over HTTP')

async function asked(
  edge: TestEdge,
  path: string,
  headers: Record<string, string>,
  body?: object,
): Promise<{ status: number; body: JsonObject }> {
  const sent = { ...headers, 'content-type': 'application/json' }
  const init = body === undefined ? { headers: sent } : { method: 'POST', headers: sent, body: JSON.stringify(body) }
  const response = await edge.app.request(path, init)
  return { status: response.status, body: (await response.json()) as JsonObject }
}

test('a token is revoked under admin by its jti, refused from then on as an invalid one, and listed (HTTP-82, HTTP-83)', async () => {
  await using edge = await testEdge({ revocable: true })
  const id = randomUUID()
  const [own, admin] = [await bearer(edge, { id }), await bearer(edge, { subject: 'root', scopes: ['admin'] })]
  assert.is((await asked(edge, '/v1/runs', own)).status, 200)
  const revoke = { token: id, reason: 'it was in a log' }
  for (const scope of ['audit:read', 'runs:admin', 'holds:write']) {
    const other = await bearer(edge, { scopes: [scope] })
    assert.is((await asked(edge, '/v1/tokens/revoke', other, revoke)).status, 403, scope)
  }
  for (const body of [{}, { token: '' }, { token: 7 }, { token: 'x'.repeat(1_025) }, { ...revoke, until: 'now' }])
    assert.is((await asked(edge, '/v1/tokens/revoke', admin, body)).body.code, 'invalid-body', JSON.stringify(body))
  assert.is((await asked(edge, '/v1/runs', own)).status, 200)

  const { status, body: revoked } = await asked(edge, '/v1/tokens/revoke', admin, revoke)
  assert.equal([status, revoked.token, revoked.revokedBy, revoked.reason], [200, id, 'root', 'it was in a log'])
  assert.is(revoked.known, false)
  for (const path of ['/v1/runs', '/v1/tokens/revoked', '/metrics']) {
    const refused = await asked(edge, path, own)
    assert.equal([refused.status, refused.body.code], [401, 'unauthenticated'], path)
  }
  assert.is((await asked(edge, '/v1/runs', await bearer(edge, {}))).status, 200, 'another token of the same person')
  assert.is((await asked(edge, '/v1/runs', await bearer(edge, { id, tenant: edge.foreign }))).status, 200)
  assert.equal((await asked(edge, '/v1/tokens/revoke', admin, { token: id })).body, revoked)
  for (const scope of ['admin', 'audit:read']) {
    const { body } = await asked(edge, '/v1/tokens/revoked', await bearer(edge, { scopes: [scope] }))
    const { known: _, ...listed } = revoked
    assert.equal([body.items, body.count], [[listed], 1], scope)
  }
  assert.is((await asked(edge, '/v1/tokens/revoked', await bearer(edge, { scopes: ['runs:read'] }))).status, 403)
})

test('a stream ends with the token that opened it, once that is revoked (HTTP-84, A452)', async () => {
  await using edge = await testEdge({ revocable: true, settings: { tokenCheckMs: 5 } })
  const id = randomUUID()
  const response = await edge.app.request('/v1/tail', { headers: await bearer(edge, { id }) })
  assert.is(response.status, 200)
  const ended = response.text()
  const admin = await bearer(edge, { scopes: ['admin'] })
  assert.is((await asked(edge, '/v1/tokens/revoke', admin, { token: id })).status, 200)
  await within(ended, 'the end of the stream')
})

test('where the ledger stream lacks an event, no token of the tenant is accepted: 503 with the place; those of others are (HTTP-84, A453)', async () => {
  await using edge = await testEdge({ revocable: true })
  const admin = await bearer(edge, { scopes: ['admin'] })
  const id = randomUUID()
  assert.is((await asked(edge, '/v1/tokens/revoke', admin, { token: id })).status, 200)
  const store = new Proxy(edge.inner.store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (name !== 'readStream') return member.bind(target)
      return async function* (...of: Parameters<EventStore['readStream']>) {
        for await (const page of target.readStream(...of))
          yield page.filter(({ header }) => !header.includes('"TokenRevoked"'))
      }
    },
  })
  const { tenant } = edge
  await using broken = await testEdge({ revocable: true, store, keys: edge.inner.keys.current(), tenant })
  for (const claims of [{ id }, {}]) {
    const { status, body } = await asked(broken, '/v1/runs', await bearer(broken, claims))
    assert.equal([status, body.code], [503, 'store-unavailable'])
    assert.match(String(body.detail), new RegExp(`revoked.*ledger-${tenant} @ `))
  }
  assert.is((await asked(broken, '/v1/runs', await bearer(broken, { tenant: broken.foreign }))).status, 200)
})

test.run()
