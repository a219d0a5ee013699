import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type ClientOptions, createClient } from '../../src/client/client.ts'
import { LedgerError, UnreachableError } from '../../src/client/errors.ts'
import { testEdge } from '../support/test-edge.ts'

const client = suite('client')

interface Sent {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: unknown
}

/** A network that gives these answers in turn; an error is thrown. */
function scripted(...answers: (Response | Error)[]) {
  const sent: Sent[] = []
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    sent.push({ url, headers: init.headers as Record<string, string>, body: init.body })
    const answer = answers.shift()
    if (answer instanceof Response) return answer
    throw answer ?? new Error('the script is over')
  }
  const clientWith = (more: Partial<ClientOptions> = {}) =>
    createClient({ url: 'http://ledger.test/', token: 't', fetch, backoffMs: 1, ...more })
  return { sent, client: clientWith(), clientWith }
}

const json = (status: number, body: object, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })

for (const id of ['..', '.', '', undefined, '\ud800'] as string[]) {
  client(
    `nothing is sent for the id ${JSON.stringify(id)}, which would lead to something else (HTTP-113)`,
    async () => {
      const script = scripted()
      const { client: to } = script
      const reads = [() => to.run(id), () => to.call('r', id), () => to.value('r', id), () => to.approval('r', id)]
      const lists = [
        () => to.events(id),
        () => to.exportRun(id),
        () => to.calls(id),
        ...(id === undefined ? [] : [() => to.tail(id)]),
      ]
      const asked: (() => Promise<unknown>)[] = [
        ...[...reads, () => to.execute('r', { kind: 'signal', name: id, body: {} })],
        ...lists.map((list) => async () => {
          for await (const _ of list());
        }),
      ]
      for (const [index, ask] of asked.entries()) {
        const error = await Promise.resolve()
          .then(ask)
          .then(
            () => undefined,
            (thrown: unknown) => thrown,
          )
        assert.instance(error, TypeError, `${index}`)
      }
      assert.equal(script.sent, [])
    },
  )
}

client('a command whose answer was lost is sent again under the same idempotency key', async () => {
  const script = scripted(new TypeError('fetch failed'), json(503, { code: 'contended' }), json(201, { callId: 'c' }))
  const recorded = await script.client.execute('r', { kind: 'claim', body: { tool: 't', args: {} } })
  assert.is(recorded.created, true)
  assert.is(script.sent.length, 3)
  const keys = new Set(script.sent.map(({ headers }) => headers['idempotency-key']))
  assert.is(keys.size, 1, 'one key for all tries')
  assert.match([...keys][0] ?? '', /^[0-9a-f-]{36}$/)
  assert.is(script.sent[0]?.url, 'http://ledger.test/v1/runs/r/calls')
})

client('a key with a comma goes out in quotes, in which it stays one key (A300)', async () => {
  await using edge = await testEdge()
  await edge.started('r')
  const over = createClient({
    url: 'http://ledger.test/',
    token: await edge.token(),
    fetch: async (url, init) => edge.app.request(url, init),
  })
  const complete = () => over.execute('r', { kind: 'complete', body: {} }, { idempotencyKey: 'a, "b"' })
  assert.equal([(await complete()).replayed, (await complete()).replayed], [false, true])
})

client('a large value whose answer is cut amid is asked for again, as often as a command is (RUN-193)', async () => {
  const cut = (): Response =>
    new Response(
      new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('["half of')),
        pull: (controller) => controller.error(new TypeError('other side closed')),
      }),
    )
  const script = scripted(cut(), new TypeError('fetch failed'), cut(), new Response('["whole"]'))
  assert.equal(await script.client.value('r', 'sha256:1'), ['whole'])
  assert.is(script.sent.length, 4)
  const refused = await scripted(cut(), cut(), cut())
    .clientWith({ retries: 1 })
    .value('r', 'sha256:1')
    .catch((error: unknown) => error)
  assert.instance(refused, UnreachableError)
})

client('two commands have two keys', async () => {
  const script = scripted(json(200, {}), json(200, {}))
  await script.client.execute('r', { kind: 'complete', body: {} })
  await script.client.execute('r', { kind: 'complete', body: {} })
  assert.is.not(script.sent[0]?.headers['idempotency-key'], script.sent[1]?.headers['idempotency-key'])
})

client('a refusal is not tried again, and carries its code and evidence', async () => {
  const script = scripted(json(409, { code: 'call-in-doubt', detail: 'not known', callId: 'c-1' }))
  const error = await rejection(script.client.execute('r', { kind: 'claim', body: { tool: 't', args: {} } }))
  assert.instance(error, LedgerError)
  assert.is((error as LedgerError).code, 'call-in-doubt')
  assert.is((error as LedgerError).problem.callId, 'c-1')
  assert.is(script.sent.length, 1)
})

client('a ledger out of reach is an error of its own, after as many tries as were asked for', async () => {
  const script = scripted(...Array.from({ length: 6 }, () => new TypeError('fetch failed')))
  const asked = script.clientWith({ retries: 5 })
  assert.instance(await rejection(asked.run('r')), UnreachableError)
  assert.is(script.sent.length, 6)
})

client('by itself a client goes on as long as its patience, and for five more tries at least (RUN-162)', async () => {
  const script = scripted()
  const startedAtMs = performance.now()
  assert.instance(await rejection(script.clientWith({ patienceMs: 400 }).run('r')), UnreachableError)
  assert.ok(performance.now() - startedAtMs >= 400)
  assert.ok(script.sent.length > 6, `${script.sent.length} tries`)
  assert.instance(await rejection(script.clientWith({ patienceMs: 0 }).run('r')), UnreachableError)
})

client('a page of a proxy is no answer of a ledger', async () => {
  const script = scripted(new Response('<html>', { status: 200 }))
  assert.instance(await rejection(script.client.run('r')), UnreachableError)
})

client('an abort ends the retries with its own reason', async () => {
  const aborting = new AbortController()
  const reason = new Error('no more')
  const fetch = async (): Promise<Response> => {
    aborting.abort(reason)
    throw new TypeError('fetch failed')
  }
  const aborted = createClient({ url: 'http://ledger.test', token: 't', fetch })
  assert.is(await rejection(aborted.run('r', { signal: aborting.signal })), reason)
})

client('where the ledger says to wait long, it leaves the decision to its caller', async () => {
  const script = scripted(json(429, { code: 'refusals-exhausted', retryAfterMs: 60_000 }))
  const error = await rejection(script.client.run('r'))
  assert.is((error as LedgerError).retryAfterMs, 60_000)
  assert.is(script.sent.length, 1)
})

client('reads, lists, batches and exports a real ledger', async () => {
  await using edge = await testEdge()
  const token = await edge.token()
  const real = createClient({
    url: 'http://ledger.test',
    token: () => token,
    fetch: async (url, init) => edge.app.request(url, init),
  })
  await real.execute('', { kind: 'start', body: { id: 'r', name: 'walk' } })
  const claims = Array.from({ length: 3 }, (_, n) => ({
    runId: 'r',
    command: { kind: 'claim', body: { tool: 't', args: { n } } } as const,
  }))
  const answers = await real.batch(claims)
  assert.equal(
    answers.map(({ status }) => status),
    [201, 201, 201],
  )
  assert.is((await real.run('r')).name, 'walk')
  assert.is((await collect(real.calls('r'))).length, 3)
  assert.equal(
    (await collect(real.events('r', { limit: 1 }))).map(({ header }) => header.revision),
    [0, 1, 2, 3],
  )
  assert.is((await collect(real.runs({ status: 'open' }))).length, 1)
  const lines = (await collect(real.exportRun('r'))).join('').trim().split('\n')
  assert.is(lines.length, 5)
  assert.is(JSON.parse(lines[4] ?? '').trailer.events, 4)
})

client('imports nothing of Node, and nothing at run time but its own files, JSON and signals', () => {
  const folder = fileURLToPath(new URL('../../src/client/', import.meta.url))
  const files = readdirSync(folder).filter((file) => file.endsWith('.js'))
  assert.ok(files.length >= 5, 'the scan must see the client')
  const outside = files.flatMap((file) => {
    const imports = readFileSync(folder + file, 'utf8').matchAll(/^(?:import|export)\s[^'"]*?from\s+['"]([^'"]+)['"]/gm)
    return [...imports]
      .map((match) => match[1] ?? '')
      .filter(
        (from) => !/^\.\/[a-z-]+\.js$|^\.\.\/resources\/linked-signal\.js$|^\.\.\/\.\.\/schemas\/json\.js$/.test(from),
      )
  })
  assert.equal(outside, [])
})

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => assert.unreachable('it should have been refused'),
    (error: unknown) => error,
  )
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

client.run()
