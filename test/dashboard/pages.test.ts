import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { AUDIT_QUERIES } from '../../src/ledger/audit/audit-queries.ts'
import { HOSTILE_RUN, HOSTILE_TEXTS, REFUSED_RUN, seedDashboard } from '../support/dashboard-seed.ts'
import { drive, ok } from '../support/run-driver.ts'
import { readSse } from '../support/sse-reader.ts'
import { bearer, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'
import { within } from '../support/within.ts'

const test = suite('dashboard: pages')

async function seeded() {
  const edge = await testEdge({ realClock: false, audit: true })
  await seedDashboard({ ledger: edge.inner.ledger, wait: (ms) => (edge.inner.clock.nowMs += ms) })
  return edge
}

const AUDIT_PATHS = [
  '/ui/spend',
  '/ui/log',
  '/ui/service',
  '/ui/audit',
  ...Object.keys(AUDIT_QUERIES).map((name) => `/ui/audit/${name}`),
]
const PATHS = [
  '/ui/runs',
  `/ui/runs/${REFUSED_RUN}`,
  `/ui/runs/${REFUSED_RUN}?scale=time`,
  `/ui/runs/${HOSTILE_RUN}`,
  `/ui/runs/${REFUSED_RUN}/events/7`,
  `/ui/runs/${REFUSED_RUN}/diff?from=1&to=2`,
  `/ui/runs/${REFUSED_RUN}/context`,
  `/ui/runs/${REFUSED_RUN}/context?step=1`,
  `/ui/runs/${REFUSED_RUN}/refusals/23`,
]

test('every page, also of a fault, allows no inline script or style, no other origin and no frame', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  for (const path of [...PATHS, ...AUDIT_PATHS, '/ui/nothing', '/ui/sign-in', '/ui/runs/none', '/ui/runs?status=x']) {
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

test('the last pass of retention and the next one are told, by page and API, for the tenant alone (LIFE-73)', async () => {
  const last = { at: '2026-01-02T03:04:05.000Z', archived: 12, left: 3, failure: 'the legal hold h-1' }
  const asked: string[] = []
  const of = (tenant: string) => {
    asked.push(tenant)
    return { nextAt: '2026-01-03T03:04:05.000Z', last }
  }
  await using edge = await testEdge({ retentionPasses: { of } })
  const html = await (await signedIn(edge)).html('/ui/service')
  assert.match(
    html,
    /Next pass of retention: .*2026-01-03.*Last pass: .*2026-01-02.*12 runs archived, 3 due runs left/s,
  )
  assert.match(html, /ended early.*the legal hold h-1/s)
  const answer = await (await edge.get('/v1/archives')).json()
  assert.equal(answer, { items: [], total: 0, passes: { nextAt: '2026-01-03T03:04:05.000Z', last } })
  assert.equal(new Set(asked), new Set([edge.tenant]))

  await using other = await testEdge()
  assert.match(await (await signedIn(other)).html('/ui/service'), /No pass of retention is due/)
  assert.is((await (await other.get('/v1/archives')).json()).passes, undefined)
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

test('at an address without a page, whoever is signed in keeps the navigation', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  for (const path of ['/ui/nowhere', '/ui/runs/a/b/c/d']) {
    const response = await client.get(path)
    const html = await response.text()
    assert.is(response.status, 404)
    assert.match(html, /No such page/)
    assert.match(html, /<nav aria-label="Main">/)
    assert.match(html, /Sign out/)
  }
  assert.is((await client.post('/ui/nowhere', {})).status, 404)
  const stranger = await edge.app.request('/ui/nowhere')
  assert.is(stranger.status, 404)
  assert.not.match(await stranger.text(), /<nav aria-label="Main">/)
})

test('how a rollback ended stands in words on every page of its run', async () => {
  await using edge = await seeded()
  const run = drive(edge.inner, 'undone', { tenant: edge.tenant, actor: 'alice' })
  await run.start()
  const paid = await run.called('pay', { compensate: { tool: 'undo' } })
  ok(await run.do({ kind: 'compensate', body: { reason: 'enough' } }))
  ok(await run.undo(paid, { error: { message: 'the bank is closed' } }))
  const client = await signedIn(edge)
  const html = await client.html('/ui/runs/undone')
  assert.match(html, /Rollback ended: compensation failed/)
  assert.not.match(html, /COMPENSATION_FAILED/)
})

test('back in the browser, a form of filters shows those of its page, not what was ticked when it was left', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  // A browser restores what was typed and ticked, but not in a form without autocompletion.
  for (const path of ['/ui/runs', '/ui/audit/events', '/ui/spend'])
    assert.match(await client.html(path), /<form [^>]*autocomplete="off"/, path)
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
    const html = await response.text()
    assert.match(html, /needs the scope (runs|payloads):read or audit:read/)
    // Nobody is sent where this token does not get either.
    assert.not.match(html, /href="\/ui\/runs"/)
  }
})

test('pages of the whole tenant need audit:read, and are not offered without it (A12)', async () => {
  await using edge = await seeded()
  const reader = await signedIn(edge, { scopes: ['runs:read'] })
  for (const path of AUDIT_PATHS) assert.is((await reader.get(path)).status, 403, path)
  assert.not.match(await reader.html('/ui/runs'), /href="\/ui\/(spend|log|audit)/)
  const auditor = await signedIn(edge, { scopes: ['audit:read'] })
  for (const path of [...PATHS, ...AUDIT_PATHS]) assert.is((await auditor.get(path)).status, 200, path)
})

test('an auditor of another tenant finds nothing of this one on any page (A11)', async () => {
  await using edge = await seeded()
  const foreign = await signedIn(edge, { tenant: 'beta' })
  for (const path of [...AUDIT_PATHS, '/ui/audit/search?text=claim', '/ui/audit/events?run=claim-2291']) {
    const html = await foreign.html(path)
    const outside = html.replaceAll(/value="[^"]*claim-2291"|(?<=href="[^"]*)run=claim-2291|run: claim-2291/g, '')
    assert.not.match(outside, /claim-229|dana\.whitfield|Northwind|claude-sonnet/, path)
  }
})

test('what an auditor reads on a page is on record before it is shown, a verification with its verdict', async () => {
  await using edge = await seeded()
  const auditor = await signedIn(edge, { scopes: ['audit:read'], subject: 'olga' })
  await auditor.html(`/ui/runs/${REFUSED_RUN}`)
  assert.match(await (await auditor.post(`/ui/runs/${REFUSED_RUN}/verify`, {})).text(), /<h1>VERIFIED<\/h1>/)
  const access = await auditor.html('/ui/audit/access')
  assert.match(access, /olga/)
  assert.match(access, /page\/runs/)
  assert.match(await auditor.html('/ui/audit/verifications'), /replay.*>VERIFIED</s)
})

test('downloads are the answers of the API: same scopes, same bytes, same record, and no other path', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  const path = `runs/${REFUSED_RUN}/export?format=csv`
  const [page, api] = [await client.get(`/ui/download/${path}`), await edge.get(`/v1/${path}`)]
  assert.is(page.headers.get('content-disposition'), api.headers.get('content-disposition'))
  const lines = async (response: Response) => (await response.text()).split('\n').slice(0, 20)
  assert.equal(await lines(page), await lines(api))
  const reader = await signedIn(edge, { scopes: ['runs:read', 'audit:read'] })
  assert.is((await reader.get(`/ui/download/${path}`)).status, 403)
  const foreign = await signedIn(edge, { tenant: 'beta' })
  assert.is((await foreign.get(`/ui/download/${path}`)).status, 404)
  const closed = [
    'runs',
    'events',
    'runs/x/events',
    '../metrics',
    'runs/x/complete',
    'audit/events',
    '%2e%2e/metrics',
    '',
  ]
  for (const other of closed) assert.is((await client.get(`/ui/download/${other}`)).status, 404, other)
})

test('a token of one agent is refused every page of the audit, whatever its scopes, and sees the runs all the same (A86)', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge, { agent: 'nobody-else' })
  for (const path of AUDIT_PATHS) assert.is((await client.get(path)).status, 403, path)
  assert.is((await client.get('/ui/runs')).status, 200)
  const auditor = await signedIn(edge)
  for (const path of AUDIT_PATHS) assert.is.not((await auditor.get(path)).status, 403, path)
})

test('a live stream goes on where the page stood, names runs and revisions alone, and never another tenant\u2019s (A11)', async () => {
  await using edge = await testEdge()
  await edge.started('mine')
  const client = await signedIn(edge)
  const address = /data-live="([^"]+)"/.exec(await client.html('/ui/runs'))?.[1] ?? ''
  await edge.post('/v1/runs', { id: 'theirs', name: 'x' }, await bearer(edge, { tenant: 'beta' }))
  await edge.post('/v1/runs/mine/envelopes', { agent: 'a', payload: { secret: 'payload' } })
  const stream = readSse(await client.get(address))
  const frame = await within(stream.until('changed'))
  const last = frame.at(-1)
  assert.equal(JSON.parse(last?.data ?? ''), { mine: 1 })
  await stream.close()
  const resumed = readSse(await client.get(address, { 'last-event-id': last?.id ?? '' }))
  await edge.post('/v1/runs/mine/complete', {})
  assert.equal(JSON.parse((await within(resumed.until('changed'))).at(-1)?.data ?? ''), { mine: 2 })
  await resumed.close()
  // A position of another kind of store: as after a copy.
  const elsewhere = edge.inner.ledger.places.seal(JSON.stringify(['live', edge.tenant]), '77/77'.padEnd(48))
  const lost = readSse(await client.get(`/ui/live?after=${elsewhere}`))
  assert.is((await within(lost.until('resync'))).at(-1)?.event, 'resync')
  await lost.close()
})

test('a live stream ends with the session that is signed out, and with the server', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const opened = async () => {
    const client = await signedIn(edge)
    return { client, stream: readSse(await client.get('/ui/runs/r/live')) }
  }
  const out = await opened()
  await out.client.post('/ui/sign-out', {})
  await within(out.stream.rest(), 'the stream of a session that was signed out')
  const last = await opened()
  edge.draining.abort()
  await within(last.stream.rest(), 'the stream of a server that stops')
})

test('a question goes on page by page, pinned to one size of the log', async () => {
  await using edge = await testEdge({ audit: true })
  for (let count = 0; count < 70; count += 1) await edge.started(`r${count}`)
  const client = await signedIn(edge)
  const first = await client.html('/ui/audit/events')
  const next = /<a href="([^"]+)" rel="next"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const second = await client.html(next)
  const revisions = (html: string) =>
    [...html.matchAll(/<td data-label="Leaf">(\d+)<\/td><td data-label="Time"><time/g)].map(([, leaf]) => Number(leaf))
  const leaves = [...revisions(first), ...revisions(second)]
  assert.is(new Set(leaves).size, leaves.length)
  assert.ok(leaves.length >= 70, String(leaves.length))
  assert.is((await client.get('/ui/audit/events?place=bm9uc2Vuc2U')).status, 400)
  assert.is((await client.get('/ui/audit/events?types=Nonsense')).status, 400)
  assert.is((await client.get('/ui/audit/nothing')).status, 404)
})

test('the page of events opens on what people do, says that it leaves the rest out, and shows every event by a click', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  await client.html('/ui/spend')
  const opened = await client.html('/ui/audit/events')
  assert.match(opened, /Shown is what agents and people did/)
  assert.match(opened, />RunCompleted</)
  assert.not.match(opened, />(AccessRecorded|BudgetReserved)</)
  const every = /<a href="([^"]+)">Show every event/.exec(opened)?.[1]?.replaceAll('&amp;', '&') ?? ''
  const all = await client.html(every)
  assert.not.match(all, /Shown is what agents/)
  assert.match(all, />AccessRecorded</)
  const typed = await client.html('/ui/audit/events?types=AccessRecorded')
  assert.match(typed, />AccessRecorded</)
  assert.not.match(typed, /Shown is what agents/)
})

test('a question is narrowed by a part of a name, and by a whole one where a link says so', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  const page = await client.html('/ui/audit/events?contains=RESERVE-1')
  assert.match(page, />reserve-17</)
  assert.not.match(page, /claim-2291</)
  assert.match(page, /name="contains" value="RESERVE-1"/)
  assert.match(page, /name="agentContains"/)
  assert.not.match(page, /name="agent"/)
  assert.match(
    await client.html('/ui/audit/events?agent=nobody'),
    /Agent, whole name<[\s\S]*name="agent" value="nobody"/,
  )
})

test('a page of the audit is of the log as it was, where a size is given, and refuses one that it never had', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  const whole = await client.html('/ui/audit/runs')
  assert.match(whole, /reserve-17/)
  const then = await client.html('/ui/audit/runs?asOf=20')
  assert.match(then, /As of <a href="[^"]*asOf=20">20 events of the log/)
  assert.match(then, /claim-2291/)
  assert.not.match(then, /reserve-17/)
  assert.match(await client.html('/ui/spend?asOf=20'), /as of 20 events of the log/)
  for (const asOf of ['0', 'x', '9999999'])
    assert.is((await client.get(`/ui/audit/runs?asOf=${asOf}`)).status, 400, asOf)
  assert.is((await client.get('/ui/audit/events?zone=Mars')).status, 400)
})

test('the outcome of a compensation carries the name of its tool, in the list and on its own page', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  assert.match(await client.html(`/ui/runs/${REFUSED_RUN}`), /Compensation recall-letter failed: /)
  assert.match(await client.html(`/ui/runs/${REFUSED_RUN}/events/35`), /<h1><bdi>Compensation recall-letter failed: /)
})

test('what a search found is marked in its sentence, and the member that it stands in is named', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  const found = await client.html('/ui/audit/search?text=beneficiary')
  assert.match(found, /bank refused: <\/bdi><mark><bdi>beneficiary<\/bdi><\/mark><bdi> not verified/)
  assert.match(found, /<bdi>\/error\/message<\/bdi>/)
})

test('a run that does not verify is called tampered, with the event that does not fit', async () => {
  const faults = [{ revision: 3, ok: false, faults: [{ code: 'mac', message: 'the mac does not fit the header' }] }]
  const verdict = {
    verdict: 'TAMPERED',
    stream: 's',
    events: 5,
    snapshots: { matched: 1, mismatched: 0, notCompared: 0 },
    faults,
  }
  await using edge = await testEdge({
    wrap: (ledger) => ({
      ...ledger,
      replay: async () => ({
        ok: true,
        revision: 4,
        value: {
          losses: [],
          lines: (async function* () {
            yield verdict
          })(),
        },
      }),
    }),
  })
  await edge.started('r')
  const html = await (await (await signedIn(edge)).post('/ui/runs/r/verify', {})).text()
  assert.match(html, /<h1>TAMPERED<\/h1>/)
  assert.match(html, /href="\/ui\/runs\/r\/events\/3".*the mac does not fit the header/s)
})

test('a HEAD holds no stream open, and a page that breaks says where the operator finds why', async () => {
  await using edge = await testEdge({
    settings: { streamsPerTenant: 1 },
    wrap: (ledger) => ({ ...ledger, context: () => Promise.reject(new Error('boom')) }),
  })
  await edge.started('r')
  const client = await signedIn(edge)
  for (let tries = 0; tries < 3; tries += 1) {
    const head = { method: 'HEAD', headers: { cookie: [...client.cookies].map((pair) => pair.join('=')).join('; ') } }
    assert.is((await edge.app.request('/ui/live', head)).status, 200)
    assert.is((await edge.app.request('/ui/download/runs/r/export', head)).status, 200)
  }
  const download = await client.get('/ui/download/runs/r/export')
  assert.is(download.status, 200)
  await download.text()
  const broken = await client.get('/ui/runs/r/context')
  assert.is(broken.status, 500)
  const id = /under ([0-9a-f-]{36})/.exec(await broken.text())?.[1]
  assert.ok(edge.logs.some(({ fields }) => 'errorId' in fields && fields.errorId === id))
})

test('a run and an event that are not there are answered with what to do', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  const missing = [
    '/events/9999',
    '/events/x',
    '/events/9007199254740993',
    '/refusals/1',
    '/refusals/99999',
    '/diff?from=1&to=99',
  ]
  for (const rest of missing) {
    const response = await client.get(`/ui/runs/${REFUSED_RUN}${rest}`)
    assert.ok(response.status >= 400 && response.status < 500, `${rest}: ${response.status}`)
    assert.match(await response.text(), /To the runs/)
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
  assert.equal(await runsOf(''), ['hostile', 'reserve-17', 'claim-2293', 'claim-2292', 'claim-2291'])
  assert.equal(await runsOf('refused=true'), ['hostile', 'claim-2291'])
  assert.equal(await runsOf('status=failed&name='), ['claim-2292'])
  assert.equal(await runsOf('agent=assessor'), ['claim-2291'])
  assert.equal(await runsOf('since=2999-01-01'), [])
  assert.equal(await runsOf('contains=DANA.whit&refused=true'), ['claim-2291'])
  assert.equal(await runsOf('contains=REServe'), ['reserve-17'])
  assert.equal(await runsOf('contains=nobody'), [])
  assert.equal(await runsOf('until=30d&zone=Europe/Berlin'), [])
  assert.is((await runsOf('since=30d')).length, 5)
  const wrong = await client.get('/ui/runs?since=some+day')
  assert.is(wrong.status, 400)
  assert.match(await wrong.text(), /since: give a time such as/)
})

test('a compensation that failed stands on top of its run, a click from the event with its error', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  const html = await client.html(`/ui/runs/${REFUSED_RUN}`)
  const [, notice = ''] =
    /1 compensation failed: what the call did was not undone<\/h2>([\s\S]*?)<\/ul>/.exec(html) ?? []
  assert.match(notice, /recall-letter[\s\S]*to undo[\s\S]*send-letter/)
  const [, href = ''] = /href="([^"]+)"/.exec(notice) ?? []
  assert.match(await client.html(href), /CompensationFailed/)
  assert.not.match(await client.html('/ui/runs/reserve-17'), /compensation failed/)
})

test('a verdict is green where it is good news, and where nobody knows yet it is not', async () => {
  await using edge = await seeded()
  const client = await signedIn(edge)
  const html = await client.html('/ui/audit/events')
  const kinds = [...html.matchAll(/<span class="badge badge-(\w+)"><bdi>([\w-]+)<\/bdi>/g)]
  const kindsOf = (verdict: string) => [
    ...new Set(kinds.filter(([, , each]) => each === verdict).map(([, kind]) => kind)),
  ]
  assert.equal(kindsOf('claimed'), ['open'])
  assert.equal(kindsOf('accepted'), ['good'])
  assert.equal(kindsOf('rejected'), ['bad'])
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

test('a page takes a slot of its tenant while it is made, as a stream does, and gives it back (F79)', async () => {
  await using edge = await testEdge({ realClock: false, audit: true, settings: { streamsPerTenant: 1 } })
  const client = await signedIn(edge)
  assert.is((await client.get('/ui/runs')).status, 200)
  const tail = await edge.get('/v1/tail')
  assert.is((await client.get('/ui/runs')).status, 429)
  await tail.body?.cancel()
  assert.is((await client.get('/ui/runs')).status, 200)
  assert.is((await client.get('/ui/runs/none')).status, 404)
  assert.is((await client.get('/ui/runs')).status, 200)
})

test('a finding shows what established the value, and the entry that would permit the change; an accepted handoff shows what a tool moved (JUD-19, JUD-26)', async () => {
  await using edge = await testEdge()
  const client = await signedIn(edge)
  await edge.started('r')
  const call = async (result: object): Promise<void> => {
    const claim = await edge.post('/v1/runs/r/calls', { tool: 'look-up', args: { at: JSON.stringify(result) } })
    const { callId, fence } = (await claim.json()) as { callId: string; fence: number }
    await edge.post(`/v1/runs/r/calls/${callId}/settle`, { fence, result })
  }
  const hand = (payload: object) => edge.post('/v1/runs/r/envelopes', { agent: 'a', payload })
  const order = (city: string) => ({ order_id: 'A-1001', city })
  await call(order('Bern'))
  assert.is((await hand({ orders: [order('Bern')] })).status, 201)
  assert.is((await hand({ orders: [order('Thun')] })).status, 409)
  const refusal = await client.html('/ui/runs/r/refusals/4')
  assert.match(refusal, /established<\/dt><dd>in <a href="\/ui\/runs\/r\/events\/3">step 1<\/a>/)
  assert.match(
    refusal,
    /supersedes&quot;: \[\{&quot;path&quot;:&quot;\/orders\/0\/city&quot;,&quot;reason&quot;:&quot;why&quot;\}\]/,
  )
  assert.match(refusal, /in the handoff<\/dt><dd class="mono">.*\/payload\/orders\/0\/city/)
  assert.match(refusal, /by rule set 2/)
  await call(order('Basel'))
  assert.is((await hand({ orders: [order('Basel')] })).status, 201)
  const accepted = await client.html('/ui/runs/r/events/8')
  assert.match(accepted, /moved-by-tool[\s\S]*<a href="\/ui\/runs\/r\/events\/7">event 7<\/a>/)
})

test.run()
