import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Answer, ApiClient } from '../support/api-client.ts'
import { cleanEnv, spawnTracked } from '../support/command-line.ts'
import { type LedgerProcesses, ledgerProcesses } from '../support/ledger-processes.ts'
import { bundledProgram } from '../support/program.ts'
import { rounds } from '../support/rounds.ts'
import { within } from '../support/within.ts'

const test = suite('many callers at once')
const CHILD = bundledProgram('test/system/claim-child.js')
const ROUNDS = rounds(4, 20)

interface Contender extends Disposable {
  ask(request: object): Promise<{ readonly status: number; readonly body: Record<string, unknown> }>
}

async function contender(url: string, token: string): Promise<Contender> {
  const child: ChildProcess = spawnTracked([process.execPath, CHILD, url, token], {
    env: cleanEnv(),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  if (child.stdout === null) throw new Error('the child has no output')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const next = async (): Promise<string> => String((await within(lines.next(), 'a line of the child')).value)
  assert.is(await next(), 'ready')
  return {
    ask: async (request) => {
      child.stdin?.write(`${JSON.stringify(request)}\n`)
      return JSON.parse(await next())
    },
    [Symbol.dispose]: () => child.kill('SIGKILL'),
  }
}

const countOf = (answers: readonly { readonly status: number }[], status: number): number =>
  answers.filter((answer) => answer.status === status).length

/** Two processes where the store takes two; callers take turns at them. */
async function open(): Promise<
  { readonly ledger: LedgerProcesses; readonly clients: readonly ApiClient[] } & AsyncDisposable
> {
  const ledger = await ledgerProcesses(2)
  const clients = await Promise.all(ledger.servers.map((server) => server.client()))
  return { ledger, clients, [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose]() }
}

const turnOf = <T>(list: readonly T[], index: number): T => {
  const found = list[index % list.length]
  if (found === undefined) throw new Error('there is nobody to take turns')
  return found
}

/** Asks again while the answer is "too many at once, later": with two processes some lose every race of a round. */
async function patiently(ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 0; ; tries += 1) {
    const answer = await ask()
    if (answer.status !== 503 || answer.body.code !== 'contended' || tries === 200) return answer
    await sleep(20 * Math.random())
  }
}

test('of 8 processes that claim one call at once, one gets it and the others hear who runs it, time after time', async () => {
  await using at = await open()
  const client = turnOf(at.clients, 0)
  await client.post('/v1/runs', { id: 'race', name: 'race' })
  const contenders = await Promise.all(
    Array.from({ length: 8 }, (_, index) => contender(turnOf(at.ledger.servers, index).url, client.token)),
  )
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      const claim = { path: '/v1/runs/race/calls', body: { tool: 'charge', args: { round } } }
      const answers = await Promise.all(contenders.map((each) => each.ask(claim)))
      assert.is(countOf(answers, 201), 1, `round ${round}`)
      assert.is(countOf(answers, 409), 7, `round ${round}`)
      const ids = new Set(answers.map(({ body }) => body.callId))
      assert.is(ids.size, 1, 'all are told of the same call')
    }
  } finally {
    for (const each of contenders) each[Symbol.dispose]()
  }
})

test('32 reservations at once on a budget for 10: exactly 10 are granted, and the rest is refused on record', async () => {
  await using at = await open()
  const client = turnOf(at.clients, 0)
  await client.post('/v1/runs', { id: 'budget', name: 'budget', budget: { tokens: 1_000 } })
  const answers = await Promise.all(
    Array.from({ length: 32 }, (_, agent) =>
      patiently(() =>
        turnOf(at.clients, agent).post('/v1/runs/budget/reservations', { agent: `a${agent}`, tokens: 100 }),
      ),
    ),
  )
  assert.is(countOf(answers, 201), 10)
  const refused = answers.filter(({ status }) => status !== 201)
  for (const { status, body } of refused) {
    assert.ok(status === 409 || status === 429, String(status))
    assert.ok(body.code === 'budget-exceeded' || body.code === 'refusals-exhausted', String(body.code))
  }
  for (const each of at.clients) {
    const budget = (await each.get('/v1/runs/budget/budget')).body
    assert.is(budget.reservedTokens, 1_000)
  }
  await at.ledger.verify()
})

test('of 64 clients that build on one revision, one writes and 63 learn the revision that it wrote, round after round (F13)', async () => {
  await using at = await open()
  const client = turnOf(at.clients, 0)
  await client.post('/v1/runs', { id: 'tag', name: 'tag' })
  for (let round = 0; round < rounds(2, 10); round += 1) {
    const etag = String((await client.get('/v1/runs/tag')).headers.etag)
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, each) =>
        turnOf(at.clients, each).post(
          '/v1/runs/tag/envelopes',
          { agent: 'a', payload: { notes: { round, each } } },
          { 'if-match': etag },
        ),
      ),
    )
    assert.is(countOf(answers, 201), 1, `round ${round}`)
    const late = answers.filter(({ status }) => status === 412)
    assert.is(late.length, 63)
    const written = answers.find(({ status }) => status === 201)
    for (const each of late) assert.is(each.body.actual, written?.body.revision)
  }
})

test('without If-Match all 64 decide again and write, each once (F13)', async () => {
  await using at = await open()
  await turnOf(at.clients, 0).post('/v1/runs', { id: 'free', name: 'free' })
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, each) =>
      patiently(() =>
        turnOf(at.clients, each).post('/v1/runs/free/envelopes', { agent: 'a', payload: { notes: each } }),
      ),
    ),
  )
  assert.is(countOf(answers, 201), 64)
  assert.is(new Set(answers.map(({ body }) => body.step)).size, 64)
  await at.ledger.verify()
})

test.run()
