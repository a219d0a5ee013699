import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { rounds } from '../support/rounds.ts'
import { BODIES, describedRoutes } from '../support/route-requests.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'

const test = suite('http: no input makes it fail')

/** Every answer that is no success is a problem with a code; none is 5xx; nothing is logged as an error. */
async function expectAnswer(edge: TestEdge, response: Response): Promise<void> {
  assert.ok(response.status < 500, `${response.status}`)
  // An answer to HEAD has no body.
  if (response.status >= 400 && response.body !== null) {
    assert.is(response.headers.get('content-type'), 'application/problem+json')
    const { code, status, type } = (await response.json()) as { code: string; status: number; type: string }
    assert.equal([status, type], [response.status, `/problems/${code}`])
  } else await response.body?.cancel()
  assert.is(
    edge.logs.find(({ level }) => level === 'error'),
    undefined,
  )
}

const segment = fc.oneof(
  fc.constantFrom(
    'v1',
    'runs',
    'r',
    'events',
    'calls',
    'export',
    'tail',
    'context',
    'batch',
    'healthz',
    '..',
    '%',
    '%2e%2e',
    '',
  ),
  fc.string({ maxLength: 20 }).map(encodeURIComponent),
  fc.string({ maxLength: 12, unit: fc.constantFrom('/', '%', '?', '#', '\\', '{', '}', ':', '*', '\u00e9', '0', 'a') }),
)
const query = fc.oneof(
  fc.constant(''),
  fc
    .array(
      fc.tuple(
        fc.constantFrom(
          'limit',
          'cursor',
          'after',
          'since',
          'until',
          'step',
          'revision',
          'from',
          'to',
          'type',
          '__proto__',
        ),
        fc.string(),
      ),
    )
    .map((pairs) => `?${new URLSearchParams(pairs)}`),
  fc.string({ maxLength: 20 }).map((text) => `?${text}`),
)
/** What `Headers` takes: bytes, no line breaks. */
const headerText = fc.string({
  unit: fc
    .integer({ min: 0x20, max: 0xff })
    .filter((code) => code !== 0x7f)
    .map((code) => String.fromCharCode(code)),
  maxLength: 40,
})
const headers = fc.dictionary(
  fc.constantFrom(
    'if-match',
    'if-none-match',
    'idempotency-key',
    'prefer',
    'traceparent',
    'last-event-id',
    'content-type',
    'content-encoding',
    'accept',
    'range',
    'expect',
  ),
  headerText,
)

test('any path and query, with any headers', async () => {
  await using edge = await testEdge({ settings: { streamsPerTenant: 100_000 } })
  await edge.started('r')
  await fc.assert(
    fc.asyncProperty(
      fc.array(segment, { maxLength: 7 }),
      query,
      headers,
      fc.constantFrom('GET', 'POST', 'PUT', 'HEAD', 'OPTIONS'),
      async (parts, search, given, method) => {
        const url = `http://localhost/${parts.join('/')}${search}`
        fc.pre(URL.canParse(url))
        const auth = { authorization: `Bearer ${await tokenOf(edge)}` }
        await expectAnswer(edge, await edge.app.request(url, { method, headers: { ...given, ...auth } }))
      },
    ),
    { numRuns: rounds(150, 400) },
  )
})

const tokens = new WeakMap<TestEdge, Promise<string>>()
function tokenOf(edge: TestEdge): Promise<string> {
  const known = tokens.get(edge) ?? edge.token()
  tokens.set(edge, known)
  return known
}

/** Values near what a schema wants: the interesting ones. */
const json = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(
      null,
      true,
      0,
      1,
      -1,
      1.5,
      1e21,
      '',
      'a',
      'r',
      '/',
      '/payload',
      'replace',
      'executed',
      'model',
      '1.5',
      'USD',
      '__proto__',
      `sha256:${'0'.repeat(64)}`,
    ),
    fc.string(),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(
      fc.oneof(
        fc.constantFrom(
          'agent',
          'payload',
          'mode',
          'tokens',
          'supersedes',
          'parent',
          'tool',
          'args',
          'key',
          'fence',
          'result',
          'error',
          'usage',
          'reserve',
          'items',
          'op',
          'run',
          'body',
          'entities',
          'facts',
          'id',
          'name',
          'status',
          'schema',
          'jwk',
          'signature',
          'policy',
          'budget',
          '$sealed',
        ),
        fc.string({ maxLength: 5 }),
      ),
      tie('any'),
      { maxKeys: 6 },
    ),
  ),
})).any

test('any JSON, in place of any member of any command', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const routes = (await describedRoutes(edge)).filter(({ method }) => method === 'POST')
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...routes),
      fc.array(fc.tuple(fc.nat(9), json), { maxLength: 4 }),
      json,
      async ({ path }, changes, extra) => {
        const body: Record<string, unknown> = { ...BODIES[path] }
        const names = [
          ...Object.keys(body),
          'mode',
          'supersedes',
          'schema',
          'policy',
          'reserve',
          'signature',
          'parent',
          'jwk',
          'key',
          'usage',
        ]
        for (const [at, value] of changes) body[names[at % names.length] ?? 'x'] = value
        const target = path.replace('{run}', 'r').replace(/\{\w+\}/, 'x')
        await expectAnswer(edge, await edge.post(target, JSON.stringify(changes.length === 0 ? extra : body)))
      },
    ),
    { numRuns: rounds(400, 1_000) },
  )
})

test('any bytes as a body', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc
      .string({
        unit: fc.constantFrom(
          '{',
          '}',
          '[',
          ']',
          '"',
          ':',
          ',',
          '\\',
          'u',
          'd',
          '8',
          '0',
          '-',
          '.',
          'e',
          '1',
          ' ',
          'null',
          '"payload":',
          '{"agent":"a",',
        ),
        maxLength: 40,
      })
      .map((text) => new Uint8Array(Buffer.from(text))),
  )
  await fc.assert(
    fc.asyncProperty(bytes, fc.constantFrom('/v1/runs', '/v1/runs/r/envelopes', '/v1/batch'), async (body, path) => {
      await expectAnswer(edge, await edge.post(path, body))
    }),
    { numRuns: rounds(200, 500) },
  )
})

test('any handoff after any other', async () => {
  await using edge = await testEdge()
  let run = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.tuple(fc.dictionary(fc.string(), json, { maxKeys: 4 }), fc.constantFrom('replace', 'merge', 'extend')),
        { maxLength: 5 },
      ),
      fc.constantFrom('default', 'relay'),
      async (handoffs, policy) => {
        const id = await edge.started(`r${run++}`, { policy })
        for (const [payload, mode] of handoffs) {
          await expectAnswer(edge, await edge.post(`/v1/runs/${id}/envelopes`, { agent: 'a', payload, mode }))
        }
        await expectAnswer(edge, await edge.get(`/v1/runs/${id}/context`))
        await expectAnswer(edge, await edge.get(`/v1/runs/${id}/findings`))
      },
    ),
    { numRuns: rounds(60, 150) },
  )
})

test.run()
