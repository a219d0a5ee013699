import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { safeNext } from '../../src/dashboard/paths.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { StoreUnavailableError } from '../../src/store/event-store.ts'
import { testEdge } from '../support/test-edge.ts'
import { signedIn, uiClient } from '../support/ui-client.ts'

const test = suite('dashboard: signing in and out')

test('no page is shown without a session; signing in leads to the page that was requested', async () => {
  await using edge = await testEdge()
  await edge.started('r1')
  const client = uiClient(edge)
  const asked = await client.get('/ui/runs/r1?scale=time')
  assert.is(asked.status, 303)
  assert.is(asked.headers.get('location'), '/ui/sign-in?next=%2Fui%2Fruns%2Fr1%3Fscale%3Dtime')
  await client.html('/ui/sign-in?next=%2Fui%2Fruns%2Fr1%3Fscale%3Dtime')
  const done = await client.post('/ui/sign-in', { token: await edge.token(), next: '/ui/runs/r1?scale=time' })
  assert.equal([done.status, done.headers.get('location')], [303, '/ui/runs/r1?scale=time'])
  assert.match(await client.html('/ui/runs/r1'), /<h1>/)
})

test('the cookie is HttpOnly, of this site and of /ui alone, ends with the token, and holds no token', async () => {
  await using edge = await testEdge()
  const client = uiClient(edge)
  await client.html('/ui/sign-in')
  const token = await edge.token({ ttlSeconds: 300 })
  const response = await client.post('/ui/sign-in', { token }, { 'x-forwarded-proto': 'https' })
  const line = response.headers.getSetCookie().find((cookie) => cookie.startsWith('countersign_session=')) ?? ''
  assert.match(line, /; HttpOnly/)
  assert.match(line, /; SameSite=Strict/)
  assert.match(line, /; Path=\/ui(;|$)/)
  assert.match(line, /; Secure/)
  const age = Number(/Max-Age=(\d+)/.exec(line)?.[1])
  assert.ok(age > 290 && age <= 300, line)
  assert.not.match(line, token.slice(0, 20))
})

test('a session ends with its token, on the server', async () => {
  await using edge = await testEdge()
  const client = await signedIn(edge)
  assert.is((await client.get('/ui/runs')).status, 200)
  const { rotateTokenKeys } = await import('../../src/signing/ledger-keys.ts')
  const { randomBytes } = await import('node:crypto')
  const past = new Date(Date.now() - 120_000).toISOString()
  edge.inner.keys.replace(rotateTokenKeys(edge.inner.keys.current(), past, randomBytes))
  assert.is((await client.get('/ui/runs')).status, 303)
})

test('signing out ends the session for every copy of its cookie', async () => {
  await using edge = await testEdge()
  const client = await signedIn(edge)
  const copy = uiClient(edge)
  for (const [name, value] of client.cookies) copy.cookies.set(name, value)
  assert.is((await client.post('/ui/sign-out', {})).status, 303)
  assert.is((await copy.get('/ui/runs')).headers.get('location'), '/ui/sign-in?next=%2Fui%2Fruns')
})

test('a form without the secret of its session does nothing', async () => {
  await using edge = await testEdge()
  const client = await signedIn(edge)
  const other = await signedIn(edge, { subject: 'mallory' })
  const stolen = /name="csrf" value="([^"]*)"/.exec(await other.html('/ui/runs'))?.[1] ?? ''
  for (const csrf of ['', 'x', stolen]) assert.is((await client.post('/ui/sign-out', { csrf })).status, 403)
  assert.is((await client.post('/ui/sign-out', {}, { 'sec-fetch-site': 'cross-site' })).status, 403)
  assert.is((await client.get('/ui/runs')).status, 200)
})

test('a sign-in form that another site sends signs nobody in', async () => {
  await using edge = await testEdge()
  const token = await edge.token()
  const fresh = uiClient(edge)
  assert.is((await fresh.post('/ui/sign-in', { token })).status, 403)
  await fresh.html('/ui/sign-in')
  assert.is((await fresh.post('/ui/sign-in', { token, csrf: 'AAAA' })).status, 403)
  assert.is((await fresh.post('/ui/sign-in', { token }, { 'sec-fetch-site': 'same-site' })).status, 403)
  assert.not.ok(fresh.cookies.has('countersign_session'))
})

test('a refused token is neither shown nor logged, and an address that keeps guessing has to wait', async () => {
  await using edge = await testEdge({ settings: { refusedTokensPerSecond: 1 } })
  const client = uiClient(edge)
  const statuses = new Set<number>()
  for (let tries = 0; tries < 105; tries += 1) {
    await client.html('/ui/sign-in')
    const response = await client.post('/ui/sign-in', { token: 'secret-guess' })
    statuses.add(response.status)
    assert.not.match(await response.text(), /secret-guess/)
    if (response.status === 429) assert.ok(Number(response.headers.get('retry-after')) >= 1)
  }
  assert.equal([...statuses], [401, 429])
  assert.not.match(JSON.stringify(edge.logs), /secret-guess/)
})

test('a form that is too large, doubled or no form at all is not read', async () => {
  await using edge = await testEdge()
  const client = uiClient(edge)
  await client.html('/ui/sign-in')
  assert.is((await client.post('/ui/sign-in', { token: 'x'.repeat(40_000) })).status, 403)
  const type = { 'content-type': 'application/json' }
  assert.is((await client.post('/ui/sign-in', { token: await edge.token() }, type)).status, 403)
})

test('signing in leads to pages of this dashboard and nowhere else', () => {
  const outside = [
    '//evil.example',
    '/ui//evil.example/..',
    '/ui/../v1/runs',
    'https://evil.example',
    '/ui\\evil',
    '/uix',
    '/v1/runs',
    '',
  ]
  for (const next of outside) {
    const led = safeNext(next)
    assert.ok(led === '/ui/overview' || led.startsWith('/ui/'), `${next} -> ${led}`)
    assert.is(new URL(led, 'http://ours.example').host, 'ours.example')
  }
  assert.is(safeNext('/ui/runs/r1?scale=time'), '/ui/runs/r1?scale=time')
  assert.is(safeNext('/ui/../v1/runs'), '/ui/overview')
})

test('a link from another site brings the session along in one step, without a loop', async () => {
  await using edge = await testEdge()
  const client = uiClient(edge)
  const cross = await client.get('/ui/runs/r1', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' })
  assert.is(cross.status, 200)
  assert.match(await cross.text(), /http-equiv="refresh" content="0"/)
  assert.is((await client.get('/ui/runs/r1', { 'sec-fetch-site': 'same-origin' })).status, 303)
})

test('one subject that signs in again and again ends its own oldest session, nobody else\u2019s', async () => {
  await using edge = await testEdge()
  const bob = await signedIn(edge, { subject: 'bob' })
  const first = await signedIn(edge)
  for (let count = 0; count < 20; count += 1) await signedIn(edge)
  assert.is((await first.get('/ui/runs')).status, 303)
  assert.is((await bob.get('/ui/runs')).status, 200)
})

test('a sign-in is on record before its session begins: who, and when (LOG-31)', async () => {
  await using edge = await testEdge({ audit: true })
  await signedIn(edge, { subject: 'kim' })
  const rows = (await (await edge.get('/v1/audit/access')).json()) as { items: readonly Record<string, unknown>[] }
  const found = rows.items.filter(({ query }) => query === 'sign-in')
  assert.equal(
    found.map(({ actor, principal }) => principal ?? actor),
    ['kim'],
  )
})

test('where a sign-in cannot be on record the log says so; under strict-access nobody is let in (LOG-31)', async () => {
  for (const strictAccess of [false, true]) {
    const wrap = (ledger: Ledger): Ledger => {
      const { audit } = ledger
      if (audit === undefined) return ledger
      const record = async (): Promise<void> => {
        throw new StoreUnavailableError('the disk is full', 1)
      }
      return { ...ledger, audit: { ...audit, record } }
    }
    await using edge = await testEdge({ audit: true, settings: { strictAccess }, wrap })
    const client = uiClient(edge)
    await client.html('/ui/sign-in')
    const done = await client.post('/ui/sign-in', { token: await edge.token() })
    assert.is(done.status, strictAccess ? 503 : 303)
    assert.ok(edge.logs.some(({ message }) => message.includes('a sign-in could not be recorded')))
    const session = done.headers.getSetCookie().some((cookie) => cookie.startsWith('countersign_session='))
    assert.is(session, !strictAccess)
  }
})

test.run()
