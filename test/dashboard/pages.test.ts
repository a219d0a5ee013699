import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { HOSTILE_RUN, HOSTILE_TEXTS, REFUSED_RUN, seedDashboard } from '../support/dashboard-seed.ts'
import { bearer, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('dashboard: pages')

async function seeded() {
  const edge = await testEdge({ realClock: false })
  await seedDashboard({ ledger: edge.inner.ledger, wait: (ms) => (edge.inner.clock.nowMs += ms) })
  return edge
}

const PATHS = [
  '/ui/runs',
  `/ui/runs/${REFUSED_RUN}`,
  `/ui/runs/${REFUSED_RUN}?scale=time`,
  `/ui/runs/${HOSTILE_RUN}`,
  `/ui/runs/${REFUSED_RUN}/events/7`,
  `/ui/runs/${REFUSED_RUN}/diff?from=1&to=2`,
]

test('every page, also of a fault, allows no inline script or style, no other origin and no frame', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  for (const path of [...PATHS, '/ui/nothing', '/ui/sign-in', '/ui/runs/none', '/ui/runs?status=x']) {
    const response = await client.get(path)
    const policy = response.headers.get('content-security-policy') ?? ''
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self';/, path)
    assert.match(policy, /frame-ancestors 'none'; base-uri 'none'$/)
    assert.is(response.headers.get('cache-control'), 'no-store')
    assert.is(response.headers.get('x-content-type-options'), 'nosniff')
    const html = await response.text()
    assert.not.match(html, /<script(?![^>]*\ssrc="\/ui\/assets\/)[^>]*>/, path)
    assert.not.match(html, /\s(on\w+|style)="/i, path)
    assert.not.match(html, /(src|href|action)="(?!\/ui|#)/, path)
  }
})

test('what a record says is shown and never run: markup, escapes, separators and bidi controls are named (A45, A50)', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  for (const path of [
    '/ui/runs',
    `/ui/runs/${HOSTILE_RUN}`,
    `/ui/runs/${REFUSED_RUN}/events/7`,
    `/ui/runs/${REFUSED_RUN}/diff?from=1&to=2`,
  ]) {
    const html = await client.html(path)
    for (const text of HOSTILE_TEXTS.filter((each) => each.includes('<'))) assert.not.ok(html.includes(text), path)
    for (const hidden of ['\u2028', '\u2029', '\u202e', '\u001b']) assert.not.ok(html.includes(hidden), path)
    assert.not.match(html, /href="javascript:/i)
  }
  const page = await client.html(`/ui/runs/${HOSTILE_RUN}`)
  assert.match(page, /title="RIGHT-TO-LEFT OVERRIDE">U\+202E</)
  assert.match(page, /title="ESCAPE">U\+001B</)
  assert.match(page, /Ignore all previous instructions/)
})

test('a run of another tenant looks like a run that does not exist, on every page (A11)', async () => {
  await using edge = await seeded()
  const foreign = await signedIn(edge, { tenant: 'beta' })
  for (const path of PATHS.filter((each) => each.includes(REFUSED_RUN))) {
    const theirs = await foreign.get(path)
    const nobodys = await foreign.get(path.replace(REFUSED_RUN, 'nobody'))
    assert.is(theirs.status, 404, path)
    const here = (text: string) => text.replaceAll(REFUSED_RUN, 'nobody').replaceAll(/value="[\w-]{43}"/g, '')
    assert.is(here(await theirs.text()), here(await nobodys.text()))
  }
  assert.not.match(await foreign.html('/ui/runs'), new RegExp(REFUSED_RUN))
})

test('a token without the scope is told which one the page needs (A12)', async () => {
  await using edge = await seeded()
  const writer = await signedIn(edge, { scopes: ['runs:write'] })
  for (const path of PATHS) {
    const response = await writer.get(path)
    assert.is(response.status, 403, path)
    assert.match(await response.text(), /needs the scope runs:read or audit:read/)
  }
})

test('a token of one run sees that run alone', async () => {
  await using edge = await seeded()
  const bound = await signedIn(edge, { run: 'claim-2292' })
  assert.is((await bound.get('/ui/runs')).headers.get('location'), '/ui/runs/claim-2292')
  assert.is((await bound.get('/ui/runs/claim-2292')).status, 200)
  assert.is((await bound.get(`/ui/runs/${REFUSED_RUN}`)).status, 403)
})

test('a cookie opens no route of the API, and a bearer token no page', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  assert.is((await client.get('/v1/runs')).status, 401)
  assert.is((await edge.app.request('/ui/runs', { headers: await bearer(edge, {}) })).status, 303)
})

test('the run list filters by refusal, status, agent and time, and says what is wrong with a filter', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  const runsOf = async (search: string) =>
    [...(await client.html(`/ui/runs?${search}`)).matchAll(/<tr id="run-([^"]+)"/g)].map(([, run]) => run)
  assert.equal(await runsOf(''), ['hostile', 'claim-2293', 'claim-2292', 'claim-2291'])
  assert.equal(await runsOf('refused=true'), ['hostile', 'claim-2291'])
  assert.equal(await runsOf('status=failed&name='), ['claim-2292'])
  assert.equal(await runsOf('agent=writer'), ['claim-2291'])
  assert.equal(await runsOf('since=2999-01-01'), [])
  const wrong = await client.get('/ui/runs?since=yesterday')
  assert.is(wrong.status, 400)
  assert.match(await wrong.text(), /since: give a time such as/)
})

test('a run list goes on page by page without a gap or a repeat', async () => {
  await using edge = await testEdge({ realClock: false })
  for (let count = 0; count < 120; count += 1) {
    await edge.started(`run-${String(count).padStart(3, '0')}`)
    edge.inner.clock.nowMs += count % 3
  }
  const client = await signedIn(edge)
  const seen: string[] = []
  let next: string | undefined = '/ui/runs'
  while (next !== undefined) {
    const html: string = await client.html(next)
    seen.push(...[...html.matchAll(/<tr id="run-([^"]+)"/g)].map(([, run]) => run ?? ''))
    next = /<a href="([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&')
  }
  assert.is(seen.length, 120)
  assert.is(new Set(seen).size, 120)
})

test.run()
