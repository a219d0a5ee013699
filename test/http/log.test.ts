import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createApp } from '../../src/http/app.ts'
import { parseCheckpoint } from '../../src/merkle/checkpoint.ts'
import { verifyConsistency } from '../../src/merkle/consistency.ts'
import { parseEntryBundle } from '../../src/merkle/entry-bundle.ts'
import { leafHash } from '../../src/merkle/hashes.ts'
import { verifyInclusion } from '../../src/merkle/inclusion.ts'
import { parseTlogProof } from '../../src/merkle/tlog-proof.ts'
import { createTokenVerifier, issueToken, publicJwks } from '../../src/signing/tokens.ts'
import type { LeafRow } from '../../src/store/log-store.ts'
import { openSqliteLogs } from '../../src/store/sqlite/sqlite-log.ts'
import { bodyOf, testEdge } from '../support/test-edge.ts'
import { openedCheckpoint, type TestLogs, testLogs } from '../support/test-logs.ts'
import { freshTenant } from '../support/test-store.ts'

const test = suite('http: the log')

const ISSUER = 'countersign'

interface LogEdge extends AsyncDisposable {
  readonly at: TestLogs
  readonly tenant: string
  readonly foreign: string
  readonly get: (path: string, tenant?: string, scope?: string) => Promise<Response>
}

async function logEdge(options: Parameters<typeof testLogs>[0] = {}): Promise<LogEdge> {
  const at = await testLogs(options)
  const [own, foreign] = [freshTenant('acme'), freshTenant('beta')]
  const keys = () => at.keys
  const quiet = () => {}
  const app = createApp({
    ledger: at.ledger,
    verifier: createTokenVerifier({ keys, issuer: ISSUER, audience: ISSUER, now: Date.now }),
    jwks: () => publicJwks(at.keys),
    log: { debug: quiet, info: quiet, warn: quiet, error: quiet },
    version: '0.0.0-test',
  })
  return {
    at,
    tenant: own,
    foreign,
    get: async (path, tenant = own, scope = 'audit:read') => {
      const claims = { issuer: ISSUER, audience: ISSUER, subject: 'auditor', tenant, scopes: [scope], ttlSeconds: 600 }
      const token = await issueToken({ keys: at.keys, now: Date.now(), ...claims })
      return app.request(path, { headers: { authorization: `Bearer ${token}` } })
    },
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  }
}

const known = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error('nothing there')
  return value
}
const bytes = (text: string): Uint8Array => Buffer.from(text, 'base64')
interface Proof {
  readonly index: number
  readonly size: number
  readonly eventId: string
  readonly leafHash: string
  readonly rootHash: string
  readonly from: number
  readonly to: number
  readonly fromRootHash: string
  readonly toRootHash: string
  readonly proof: readonly string[]
}
const proofOf = async (response: Response): Promise<Proof> => (await response.json()) as Proof

test('an auditor rebuilds the checked tree from checkpoint, key, tiles and entries alone', async () => {
  await using edge = await logEdge()
  await edge.at.fill(edge.tenant, 'one', 300)
  await edge.at.logs.publish()
  const key = (await (await edge.get('/v1/log/key')).text()).trim()
  const note = await edge.get('/v1/log/checkpoint')
  assert.is(note.headers.get('content-type'), 'text/plain; charset=utf-8')
  assert.is(note.headers.get('cache-control'), 'private, max-age=2')
  const { size } = known(parseCheckpoint(openedCheckpoint(await note.text(), key)))
  assert.is(size, 601)

  const last = await edge.get(`/v1/log/tile/entries/002.p/${size % 256}`)
  assert.is(last.headers.get('content-type'), 'application/octet-stream')
  assert.match(last.headers.get('cache-control') ?? '', /^private, .*immutable$/)
  const entries = known(parseEntryBundle(new Uint8Array(await last.arrayBuffer())))
  const tile = Buffer.from(await (await edge.get(`/v1/log/tile/0/002.p/${size % 256}`)).arrayBuffer())
  assert.ok(tile.equals(Buffer.concat(entries.map(leafHash))))
  assert.is((await (await edge.get('/v1/log/tile/0/000')).arrayBuffer()).byteLength, 8_192)
  assert.is((await (await edge.get('/v1/log/tile/1/000.p/2')).arrayBuffer()).byteLength, 64)
})

test('proofs of inclusion by id and by index, and of consistency, verify', async () => {
  await using edge = await logEdge()
  await edge.at.fill(edge.tenant, 'one', 20)
  await edge.at.logs.publish()
  const byIndex = await proofOf(await edge.get('/v1/log/proof/inclusion?index=7&size=30'))
  const byId = await proofOf(await edge.get(`/v1/log/proof/inclusion?event=${byIndex.eventId}&size=30`))
  assert.equal(byId, byIndex)
  const { index, size, leafHash: leaf, rootHash } = byIndex
  const proof = byIndex.proof.map(bytes)
  assert.ok(verifyInclusion({ index, size, leaf: bytes(leaf), proof, root: bytes(rootHash) }))

  const c = await proofOf(await edge.get('/v1/log/proof/consistency?from=30'))
  assert.equal([c.from, c.to, c.fromRootHash], [30, 41, rootHash])
  const claim = { from: c.from, fromRoot: bytes(c.fromRootHash), to: c.to, toRoot: bytes(c.toRootHash) }
  assert.ok(verifyConsistency({ ...claim, proof: c.proof.map(bytes) }))
})

test('a row of leaves that names another event than the tree holds is never an answer (F223)', async () => {
  const inner = openSqliteLogs({ path: ':memory:' })
  let lie = (row: LeafRow | undefined): LeafRow | undefined => row
  const logStore = new Proxy(inner, {
    get: (store, name) => {
      if (name === 'leaf') return (tenant: string, index: number) => lie(store.leaf(tenant, index))
      const member: unknown = Reflect.get(store, name)
      return typeof member === 'function' ? member.bind(store) : member
    },
  })
  await using edge = await logEdge({ logStore })
  await edge.at.fill(edge.tenant, 'one', 20)
  await edge.at.logs.publish()
  const asked = async () => {
    const response = await edge.get('/v1/log/proof/inclusion?index=7')
    const { code, reason } = (await response.json()) as { code?: string; reason?: string }
    return [response.status === 200, code, reason]
  }
  assert.equal(await asked(), [true, undefined, undefined])
  const other = inner.leaf(edge.tenant, 8)
  lie = (row) => row && { ...row, revision: other?.revision ?? 0 }
  assert.equal(await asked(), [false, 'stream-damaged', 'leaf-damaged'], 'another revision')
  lie = (row) => row && { ...row, eventId: other?.eventId ?? '' }
  assert.equal(await asked(), [false, 'stream-damaged', 'leaf-damaged'], 'another id')
  lie = () => undefined
  assert.equal(await asked(), [false, 'stream-damaged', 'leaf-damaged'], 'no row below the checkpoint')
})

test('the proof file of an event is checked offline', async () => {
  await using edge = await logEdge()
  await edge.at.fill(edge.tenant, 'one', 20)
  await edge.at.logs.publish()
  const { eventId, leafHash: leaf } = await proofOf(await edge.get('/v1/log/proof/inclusion?index=3'))
  const file = await edge.get(`/v1/log/events/${eventId}/proof.tlog-proof`)
  assert.is(file.status, 200)
  const { index, hashes, checkpoint } = known(parseTlogProof(await file.text()))
  const { size, root } = known(parseCheckpoint(openedCheckpoint(checkpoint, edge.at.logs.verifierKey(edge.tenant))))
  assert.ok(verifyInclusion({ index, size, leaf: bytes(leaf), proof: hashes, root }))
})

test('what the published log does not have is 404, in any spelling of a path', async () => {
  await using edge = await logEdge()
  assert.is((await edge.get('/v1/log/checkpoint')).status, 404)
  await edge.at.fill(edge.tenant, 'one', 3)
  await edge.at.logs.publish()
  const paths = [
    'tile/0/000',
    'tile/0/000.p/8',
    'tile/0/000.p/07',
    'tile/0/x000/000.p/7',
    'tile/0/00.p/7',
    'tile/0/001.p/1',
    'tile/1/000.p/1',
    'tile/00/000.p/7',
    'tile/entries/000',
    'tile/entries/000.p/8',
    'tile/0/..%2F0/000.p/7',
    'tile/0/000.p/7/',
    'events/nobody/proof.tlog-proof',
    'events/0190f0f0-0000-7000-8000-000000000000/proof.tlog-proof',
    'proof/inclusion?index=7',
    'proof/inclusion?index=0&size=8',
    'proof/inclusion?event=0190f0f0-0000-7000-8000-000000000000',
    'proof/consistency?from=1&to=8',
  ]
  for (const path of paths) assert.is((await edge.get(`/v1/log/${path}`)).status, 404, path)
  assert.is((await edge.get('/v1/log/tile/0/000.p/7')).status, 200)
})

test('a question that contradicts itself is 400', async () => {
  await using edge = await logEdge()
  await edge.at.fill(edge.tenant, 'one', 3)
  await edge.at.logs.publish()
  for (const query of [
    'inclusion',
    'inclusion?index=1&event=0190f0f0-0000-7000-8000-000000000000',
    'inclusion?index=-1',
    'inclusion?index=3&size=3',
    'inclusion?event=x',
    'consistency',
    'consistency?from=3&to=2',
    'consistency?from=1&from=2',
    'consistency?from=0',
  ]) {
    assert.is((await edge.get(`/v1/log/proof/${query}`)).status, 400, query)
  }
})

test('a proof of consistency from size 0 is 400 with why, before and after the first checkpoint (LOG-9)', async () => {
  await using edge = await logEdge()
  await edge.at.fill(edge.tenant, 'one', 3)
  for (const query of ['from=0', 'from=0&to=0', 'from=0&to=3', 'from=0&to=1000']) {
    const answer = await edge.get(`/v1/log/proof/consistency?${query}`)
    assert.is(answer.status, 400, query)
    const { code, detail } = await bodyOf(answer)
    assert.is(code, 'invalid-query')
    assert.match(detail, /no consistency proof from size 0: RFC 6962 defines none/)
    await edge.at.logs.publish()
  }
  assert.is((await edge.get('/v1/log/proof/consistency?from=1')).status, 200)
})

test('an event of another tenant looks like one that does not exist, and its log stays its own (A11)', async () => {
  await using edge = await logEdge()
  await edge.at.fill(edge.tenant, 'one', 300)
  await edge.at.fill(edge.foreign, 'one', 1)
  await edge.at.logs.publish()
  const { eventId } = await proofOf(await edge.get('/v1/log/proof/inclusion?index=0'))
  for (const path of [`proof/inclusion?event=${eventId}`, `events/${eventId}/proof.tlog-proof`]) {
    const foreign = await edge.get(`/v1/log/${path}`, edge.foreign)
    const unknown = await edge.get(
      `/v1/log/${path.replace(eventId, '0190f0f0-0000-7000-8000-000000000000')}`,
      edge.foreign,
    )
    assert.is(foreign.status, 404)
    assert.is(
      (await foreign.text()).replaceAll(eventId, 'x'),
      (await unknown.text()).replaceAll(/0190f0f0[0-9a-f-]+/g, 'x'),
    )
  }
  const { index, size } = await proofOf(await edge.get('/v1/log/proof/inclusion?index=0', edge.foreign))
  assert.equal([index, size], [0, 3])
  assert.is((await edge.get('/v1/log/tile/0/000', edge.foreign)).status, 404)
  assert.is((await edge.get('/v1/log/tile/entries/000', edge.foreign)).status, 404)
})

test('the log is for auditors: another scope is 403 (A12)', async () => {
  await using edge = await logEdge()
  for (const path of ['checkpoint', 'key', 'tile/0/000', 'proof/inclusion?index=0', 'proof/consistency?from=0']) {
    for (const scope of ['runs:write', 'runs:read', 'audit:export', 'admin']) {
      assert.is((await edge.get(`/v1/log/${path}`, edge.tenant, scope)).status, 403)
    }
  }
})

test('a ledger that keeps no log says so', async () => {
  await using edge = await testEdge()
  const response = await edge.get('/v1/log/checkpoint')
  assert.is(response.status, 404)
  assert.is((await bodyOf(response)).code, 'not-found')
})

test.run()
