import { writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createApp } from '../../src/http/app.ts'
import { createTokenVerifier, issueToken, publicJwks, type TokenRequest } from '../../src/signing/tokens.ts'
import { verifyBundle } from '../../src/verify/bundle/verify-bundle.ts'
import { unpackTar } from '../support/bundles.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { bodyOf } from '../support/test-edge.ts'
import { type TestLogs, testLogs } from '../support/test-logs.ts'

const test = suite('http: bundles and disclosed keys')
const NAMES = { issuer: 'i', audience: 'a' }
const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

type RequestContext = (path: string, claims?: Partial<TokenRequest>, method?: string) => Promise<Response>

/** The edge over a ledger that keeps logs. */
function edgeOf({ ledger, keys, tenant }: TestLogs): RequestContext {
  const verifier = createTokenVerifier({ keys: () => keys, ...NAMES, now: Date.now })
  const app = createApp({
    ledger,
    verifier,
    jwks: () => publicJwks(keys),
    log: quiet,
    version: '0',
    settings: { ratePerSecond: 0 },
  })
  return async (path, claims = {}, method = 'GET') => {
    const scopes = ['audit:export', 'admin', 'runs:read']
    const given = { subject: 'auditor', tenant, scopes, ttlSeconds: 3_600, now: Date.now(), ...claims }
    const token = await issueToken({ keys, ...NAMES, ...given })
    return app.request(path, { method, headers: { authorization: `Bearer ${token}` } })
  }
}

test('over HTTP a bundle brings its large values along where values=true asks for it (RUN-93)', async () => {
  await using home = await testLogs()
  const alice = { tenant: home.tenant, actor: 'alice' }
  const input = { body: { id: 'big', name: 'big' }, kind: 'start' } as const
  await home.ledger.execute(alice, 'big', input, {})
  const args = { text: 'x'.repeat(100_000) }
  await home.ledger.execute(alice, 'big', { kind: 'claim', body: { tool: 't', args, key: 'k' } }, {})
  const ask = edgeOf(home)
  const key = home.logs.verifierKey(home.tenant)
  for (const [query, values] of [
    ['&values=true', 1],
    ['&values=false', 0],
    ['', 0],
  ] as const) {
    const tar = Buffer.from(await (await ask(`/v1/bundle?run=big${query}`)).arrayBuffer())
    const found = verifyBundle(tar, { key })
    assert.equal([found.verdict, found.named, found.values], ['VERIFIED', 1, values])
  }
  assert.is((await ask('/v1/bundle?run=big&values=perhaps')).status, 400)
})

test('a bundle over HTTP verifies, and is named, dated and signed for who asked', async () => {
  using folder = tempFolder()
  await using home = await testLogs()
  await home.fill(home.tenant, 'one', 3)
  await home.fill(home.tenant, 'two', 3)
  await home.fill(home.other, 'one', 3)
  const response = await edgeOf(home)('/v1/bundle?run=one', { act: { sub: 'tool' } })
  assert.equal([response.status, response.headers.get('content-type')], [200, 'application/x-tar'])
  assert.is(response.headers.get('content-disposition'), 'attachment; filename="one.tar"')
  const tar = Buffer.from(await response.arrayBuffer())
  writeFileSync(folder.file('b.tar'), tar)
  assert.equal(verifyBundle(folder.file('b.tar'), { key: home.logs.verifierKey(home.tenant) }).faults, [])
  const files = await unpackTar(tar)
  const { predicate } = JSON.parse(files.get('manifest.json')?.toString() ?? '')
  assert.equal(predicate.exportedBy, { actor: 'tool', principal: 'auditor' })
  for (const [name, content] of files) assert.not.ok(content.includes(home.other), name)
})

test('what no bundle takes, who gets none and what is not there are told apart (A11, A12)', async () => {
  await using home = await testLogs()
  const ask = edgeOf(home)
  assert.is((await ask('/v1/bundle')).status, 404)
  await home.fill(home.tenant, 'one', 1)
  const expected: readonly (readonly [path: string, claims: Partial<TokenRequest>, status: number, code: string])[] = [
    ['/v1/bundle?text=x', {}, 400, 'invalid-query'],
    ['/v1/bundle?colour=red', {}, 400, 'invalid-query'],
    ['/v1/bundle?run=nobody', {}, 404, 'run-not-found'],
    ['/v1/bundle?run=one', { tenant: home.other }, 404, 'run-not-found'],
    ['/v1/bundle?run=one', { run: 'one' }, 403, 'run-mismatch'],
    ['/v1/bundle', { agent: 'writer' }, 403, 'agent-mismatch'],
    ['/v1/bundle', { scopes: ['audit:read', 'admin'] }, 403, 'scope-missing'],
  ]
  for (const [path, claims, status, code] of expected) {
    const response = await ask(path, claims)
    assert.equal([response.status, (await bodyOf(response)).code], [status, code], `${path} ${JSON.stringify(claims)}`)
  }
})

test('the keys of a run go to an admin alone, after its end, and are not to be cached', async () => {
  await using home = await testLogs()
  await home.fill(home.tenant, 'one', 1)
  const ask = edgeOf(home)
  const path = '/v1/runs/one/keys/disclose'
  assert.is((await ask(path, { scopes: ['audit:export', 'runs:write'] }, 'POST')).status, 403)
  assert.is((await ask(path, { tenant: home.other }, 'POST')).status, 404)
  const early = await ask(path, {}, 'POST')
  assert.equal([early.status, (await bodyOf(early)).code], [409, 'open-work'])
  await home.ledger.execute({ tenant: home.tenant, actor: 'tester' }, 'one', { kind: 'complete', body: {} }, {})
  const given = await ask(path, {}, 'POST')
  assert.equal([given.status, given.headers.get('cache-control')], [200, 'no-store'])
  const { stream, keys } = (await given.json()) as { stream: string; keys: { key: string }[] }
  assert.equal([stream, keys.length], [`run-${home.tenant}.one`, 1])
})

test.run()
