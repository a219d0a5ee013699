import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { TimestampAuthority } from '../../src/ledger/log/timestamp-authority.ts'
import { bodyOfRoute, type Ids, targetsOf } from '../support/route-examples.ts'
import { describedRoutes } from '../support/route-requests.ts'
import { readAnswer, record } from '../support/tenant-record.ts'
import { bearer, type TestEdge, testEdge } from '../support/test-edge.ts'
import { eventually } from '../support/within.ts'

const test = suite('http: tenants, on every route that is described')

/** What nobody asks for by name: an auditor's own questions stand in the record of reads. */
const UNASKED = ['name', 'tag', 'entity', 'lost', 'model', 'branch'].map((what) => `bravo-${what}`)

/** Whatever could tell of a tenant: its names, ids, digests and macs, as texts and as bytes. */
async function marksOf(edge: TestEdge, tenant: string, asked: Ids): Promise<readonly string[]> {
  const marks = [...UNASKED, tenant]
  for await (const page of edge.inner.ledger.tenantEvents({ tenant, actor: 'x' }, {})) {
    for (const { header, digest } of page) {
      const hex = digest.slice('sha256:'.length)
      marks.push(header.id, hex, header.mac, header.dataDigest.slice('sha256:'.length))
      marks.push(Buffer.from(hex, 'hex').toString('latin1'), Buffer.from(hex, 'hex').toString('base64'))
    }
  }
  return marks.filter((mark) => !Object.values(asked).includes(mark))
}

const ANY_TIME: TimestampAuthority = {
  name: 'time.example',
  stamp: async () => ({
    ok: true,
    time: '2026-07-14T09:30:00.000Z',
    policy: '1.2.3',
    serial: '1',
    reply: Buffer.of(48, 0),
  }),
}

async function scene() {
  const edge = await testEdge({ audit: true, merkleLogs: true, stamps: { authority: ANY_TIME, intervalMs: 0 } })
  const own = await record(edge, edge.tenant, 'alpha')
  const theirs = await record(edge, edge.foreign, 'bravo')
  await eventually(async () => {
    await edge.inner.ledger.logs?.publish()
    const answers = await Promise.all(
      [edge.tenant, edge.foreign].map((each) => edge.inner.ledger.logs?.timestamp(each)),
    )
    return answers.every((answer) => answer?.ok === true) ? true : undefined
  }, 'the time-stamps of both tenants')
  const marks = await marksOf(edge, edge.foreign, theirs)
  const headers = await bearer(edge, { subject: 'alpha-auditor' })
  return { edge, own, theirs, marks, headers, [Symbol.asyncDispose]: () => edge[Symbol.asyncDispose]() }
}

type Scene = Awaited<ReturnType<typeof scene>>

interface Asked {
  readonly status: number
  /** Bytes as latin1: tiles and archives are looked through like texts. */
  readonly body: string
}

/** A tail is read until it has caught up. What was requested is echoed in refusals, and says nothing. */
async function asked({ edge, headers, theirs }: Scene, target: string, body?: string): Promise<Asked> {
  const post = body === undefined ? {} : { method: 'POST', body }
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  const response = await edge.app.request(target, { ...post, headers: { ...headers, ...type } })
  const text = await readAnswer(response)
  const echoed = Object.values(theirs).filter((id) => target.includes(id))
  const queried = [...new URLSearchParams(target.split('?')[1] ?? '').values()]
  return { status: response.status, body: [...echoed, ...queried].reduce((rest, id) => rest.replaceAll(id, ''), text) }
}

test('every route that reads is walked with ids of its own tenant: it answers, or its example is missing', async () => {
  await using given = await scene()
  const reads = (await describedRoutes(given.edge)).filter(({ method }) => method === 'GET')
  assert.ok(reads.length > 40, `the walk must see the routes: ${reads.length}`)
  for (const route of reads) {
    const [first = ''] = targetsOf(route, given.own)
    const { status, body } = await asked(given, first)
    assert.is(status, 200, `${first}: ${status} ${body.slice(0, 300)}`)
  }
})

test('no route tells an auditor anything of another tenant, whatever ids, words and names are requested (A11)', async () => {
  await using given = await scene()
  const { edge, own, theirs, marks } = given
  for (const route of await describedRoutes(edge)) {
    const body = route.method === 'POST' ? bodyOfRoute(route.path) : undefined
    const targets = [
      ...targetsOf(route, theirs),
      ...targetsOf(route, { ...theirs, run: own.run }),
      ...targetsOf(route, own),
    ]
    for (const target of new Set(targets)) {
      const answer = await asked(given, target, body)
      const seen = marks.find((mark) => answer.body.includes(mark))
      assert.is(seen, undefined, `${route.method} ${target} shows ${seen}: ${answer.body.slice(0, 300)}`)
    }
  }
})

test("another tenant's ids are answered like ids that nobody has (A11)", async () => {
  await using given = await scene()
  const { edge, own, theirs } = given
  const nobody: Ids = {
    run: 'zzzzz-run',
    call: '0190f0f0-0000-7000-8000-000000000000',
    reservation: '0190f0f0-0000-7000-8000-000000000001',
    digest: `sha256:${'0'.repeat(64)}`,
    fork: '0190f0f0-0000-7000-8000-000000000002',
    event: '0190f0f0-0000-7000-8000-000000000003',
    approval: '0190f0f0-0000-7000-8000-000000000004',
    wait: '0190f0f0-0000-7000-8000-000000000005',
    signal: 'zzzzz-signal',
  }
  const plain = (text: string, ids: Ids) =>
    Object.entries(ids).reduce((rest, [name, id]) => rest.replaceAll(id, `<${name}>`), text)
  const withId = (await describedRoutes(edge)).filter(({ path }) =>
    /\{(run|call|reservation|fork|event|wait)\}/.test(path),
  )
  assert.ok(withId.length > 20)
  for (const route of withId) {
    const body = route.method === 'POST' ? bodyOfRoute(route.path) : undefined
    for (const run of ['', own.run]) {
      if (run !== '' && !/\{(call|reservation|fork|event|wait)\}/.test(route.path)) continue
      const [foreign = ''] = targetsOf(route, run === '' ? theirs : { ...theirs, run })
      const [unknown = ''] = targetsOf(route, run === '' ? nobody : { ...nobody, run })
      const [a, b] = [await raw(given, foreign, body), await raw(given, unknown, body)]
      assert.equal([a.status, plain(a.body, theirs)], [b.status, plain(b.body, nobody)], `${route.method} ${foreign}`)
      assert.ok(a.status >= 400, `${route.method} ${foreign}: ${a.status}`)
    }
  }
})

async function raw({ edge, headers }: Scene, target: string, body: string | undefined): Promise<Asked> {
  const post = body === undefined ? {} : { method: 'POST', body }
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  const response = await edge.app.request(target, { ...post, headers: { ...headers, ...type } })
  return { status: response.status, body: await response.text() }
}

test.run()
