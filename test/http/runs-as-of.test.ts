import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bodyOf, type TestEdge, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('http and pages: the runs as of a size of the log')

async function logOf(edge: TestEdge): Promise<{ readonly treeSize: number; readonly eventId: string }> {
  const answer = (await (await edge.get('/v1/audit/runs')).json()) as { asOf: { treeSize: number; eventId: string } }
  return answer.asOf
}

test('GET /v1/runs?asOf= lists what had begun, as it stood; its cursors belong to that size and to no other list (HTTP-22)', async () => {
  await using edge = await testEdge({ audit: true })
  for (const run of ['one', 'two', 'three']) await edge.started(run, { name: run })
  const { treeSize, eventId } = await logOf(edge)
  await edge.started('four')
  await edge.post('/v1/runs/two/complete', {})
  const then = await bodyOf(await edge.get(`/v1/runs?asOf=${treeSize}`))
  assert.equal(
    then.items.map(({ runId, status }) => [runId, status]),
    [
      ['three', 'open'],
      ['two', 'open'],
      ['one', 'open'],
    ],
  )
  assert.equal([then.asOf, then.nextCursor], [eventId, null])
  const first = await bodyOf(await edge.get(`/v1/runs?asOf=${treeSize}&limit=2`))
  const second = await bodyOf(await edge.get(`/v1/runs?asOf=${treeSize}&limit=2&cursor=${first.nextCursor}`))
  assert.equal(
    second.items.map(({ runId }) => runId),
    ['one'],
  )
  const codeOf = async (query: string) => {
    const response = await edge.get(`/v1/runs?${query}`)
    return [response.status, ((await response.json()) as { code: string }).code]
  }
  assert.equal(await codeOf(`asOf=${treeSize - 1}&cursor=${first.nextCursor}`), [400, 'invalid-cursor'])
  assert.equal(await codeOf(`cursor=${first.nextCursor}`), [400, 'invalid-cursor'])
  assert.equal(await codeOf('asOf=0'), [400, 'invalid-query'])
  assert.equal(await codeOf('asOf=999999'), [400, 'invalid-query'])
})

test('the page of runs as of a size says so, shows each run as it stood, and keeps the size in every filter (HTTP-22)', async () => {
  await using edge = await testEdge({ audit: true })
  for (const run of ['one', 'two']) await edge.started(run, { name: run })
  const { treeSize } = await logOf(edge)
  await edge.started('three')
  await edge.post('/v1/runs/one/complete', {})
  const client = await signedIn(edge)
  const html = await client.html(`/ui/runs?asOf=${treeSize}`)
  const rows = [...html.matchAll(/<tr id="run-([^"]+)"[\s\S]*?<\/tr>/g)]
  assert.equal(
    rows.map(([, run]) => run),
    ['two', 'one'],
  )
  for (const [row] of rows) {
    assert.match(row, /open/)
    assert.not.match(row, /completed/)
  }
  assert.match(html, new RegExp(`As it was when the log had ${treeSize} events`))
  assert.match(html, new RegExp(`/ui/runs\\?status=open&amp;asOf=${treeSize}`))
  assert.match(html, new RegExp(`name="asOf" value="${treeSize}"`))
  // What is past does not change: nobody follows it.
  assert.not.match(html, /data-live|live\.js/)
  assert.match(await client.html('/ui/runs'), /data-live/)
  assert.is((await client.get('/ui/runs?asOf=999999')).status, 400)
  assert.is((await client.get('/ui/runs?asOf=x')).status, 400)
})

test.run()
