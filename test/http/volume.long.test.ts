import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createLedgerKeys } from '../../src/signing/ledger-keys.ts'
import { type Ids, targetsOf } from '../support/route-examples.ts'
import { describedRoutes } from '../support/route-requests.ts'
import { readAnswer, record } from '../support/tenant-record.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'
import { isSharedServer } from '../support/test-store.ts'

const test = suite("http: what a tenant sees of another's volume")

const KEYS = createLedgerKeys('2026-01-01T00:00:00.000Z', (bytes) => Buffer.alloc(bytes, 5))
/** Every route that reads but the metrics, which are the operator's: they take the scope `admin`. */
const OPERATORS = new Set(['/metrics'])

const MANY_RUNS = 1_234

async function otherTenantWrites(edge: TestEdge, runs: number): Promise<void> {
  const caller = { tenant: edge.foreign, actor: 'other' }
  for (let n = 0; n < runs; n += 1) {
    const outcome = await edge.inner.ledger.execute(
      caller,
      `other-${n}`,
      { kind: 'start', body: { name: 'other' } },
      {},
    )
    assert.ok(outcome.ok)
  }
}

interface Beside extends AsyncDisposable {
  readonly edge: TestEdge
  readonly own: Ids
}

/** The same history of one tenant beside so many runs of another. */
async function beside(runs: number): Promise<Beside> {
  const edge = await testEdge({ audit: 'unrecorded', merkleLogs: true, keys: KEYS, tenant: 'alpha', realClock: false })
  await otherTenantWrites(edge, runs)
  const own = await record(edge, edge.tenant, 'alpha')
  await otherTenantWrites(edge, 1)
  await edge.inner.ledger.logs?.publish()
  return { edge, own, [Symbol.asyncDispose]: () => edge[Symbol.asyncDispose]() }
}

interface Answer {
  readonly status: number
  readonly headers: string
  readonly body: string
}

/** All that the routes answer, by what was asked, with the ids of the record left out of the question. */
async function answers({ edge, own }: Beside): Promise<ReadonlyMap<string, Answer>> {
  const found = new Map<string, Answer>()
  const routes = await describedRoutes(edge)
  for (const route of routes.filter(({ method, path }) => method === 'GET' && !OPERATORS.has(path))) {
    for (const target of [...targetsOf(route, own), ...paged(route.path, own)]) {
      const response = await edge.get(target)
      const name = Object.entries(own).reduce((rest, [kind, id]) => rest.replaceAll(id, `<${kind}>`), target)
      const headers = [...response.headers].map((each) => each.join(': ')).join('\n')
      found.set(name, { status: response.status, headers, body: await readAnswer(response) })
    }
  }
  return found
}

/** Pages that go on, and so have a cursor. */
function paged(path: string, own: Ids): readonly string[] {
  return /events$|calls$|envelopes$|findings$|audit\/(?!search|sample)\w+$/.test(path)
    ? [`${path.replace('{run}', own.run)}?limit=1`]
    : []
}

/** What is left of an answer where ids, digests, times, signatures and cursors are their lengths alone. */
function shape(text: string): string {
  return (
    text
      .replace(/[\w+/=:.-]{8,}/g, (token) => `<${token.length}>`)
      // A cell that begins with a dash, as some macs do, is one character longer in CSV.
      .replace(/'(?=[-<])/g, '')
      // The sum of a header in a tar, and sizes that follow the lengths of macs as above.
      .replace(/\b0[0-7]{5}\b/g, '<sum>')
      .replace(/("bytes":|\bbytes\D{1,8})\d+/g, '$1<bytes>')
  )
}

/** Hashes are written as 64 digits, ids of keys as 8. */
const HASH_MIN_DIGITS = 8

function firstDifference(one: string, other: string): string | undefined {
  if (one === other) return undefined
  const at = [...one].findIndex((char, index) => char !== other[index])
  return `${one.slice(Math.max(0, at - 80), at + 40)} | ${other.slice(Math.max(0, at - 80), at + 40)}`
}

/** Text within answers that is base64 of either alphabet. */
function decoded(text: string): readonly string[] {
  const tokens = text.match(/[\w+/-]{4,}/g) ?? []
  return [...new Set(tokens)].map((token) => Buffer.from(token, 'base64').toString('latin1'))
}

/** Not where it is the beginning of another number, or of a hash as a whole. */
function isQuotedIn(text: string, position: string): boolean {
  return text
    .split(`"${position}`)
    .slice(1)
    .some((rest) => {
      const more = /^[0-9a-f]*/.exec(rest)?.[0] ?? ''
      const isNumber = /^\d+$/.test(more) && !/^[a-z_-]/i.test(rest.slice(more.length))
      return !isNumber && position.length + more.length < HASH_MIN_DIGITS
    })
}

test('the same history has the same answers, up to ids and ciphertext, beside one run of another tenant and beside thousands; no position can be read (A66)', async () => {
  if (isSharedServer()) return void process.stdout.write('skipped: others write to this server meanwhile\n')
  await using small = await beside(1)
  await using large = await beside(MANY_RUNS)
  const [few, many] = [await answers(small), await answers(large)]
  assert.ok(few.size > 60, `the walk must see the routes: ${few.size}`)
  assert.equal([...many.keys()], [...few.keys()])
  for (const [target, one] of few) {
    const other = many.get(target)
    assert.is(other?.status, one.status, target)
    for (const part of ['headers', 'body'] as const) {
      // Hashes as bytes.
      if (part === 'body' && target.startsWith('/v1/log/tile/0')) continue
      const difference = firstDifference(shape(one[part]), shape(other?.[part] ?? ''))
      assert.is(difference, undefined, `${target}: ${difference}`)
    }
  }

  const { inner, tenant } = large.edge
  const positions = [(await inner.ledger.end()) ?? '']
  for await (const page of inner.ledger.tenantEvents({ tenant, actor: 'x' }, {})) {
    positions.push(...page.map(({ position }) => position))
  }
  for (const [target, { headers, body }] of many) {
    const texts = decoded(`${headers}\n${body}`)
    const read = positions.find((each) => texts.some((text) => text === each || isQuotedIn(text, each)))
    assert.is(read, undefined, `${target} shows a position`)
  }
})

test('a position is found wherever it is quoted, and not in a longer number or a hash', () => {
  for (const text of ['["20"', '"20,30"', '"20a"', '"20e-b"', '"20 ', '"2"20"'])
    assert.is(isQuotedIn(text, '20'), true, text)
  for (const text of ['"201"', '"200"', `"20${'ab'.repeat(31)}"`, '20']) assert.is(isQuotedIn(text, '20'), false, text)
})

test('while another tenant writes, nothing that is asked again is answered differently but for ciphertext (A66)', async () => {
  if (isSharedServer()) return void process.stdout.write('skipped: others write to this server meanwhile\n')
  await using given = await beside(1)
  const { edge } = given
  const targets = ['/v1/events?limit=3', '/v1/runs?limit=1', '/v1/runs/alpha-run/events?limit=3', '/v1/audit/events']
  const ask = async () => Promise.all(targets.map(async (target) => (await edge.get(target)).json()))
  const before = await ask()
  await otherTenantWrites(edge, 50)
  await edge.inner.ledger.logs?.publish()
  const after = await ask()
  for (const [index, page] of before.entries()) {
    const { nextCursor, ...rest } = page
    const { nextCursor: later, ...restLater } = after[index]
    assert.equal(restLater, rest, targets[index])
    assert.is(`${later}`.length, `${nextCursor}`.length)
  }
})

test('a cursor that hides where the store ends is another one each time: equal ones would tell that others rest (A66)', async () => {
  await using given = await beside(1)
  const next = async () => (await (await given.edge.get('/v1/events?limit=3')).json()).nextCursor
  assert.is.not(await next(), await next())
})

test.run()
