import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { READ_RUNS, type TokenAccess, WRITE_RUNS } from '../../src/access/access.ts'
import { PAGES } from '../../src/dashboard/dashboard.tsx'
import { type OpenPage, pageRoute } from '../../src/dashboard/page.ts'
import { commandRoute } from '../../src/http/command-route.ts'
import { readRoute } from '../../src/http/route.ts'
import { describedRoutes } from '../support/route-requests.ts'
import { ALL_SCOPES, bearer, bodyOf, type TestEdge, testEdge } from '../support/test-edge.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('access: what every route and page demands')

const OPEN_PAGES = ['/', '/assets/:name', '/sign-in', '/sign-out', '/theme']

test('(A140) no route and no page is served but those that declare their access', async () => {
  await using edge = await testEdge()
  const declared = new Set([
    // Leads to the dashboard.
    '/',
    ...(await describedRoutes(edge)).map(({ path }) => path.replaceAll(/\{(\w+)\}/g, ':$1')),
    ...[...OPEN_PAGES, ...PAGES.map(({ path }) => path)].map((path) => `/ui${path}`.replace(/\/$/, '')),
  ])
  const served = edge.app.routes.map(({ path }) => path.replace('{.+}', '')).filter((path) => path !== '/ui/*')
  assert.ok(served.length > 50, 'the walk must see the routes and the pages')
  assert.equal(
    served.filter((path) => !declared.has(path)),
    [],
  )
})

test('(A140) a route, a command or a page without an access does not compile', () => {
  const [query, rest] = [z.object({}), { summary: '', tag: '', answer: z.object({}) }]
  const handle = () => new Response()
  readRoute({ path: '/', ...rest, query, handle, access: READ_RUNS })
  // @ts-expect-error no access
  readRoute({ path: '/', ...rest, query, handle })
  const command = (body: object) => ({ kind: 'complete', body }) as const
  commandRoute({ path: '/', ...rest, kind: 'complete', body: query, command, access: WRITE_RUNS })
  // @ts-expect-error no access
  commandRoute({ path: '/', ...rest, kind: 'complete', body: query, command })
  pageRoute({ path: '/', query, handle, access: READ_RUNS })
  // @ts-expect-error no access
  pageRoute({ path: '/', query, handle })
  // @ts-expect-error an access of no scope opens nothing, or everything
  const none: TokenAccess = { scopes: [] }
  // @ts-expect-error no access
  const page: OpenPage = { method: 'get', path: '/', handle }
  assert.ok(none && page)
})

/** What a page of one's own run is asked by; the ids need not be there. */
const filled = (path: string): string =>
  `/ui${path.replace(':run', 'r').replace(':revision', '0').replace(':name', 'events').replace('*', 'export')}`

async function statusOf(edge: TestEdge, claims: object): Promise<(page: (typeof PAGES)[number]) => Promise<number>> {
  const client = await signedIn(edge, claims)
  return async ({ method, path }) => {
    const response = method === 'get' ? await client.get(filled(path)) : await client.post(filled(path), {})
    await response.body?.cancel()
    return response.status
  }
}

test('(A140) a token that lacks the scope, or is bound to another run or to one agent, is refused on every page as on the API', async () => {
  await using edge = await testEdge({ audit: true, merkleLogs: true, payloadScope: 'required' })
  await edge.started('r')
  for (const scope of ALL_SCOPES) {
    const status = await statusOf(edge, { scopes: [scope] })
    for (const page of PAGES) {
      const opens = (page.access.scopes as readonly string[]).includes(scope)
      // A download is judged a second time, by the route of the API that answers it.
      if (opens && page.path === '/download/*') continue
      assert.is((await status(page)) === 403, !opens, `${scope} on ${page.path}`)
    }
  }
  const [ofAgent, ofRun] = [await statusOf(edge, { agent: 'a' }), await statusOf(edge, { run: 'other' })]
  for (const page of PAGES) {
    const { allAgents, runNamedBehind }: TokenAccess = page.access
    const isDownload = page.path === '/download/*'
    assert.is((await ofAgent(page)) === 403, allAgents === true || isDownload, `one agent on ${page.path}`)
    assert.is((await ofRun(page)) === 403, runNamedBehind !== true || isDownload, `another run on ${page.path}`)
  }
})

test('(A141) a bound token reads no proof of the tenant’s log from a page that the API would refuse it', async () => {
  await using edge = await testEdge({ audit: true, merkleLogs: true })
  await edge.started('r')
  const evidence = async (claims: object) =>
    (await (await (await signedIn(edge, claims)).get('/ui/runs/r/events/0/evidence')).json()) as object
  assert.ok('verifierKey' in (await evidence({})))
  for (const bond of [{ run: 'r' }, { agent: 'a' }]) {
    assert.is((await edge.get('/v1/log/key', await bearer(edge, bond))).status, 403)
    const given = await evidence(bond)
    assert.ok('header' in given && !('verifierKey' in given) && !('proofFile' in given))
  }
})

test('(A142) an item of a batch demands what its own route demands, and the ledger refuses the later envelopes of a run', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const envelope = (agent: string) => ({ op: 'envelope', run: 'r', body: { agent, payload: { note: 'x' } } })
  const items = [envelope('b'), envelope('a'), { op: 'manifest', run: 'r', body: { agent: 'a', writes: ['x'] } }]
  const headers = await bearer(edge, { agent: 'a', scopes: ['runs:write'] })
  const answer = await bodyOf(await edge.post('/v1/batch', { items }, headers))
  assert.equal(
    answer.items.map(({ body }) => body.code),
    ['agent-mismatch', 'not-attempted', 'scope-missing'],
  )
})

test.run()
