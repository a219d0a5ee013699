import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { JsonObject } from '../../schemas/json.ts'
import { bodyOf, type TestEdge, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('http and pages: a run as of a moment')

/** Sizes of the log after the start, after a claim, after its outcome, and after the end. */
async function told(edge: TestEdge) {
  const size = async () =>
    ((await (await edge.get('/v1/audit/runs')).json()) as { asOf: { treeSize: number } }).asOf.treeSize
  await edge.started('other')
  await edge.started('trip', { name: 'trip', budget: { tokens: 1_000 } })
  const begun = await size()
  const claim = await bodyOf(await edge.post('/v1/runs/trip/calls', { tool: 'book-flight', args: { seat: '4a' } }))
  const claimed = await size()
  await edge.post(`/v1/runs/trip/calls/${claim.callId}/settle`, { fence: claim.fence, result: 'ok' })
  await edge.post('/v1/runs/trip/envelopes', { agent: 'ann', payload: { seat: '4a' } })
  const handed = await size()
  await edge.post('/v1/runs/trip/complete', {})
  return { begun, claimed, handed, ended: await size() }
}

test('GET /v1/runs/{run} answers as of a size of the log or a revision, and refuses both together (HTTP-28)', async () => {
  await using edge = await testEdge({ audit: true })
  const { begun, claimed, handed, ended } = await told(edge)
  const shown = async (query: string) => {
    const answer = (await (await edge.get(`/v1/runs/trip${query}`)).json()) as JsonObject
    const { status = null, step = null, openCalls = [] } = answer
    return [status, step, (openCalls as readonly JsonObject[]).map(({ tool = null }) => tool)]
  }
  assert.equal(await shown(`?asOf=${begun}`), ['open', 0, []])
  assert.equal(await shown(`?asOf=${claimed}`), ['open', 0, ['book-flight']])
  assert.equal(await shown(`?asOf=${handed}`), ['open', 1, []])
  assert.equal(await shown(`?asOf=${ended}`), ['completed', 1, []])
  assert.equal(await shown('?revision=1'), await shown(`?asOf=${claimed}`))
  const { status: _, ...now } = await bodyOf(await edge.get('/v1/runs/trip'))
  const { asOf, status: __, ...then } = await bodyOf(await edge.get(`/v1/runs/trip?asOf=${ended}`))
  assert.equal(then, now)
  assert.match(String(asOf), /^[0-9a-f-]{36}$/)
  const refused = async (query: string) => {
    const response = await edge.get(`/v1/runs/trip${query}`)
    return [response.status, ((await response.json()) as { code: string }).code]
  }
  assert.equal(await refused('?asOf=1'), [400, 'invalid-query'])
  assert.equal(await refused('?asOf=99999'), [400, 'invalid-query'])
  assert.equal(await refused('?asOf=x'), [400, 'invalid-query'])
  assert.equal(await refused(`?asOf=${ended}&revision=1`), [400, 'invalid-query'])
  assert.equal((await refused('?revision=99'))[1], 'unknown-step')
})

test('every read of a run answers as of a size what it answered then, page by page (HTTP-33)', async () => {
  await using edge = await testEdge({ audit: true })
  const lists = [
    'budget?limit=1',
    'forks',
    'calls?limit=1',
    'findings',
    'envelopes',
    'context',
    'context?step=0',
    'replay',
    'waits',
    'approvals',
  ]
  const read = async (path: string, asOf?: number): Promise<string> => {
    const [name, query = ''] = path.split('?')
    const params = [query, asOf === undefined ? '' : `asOf=${asOf}`].filter((each) => each !== '').join('&')
    const first = await (await edge.get(`/v1/runs/trip/${name}?${params}`)).text()
    const cursor = /"nextCursor":"([^"]+)"/.exec(first)?.[1]
    const rest =
      cursor === undefined ? '' : await (await edge.get(`/v1/runs/trip/${name}?${params}&cursor=${cursor}`)).text()
    if (cursor !== undefined && asOf !== undefined)
      assert.is((await edge.get(`/v1/runs/trip/${name}?${query}&cursor=${cursor}`)).status, 400, 'a cursor of then')
    return (first + rest).replace(/"nextCursor":"[^"]+"/g, '"nextCursor":"…"')
  }
  const sizes: (readonly [asOf: number, answers: readonly string[]])[] = []
  const note = async () => {
    const { asOf } = (await (await edge.get('/v1/audit/runs')).json()) as { asOf: { treeSize: number } }
    sizes.push([asOf.treeSize, await Promise.all(lists.map((path) => read(path)))])
  }
  await edge.started('trip', { budget: { tokens: 1_000 } })
  await note()
  for (const agent of ['ann', 'bob']) {
    await edge.post('/v1/runs/trip/reservations', { agent, tokens: 10 })
    await edge.post('/v1/runs/trip/envelopes', { agent, payload: { entities: [agent], note: agent } })
  }
  const claim = await bodyOf(await edge.post('/v1/runs/trip/calls', { tool: 'book', args: { seat: '4a' } }))
  await edge.post('/v1/runs/trip/calls', { tool: 'pay', args: { seat: '4a' } })
  await edge.post('/v1/runs/trip/forks', {
    join: 'union',
    branches: ['left', 'right'].map((name) => ({ name, agent: name })),
  })
  assert.is((await bodyOf(await edge.get('/v1/runs/trip/forks'))).items.length, 1)
  await note()
  await edge.post(`/v1/runs/trip/calls/${claim.callId}/settle`, { fence: claim.fence, result: 'ok' })
  await edge.post('/v1/runs/trip/envelopes', { agent: 'ann', payload: { note: 'gone' } })
  await note()
  await edge.post('/v1/runs/trip/complete', {})
  for (const [asOf, answers] of sizes)
    for (const [at, path] of lists.entries()) assert.is(await read(path, asOf), answers[at], `${path} as of ${asOf}`)
  const [[first = 0] = []] = sizes
  const codeOf = async (path: string) => ((await (await edge.get(`/v1/runs/trip/${path}`)).json()) as JsonObject).code
  assert.is(await codeOf(`context?step=2&asOf=${first}`), 'unknown-step')
  assert.is(await codeOf(`context?revision=0&asOf=${first}`), 'invalid-query')
  for (const name of ['budget', 'forks', 'calls', 'replay']) {
    assert.is(await codeOf(`${name}?asOf=99999`), 'invalid-query', name)
    assert.is(await codeOf(`${name}?asOf=0`), 'invalid-query', name)
  }
  assert.is(await codeOf(`manifests?asOf=${first}`), 'invalid-query')
})

test('the page of a run as of a moment says so, shows nothing later, acts on nothing, and every link of the run goes to that moment (HTTP-28)', async () => {
  await using edge = await testEdge({ audit: true })
  const { claimed, handed } = await told(edge)
  const client = await signedIn(edge)
  const html = await client.html(`/ui/runs/trip?asOf=${claimed}`)
  assert.match(html, /This is the past\..*when the log had/s)
  assert.match(html, /badge[^>]*>(<bdi>)?open/)
  assert.not.match(html, /completed|Verify this run now|data-live|live\.js|id="event-2"|Step 1/)
  const links = [...html.matchAll(/(?:href|action)="(\/ui\/runs\/trip[^"]*)"/g)].map(([, href = '']) => href)
  const toNow = links.filter((href) => !href.includes('asOf='))
  assert.ok(links.length > 5)
  // The way back to now, and the form for another moment.
  assert.equal([...new Set(toNow)], ['/ui/runs/trip'])
  assert.match(html, new RegExp(`href="/ui/runs\\?asOf=${claimed}"`))
  assert.match(await client.html(`/ui/runs?asOf=${claimed}`), new RegExp(`href="/ui/runs/trip\\?asOf=${claimed}"`))
  // A page of a run that has ended has nothing of the end either way round.
  const event = await client.html(`/ui/runs/trip/events/1?asOf=${claimed}`)
  assert.match(event, /This is the past/)
  assert.not.match(event, /events\/2/)
  assert.match(await client.html(`/ui/runs/trip/context?asOf=${handed}`), /What was established at that moment/)
})

test('a moment may be a time or an event of the run; what came later, and what is no moment, is refused with what to do (A276)', async () => {
  await using edge = await testEdge({ audit: true })
  const { begun, claimed } = await told(edge)
  const client = await signedIn(edge)
  const statusOf = async (path: string) => {
    const response = await client.get(path)
    return [response.status, /<main[\s\S]*<\/main>/.exec(await response.text())?.[0].replaceAll(/<[^>]*>/g, ' ') ?? '']
  }
  assert.match(await client.html('/ui/runs/trip?asOf=event-1'), /right after its event 1/)
  assert.match(await client.html('/ui/runs/trip?asOf=now'), /when the log had/)
  const cases: readonly (readonly [string, number, RegExp])[] = [
    [`/ui/runs/trip/events/2?asOf=${claimed}`, 400, /Event 2 came later than the moment/],
    [`/ui/runs/trip/context?step=1&asOf=${begun}`, 400, /came later than the moment/],
    [`/ui/runs/trip/diff?from=0&to=1&asOf=${begun}`, 400, /came later than the moment/],
    ['/ui/runs/trip?asOf=event-99', 400, /The run has no event 99: its last one is/],
    ['/ui/runs/trip?asOf=1', 400, /The run had not begun when the log had 1 events: it began with event/],
    ['/ui/runs/trip?asOf=999999', 400, /The log has \d+ events and no more/],
    ['/ui/runs/trip?asOf=1990-01-01', 400, /The log had no event then/],
    ['/ui/runs/trip?asOf=soon', 400, /give a number of events of the log, a time/],
  ]
  for (const [path, status, words] of cases) {
    const [code, text] = await statusOf(path)
    assert.is(code, status, `${path}: ${text}`)
    assert.match(String(text), words, path)
  }
  // A token of one run learns no size of the log, and may still go back by its own events.
  const bound = await signedIn(edge, { run: 'trip', scopes: ['runs:read'] })
  assert.is((await bound.get(`/ui/runs/trip?asOf=${claimed}`)).status, 403)
  assert.match(await bound.html('/ui/runs/trip?asOf=event-1'), /right after its event 1/)
})

test.run()
