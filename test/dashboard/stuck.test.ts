import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bodyOf, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('dashboard: runs that are stuck')

test('a run that its worker cannot carry on says why and since when, on its page and in the list, until it is left otherwise (RUN-226, HTTP-87, HTTP-116)', async () => {
  await using edge = await testEdge()
  await edge.started('order', { after: '2026-01-01T00:00:00Z' })
  const take = async (fence: number) => {
    const taken = await edge.post('/v1/runs', { id: 'order', name: 'test', worker: { fence, holdMs: 60_000 } })
    return (await bodyOf(taken)).fence as number
  }
  const runFence = await take(1)
  const error = { code: 'resume-diverged', message: 'the code has no <b>first</b>' }
  const left = await edge.post('/v1/runs/order/leave', { because: 'stuck', error, retryAfterMs: 60_000, runFence })
  assert.is(left.status, 200, await left.text())
  const olga = await signedIn(edge, { subject: 'olga' })
  const page = await olga.html('/ui/runs/order')
  assert.match(page, /The run is stuck/)
  assert.match(page, /resume-diverged/)
  assert.match(page, /&lt;b(>|&gt;)first/)
  const { stuck } = (await bodyOf(await edge.get('/v1/runs/order'))) as { stuck?: { since: string } }
  assert.match(page, /tried again by a worker after/)
  const overview = await olga.html('/ui/overview')
  assert.match(overview, /href="\/ui\/runs\/order".*could not carry it on: resume-diverged/s)
  assert.match(overview, /href="\/ui\/runs\?stuck=true">All stuck runs/)
  const list = await olga.html('/ui/runs?stuck=true')
  assert.match(list, />stuck</)
  assert.match(list, /resume-diverged/)
  assert.ok(list.includes(`datetime="${stuck?.since}"`), 'since when')
  const fence = await take(runFence)
  await edge.post('/v1/runs/order/leave', { because: 'waiting', runFence: fence })
  assert.not.match(await olga.html('/ui/runs/order'), /The run is stuck/)
  assert.match(await olga.html('/ui/runs?stuck=true'), /No run fits these filters/)
  assert.match(await olga.html('/ui/overview'), /No run is stuck/)
})

test('a run that is due and that no worker takes says so in the list and on its page after a minute, with its version (HTTP-89, HTTP-116)', async () => {
  let aheadMs = 0
  await using edge = await testEdge({ now: () => Date.now() + aheadMs })
  await edge.started('order', { after: '2026-01-01T00:00:00Z' })
  await edge.started('own')
  const body = { id: 'order', name: 'test', worker: { fence: 1, holdMs: 60_000, version: '2026-11' } }
  const { fence: runFence } = await bodyOf(await edge.post('/v1/runs', body))
  const error = { code: 'x', message: 'y' }
  await edge.post('/v1/runs/order/leave', { because: 'stuck', error, retryAfterMs: 1, runFence })
  const olga = await signedIn(edge, { subject: 'olga' })
  for (const path of ['', '/order']) assert.not.match(await olga.html(`/ui/runs${path}`), /may carry it on/)
  assert.match(await olga.html('/ui/runs/order'), /tried again by a worker for version .*2026-11.* after/s)
  aheadMs = 120_000
  const list = await olga.html('/ui/runs')
  assert.is(list.match(/may carry it on since/g)?.length, 1, 'the other one is left to its process')
  for (const html of [list, await olga.html('/ui/runs/order')])
    assert.match(html, /a worker for version .*2026-11.* may carry it on since .*: none has/s)
  assert.not.match(await olga.html('/ui/runs/own'), /may carry it on/)
})

test.run()
