import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createClient } from '../../src/client/client.ts'
import { bodyOf, type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: pages of reservations and forks')

type Page = Record<string, unknown> & { nextCursor: string | null }

async function pages(edge: TestEdge, path: string): Promise<Page[]> {
  const all: Page[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = (await bodyOf(await edge.get(`${path}${cursor === '' ? '' : `&cursor=${cursor}`}`))) as unknown as Page
    all.push(page)
    cursor = page.nextCursor
  }
  return all
}

async function clientOf(edge: TestEdge) {
  const fetch = async (url: string, init: RequestInit): Promise<Response> => edge.app.request(url, init)
  return createClient({ url: 'http://ledger.test', token: await edge.token(), fetch })
}

const codeOf = async (response: Response) => [response.status, ((await response.json()) as { code: string }).code]

test('reservations come page by page, each once and none missing, and every page has the totals (HTTP-23)', async () => {
  await using edge = await testEdge()
  await edge.started('r', { budget: { tokens: 10_000 } })
  const ids: string[] = []
  for (let index = 0; index < 120; index += 1) {
    const made = await bodyOf(await edge.post('/v1/runs/r/reservations', { agent: 'a', tokens: 1 }))
    ids.push(String((made as unknown as { reservationId: string }).reservationId))
  }
  const found = await pages(edge, '/v1/runs/r/budget?limit=50')
  const idsOf = (page: Page) => (page.reservations as { reservationId: string }[]).map((each) => each.reservationId)
  assert.equal(
    found.map((page) => idsOf(page).length),
    [50, 50, 20],
  )
  assert.equal(found.flatMap(idsOf), ids.toSorted())
  for (const { reservedTokens, limits } of found) assert.equal([reservedTokens, limits], [120, { tokens: 10_000 }])
  const first = (await bodyOf(await edge.get('/v1/runs/r/budget'))) as unknown as Page
  assert.is(idsOf(first).length, 100)
  assert.is.not(first.nextCursor, null, 'what is not here is said to be there')

  const client = await clientOf(edge)
  const seen: unknown[] = []
  for await (const { reservationId } of client.reservations('r')) seen.push(reservationId)
  assert.equal(seen, ids.toSorted())
  // One that comes meanwhile, in front or behind, moves none of the others.
  const [, ...behind] = found
  await edge.post('/v1/runs/r/reservations', { agent: 'a', tokens: 1 })
  const again = (await bodyOf(
    await edge.get(`/v1/runs/r/budget?limit=50&cursor=${found[0]?.nextCursor}`),
  )) as unknown as Page
  assert.equal(idsOf(again), idsOf(behind[0] as Page))
})

test('forks come page by page, oldest first, each once (HTTP-23)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const forks: string[] = []
  for (let index = 0; index < 3; index += 1) {
    const body = {
      branches: [
        { name: 'a', agent: 'x' },
        { name: 'b', agent: 'y' },
      ],
      join: 'union',
    }
    const made = await bodyOf(await edge.post('/v1/runs/r/forks', body))
    const { forkId } = made as unknown as { forkId: string }
    forks.push(forkId)
    for (const branch of ['a', 'b'])
      await edge.post(`/v1/runs/r/forks/${forkId}/branches`, { branch, output: { facts: [`${branch}${index}`] } })
    assert.is((await edge.post(`/v1/runs/r/forks/${forkId}/join`, {})).status < 300, true)
  }
  const found = await pages(edge, '/v1/runs/r/forks?limit=2')
  const idsOf = (page: Page) => (page.items as { forkId: string }[]).map(({ forkId }) => forkId)
  assert.equal(found.map(idsOf), [forks.slice(0, 2), forks.slice(2)])
  const client = await clientOf(edge)
  assert.equal(
    (await client.forks('r')).map(({ forkId }) => forkId),
    forks,
  )
})

test('a cursor of one list or run opens no other, and one that nobody gave opens none (A256)', async () => {
  await using edge = await testEdge()
  for (const run of ['r', 's']) {
    await edge.started(run, { budget: { tokens: 100 } })
    for (let index = 0; index < 2; index += 1)
      await edge.post(`/v1/runs/${run}/reservations`, { agent: 'a', tokens: 1 })
  }
  const { nextCursor } = (await bodyOf(await edge.get('/v1/runs/r/budget?limit=1'))) as unknown as Page
  for (const path of ['/v1/runs/s/budget', '/v1/runs/r/forks', '/v1/runs/r/calls'])
    assert.equal(await codeOf(await edge.get(`${path}?cursor=${nextCursor}`)), [400, 'invalid-cursor'], path)
  for (const forged of ['x', 'AAAA', 'a'.repeat(2_000)])
    assert.equal(await codeOf(await edge.get(`/v1/runs/r/budget?cursor=${forged}`)), [400, 'invalid-cursor'])
  assert.equal(await codeOf(await edge.get('/v1/runs/r/budget?limit=0')), [400, 'invalid-query'])
})

test.run()
