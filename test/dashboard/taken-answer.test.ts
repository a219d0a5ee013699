import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { downloadsOf, rowsOf, textOf } from '../support/page-downloads.ts'
import { drive, ok } from '../support/run-driver.ts'
import { testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('dashboard: answers to take along')

test('a download has the filters, the period in UTC and the size of the log of its page, a bundle where the answer has one, and no other path of the API opens (HTTP-76)', async () => {
  await using edge = await testEdge({ audit: true, merkleLogs: true, realClock: false })
  const run = drive(edge.inner, 'order', { tenant: edge.tenant, actor: 'alice' })
  await run.start()
  ok(await run.do({ kind: 'usage', body: { agent: 'a<b', usage: { tokens: 3 } } }))
  const olga = await signedIn(edge, { subject: 'olga' })
  const html = await olga.html('/ui/audit/events?agent=a%3Cb&types=UsageRecorded&since=1d&zone=Europe%2FBerlin')
  const { jsonl, bundle } = downloadsOf(html)
  const asked = new URL(jsonl[0] ?? '', 'http://x').searchParams
  assert.equal([asked.get('agent'), asked.get('types')], ['a<b', 'UsageRecorded'])
  assert.match(asked.get('since') ?? '', /^\d{4}-.*Z$/)
  assert.match(html, new RegExp(`${asked.get('asOf')} events? of the log`))
  const before = await textOf(olga, jsonl[0] ?? '')
  assert.is(rowsOf(before).length, 1)
  ok(await run.do({ kind: 'usage', body: { agent: 'a<b', usage: { tokens: 4 } } }))
  assert.equal(rowsOf(await textOf(olga, jsonl[0] ?? '')), rowsOf(before), 'what came later is not in it')
  assert.is((await olga.get(bundle[0] ?? '')).headers.get('content-type'), 'application/x-tar')
  assert.equal(downloadsOf(await olga.html('/ui/audit/keys')).bundle, [], 'the answer about keys has no bundle')

  for (const path of ['answers/', 'answers/events/x', 'answers/..%2Fruns', 'audit/events', 'runs'])
    assert.is((await olga.get(`/ui/download/${path}`)).status, 404, path)
  const reader = await signedIn(edge, { scopes: ['runs:read', 'audit:read'] })
  const told = await reader.html('/ui/audit/events')
  assert.equal(downloadsOf(told).jsonl, [])
  assert.match(told, /need a token with the scope audit:export/)
  assert.is((await reader.get(jsonl[0] ?? '')).status, 403, 'its address alone opens nothing')
})

test.run()
