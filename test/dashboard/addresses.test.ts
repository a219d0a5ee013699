import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bearer, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('dashboard: addresses as people type them')

test('a date that cannot be read keeps the form with all that was typed, and says what is wrong (HTTP-101)', async () => {
  await using edge = await testEdge({ audit: true })
  await edge.started('r')
  const olga = await signedIn(edge, { subject: 'olga' })
  for (const [path, others] of [
    ['/ui/runs', 'status=open&contains=%22%3Cb%3E&after=x'],
    ['/ui/audit/events', 'agent=%22%3Cb%3E'],
    ['/ui/audit/spend', 'agent=%22%3Cb%3E'],
    ['/ui/spend', 'zone=Europe/Berlin'],
  ] as const) {
    for (const wrong of ['31.02.2026', '2026-02-31', '+12026-01-01T00:00:00Z', '9999-12-31T23:59:59-05:00']) {
      const address = `${path}?${others}&since=${encodeURIComponent(wrong)}`
      const answer = await olga.get(address)
      const html = await answer.text()
      assert.is(answer.status, 400, address)
      assert.match(html, /[Ss]ince: (give|takes) a time/, address)
      const shown = html.match(/<form method="get"[^>]*>.*?<\/form>/s)?.[0] ?? ''
      assert.match(shown, /name="since" value="[^"]+"[^>]* aria-invalid="true"/, address)
      if (others.includes('%3Cb')) assert.match(shown, /value="&quot;&lt;b&gt;"/, address)
      if (others.includes('zone')) assert.match(shown, /name="zone" value="Europe\/Berlin"/)
      assert.not.match(shown, /name="after"/)
    }
  }
})

test('the root leads to the dashboard, and a slash at the end of an address to the address without it (HTTP-101)', async () => {
  await using edge = await testEdge({ audit: true })
  await edge.started('r')
  const root = await edge.app.request('/')
  assert.equal([root.status, root.headers.get('location')], [303, '/ui'])
  const olga = await signedIn(edge, { subject: 'olga' })
  for (const path of [
    '/ui/',
    '/ui/runs/',
    '/ui/runs/r/',
    '/ui/spend//?since=7d',
    '/ui/audit/events/',
    '/ui/sign-in/',
  ]) {
    let answer = await olga.get(path)
    for (let hops = 0; answer.status === 303 && hops < 4; hops += 1)
      answer = await olga.get(new URL(answer.headers.get('location') ?? '', 'http://x').href.slice('http://x'.length))
    assert.is(answer.status, 200, path)
  }
  const headers = await bearer(edge, {})
  for (const [path, to] of [
    ['/v1/runs/?limit=1', '/v1/runs?limit=1'],
    ['/v1/runs/r/', '/v1/runs/r'],
    ['/healthz/', '/healthz'],
  ] as const) {
    const answer = await edge.app.request(path, { headers })
    assert.equal([answer.status, answer.headers.get('location')], [308, to], path)
    assert.is((await edge.app.request(to, { headers })).status, 200, to)
  }
  for (const path of ['//evil.example/', '/nothing/', '/ui//evil.example/none/'])
    assert.not.match((await edge.app.request(path)).headers.get('location') ?? '', /^\/\/|^https?:\/\/evil/, path)
})

test.run()
