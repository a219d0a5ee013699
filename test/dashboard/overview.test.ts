import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { DamagedIndexError } from '../../src/ledger/audit/audit-reads.ts'
import { IndexBuildingError } from '../../src/ledger/audit/index-building.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { seedDashboard, seedWaiting } from '../support/dashboard-seed.ts'
import { drive, ok } from '../support/run-driver.ts'
import { testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('dashboard: the overview')

const DAY_MS = 86_400_000

/** All that is in it happened three days ago. */
async function seeded(wrap: (ledger: Ledger) => Ledger = (ledger) => ledger) {
  const edge = await testEdge({ realClock: false, audit: true, merkleLogs: true, wrap })
  edge.inner.clock.nowMs = Date.now() - 3 * DAY_MS
  await seedDashboard({ ledger: edge.inner.ledger, wait: (ms) => (edge.inner.clock.nowMs += ms) })
  return edge
}

/** What stands on the card of a question. */
function card(html: string, title: string): string {
  const [, rest = ''] = html.split(`aria-label="${title}"`)
  return rest.split('</section>')[0] ?? ''
}

test('one page says whether anything was altered, what was refused, failed or is in doubt, who spent and who read what; each row leads to its evidence', async () => {
  await using edge = await seeded()
  const olga = await signedIn(edge, { subject: 'olga' })
  await olga.html('/ui/audit/events')
  const html = await olga.html('/ui/overview?period=all')
  assert.match(card(html, 'Was anything altered?'), /badge-open.*not read yet.*Last checkpoint.*Witnesses/s)
  assert.match(
    card(html, 'What was refused, and why?'),
    /href="\/ui\/runs\/claim-2291\/refusals\/23".*contradicted.*href="\/ui\/runs\/claim-2291\/events\/30".*budget-exceeded/s,
  )
  assert.match(card(html, 'Which compensations failed?'), /href="\/ui\/runs\/claim-2291\/events\/35".*recall-letter/s)
  assert.match(card(html, 'What is in doubt, overdue or waiting?'), /href="\/ui\/runs\/claim-2293".*1 call in doubt/s)
  assert.match(card(html, 'Who spent what?'), /writer.*0\.1795 USD.*22,330 tokens.*assessor/s)
  assert.match(card(html, 'Who read what?'), /olga/)
  for (const [, href = ''] of html.matchAll(/<a href="(\/ui\/(?:runs|audit|log|spend|doubts)[^"]*)"/g))
    assert.is((await olga.get(href.replaceAll('&amp;', '&'))).status, 200, href)
})

test('runs that wait for a decision or a signal are named; their pages say for what, and the approval shows the arguments it is for', async () => {
  await using edge = await testEdge({ realClock: false, audit: true, merkleLogs: true })
  await seedWaiting({ ledger: edge.inner.ledger, wait: (ms) => (edge.inner.clock.nowMs += ms) })
  const olga = await signedIn(edge, { scopes: ['runs:read', 'payloads:read', 'audit:read', 'approvals:write'] })
  const html = await olga.html('/ui/overview')
  const waiting = card(html, 'What is in doubt, overdue or waiting?')
  for (const run of ['claim-2294', 'payout-31'])
    assert.match(waiting, new RegExp(`${run}</bdi></a> waiting: 1 open wait`))
  assert.match(await olga.html('/ui/runs/claim-2294'), /the signal .*adjuster-report/s)
  const [, approval = ''] =
    /href="(\/ui\/runs\/payout-31\/approvals\/[^"]+)"/.exec(await olga.html('/ui/approvals')) ?? []
  assert.match(await olga.html(approval), /wire-transfer.*payouts above 25000\.00 EUR.*2 people.*48000\.00.*Approve/s)
})

test('a period narrows what was refused and spent, and says so in what it leads to', async () => {
  await using edge = await seeded()
  const olga = await signedIn(edge)
  const html = await olga.html('/ui/overview?period=1d')
  assert.match(
    card(html, 'What was refused, and why?'),
    /No handoff was refused.*No request was refused.*rejections\?since=/s,
  )
  assert.match(card(html, 'Who spent what?'), /Nothing was spent/)
  assert.match(card(await olga.html('/ui/overview'), 'Who spent what?'), /writer/)
  assert.is((await olga.get('/ui/overview?period=2d')).status, 400)
})

test('while the index is being made its parts say how far it is, and the others answer all the same', async () => {
  const building = () => Promise.reject(new IndexBuildingError({ indexedEvents: 12_000, percent: 37 }))
  await using edge = await seeded((ledger) =>
    ledger.audit === undefined ? ledger : { ...ledger, audit: { ...ledger.audit, ask: building } },
  )
  const html = await (await signedIn(edge)).html('/ui/overview')
  for (const title of [
    'What was refused, and why?',
    'Which compensations failed?',
    'Who spent what?',
    'Who read what?',
  ]) {
    assert.match(card(html, title), /being made: 37 % of the store, 12000 events so far/, title)
    assert.not.match(card(html, title), /No handoff|None failed|Nothing was|Nobody/, title)
  }
  assert.match(card(html, 'What is in doubt, overdue or waiting?'), /claim-2293/)
})

test('a card that cannot be shown because events are gone names them, and the others are shown; a page of them is the problem that the API answers (HTTP-118)', async () => {
  const gone = () => Promise.reject(new DamagedIndexError('run-acme.r', 7))
  await using edge = await seeded((ledger) =>
    ledger.audit === undefined ? ledger : { ...ledger, audit: { ...ledger.audit, ask: gone } },
  )
  const olga = await signedIn(edge)
  const html = await olga.html('/ui/overview')
  for (const title of ['What was refused, and why?', 'Who spent what?'])
    assert.match(card(html, title), /Run-acme\.r @ 7 is in the index and not in the store/, title)
  assert.match(card(html, 'What is in doubt, overdue or waiting?'), /claim-2293/)
  const page = await olga.get('/ui/audit/rejections')
  assert.is(page.status, 500)
  assert.match(await page.text(), /Run-acme\.r @ 7 is in the index and not in the store/)
})

test('whoever does not read the whole tenant is led to the runs, and another tenant sees nothing of this one (A11, A12)', async () => {
  await using edge = await seeded()
  const reader = await signedIn(edge, { scopes: ['runs:read'] })
  assert.is((await reader.get('/ui/overview')).headers.get('location'), '/ui/runs')
  assert.not.match(await reader.html('/ui/runs'), /href="\/ui\/overview">Overview/)
  const bound = await signedIn(edge, { run: 'claim-2292' })
  assert.is((await bound.get('/ui/overview')).status, 303)
  const agent = await signedIn(edge, { agent: 'writer' })
  assert.is((await agent.get('/ui/overview')).headers.get('location'), '/ui/runs')
  const foreign = await (await signedIn(edge, { tenant: 'beta' })).html('/ui/overview?period=all')
  assert.not.match(foreign, /claim-229|recall-letter|writer|USD/)
  const stranger = await signedIn(edge, { scopes: ['runs:write'] })
  assert.is((await stranger.get('/ui/overview')).status, 403)
})

test('a run that waits is on the overview, and a tenant without a run is told how it gets its first one', async () => {
  await using edge = await testEdge({ audit: true, merkleLogs: true })
  const olga = await signedIn(edge)
  assert.match(await olga.html('/ui/overview'), /No runs yet.*POST \/v1\/runs/s)
  const run = drive(edge.inner, 'order', { tenant: edge.tenant, actor: 'alice' })
  await run.start()
  assert.match(card(await olga.html('/ui/overview'), 'What is in doubt, overdue or waiting?'), /No run waits/)
  ok(await run.do({ kind: 'wait', body: { name: 'passport-scanned' } }))
  const html = await olga.html('/ui/overview')
  assert.not.match(html, /No runs yet/)
  assert.match(card(html, 'What is in doubt, overdue or waiting?'), /href="\/ui\/runs\/order".*waiting: 1 open wait/s)
})

test.run()
