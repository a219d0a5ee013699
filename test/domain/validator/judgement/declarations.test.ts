import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Finding } from '../../../../schemas/finding.ts'
import type { Json, JsonObject } from '../../../../schemas/json.ts'
import type { PolicyObject } from '../../../../schemas/policy.ts'
import { resolvePolicy } from '../../../../schemas/resolve-policy.ts'
import { withManifestPolicy } from '../../../../src/domain/validator/policy/with-manifest.ts'
import { validateHandoff } from '../../../../src/domain/validator/validate.ts'
import { alice, type TestLedger, testLedger } from '../../../support/test-ledger.ts'

const test = suite('judgement: what agents declare to move')

interface More {
  readonly agent?: string
  readonly moves?: readonly { path: string; as: string; reason?: string; by?: string }[]
  readonly mode?: 'replace' | 'extend'
}

interface Answer {
  readonly verdict: 'accepted' | 'refused'
  readonly findings: readonly Finding[]
  readonly step: number
}

class Run {
  readonly #ledger: TestLedger
  readonly #id: string

  constructor(ledger: TestLedger, id = 'r') {
    this.#ledger = ledger
    this.#id = id
  }

  start(policy: PolicyObject = { suspect: 'refuse' }, input: Json = {}): Promise<unknown> {
    return this.#ledger.run(this.#id, { kind: 'start', body: { id: this.#id, name: 'r', policy, input } })
  }

  async handOver(payload: Json, { agent = 'a', mode = 'replace', moves }: More = {}): Promise<Answer> {
    const declared = moves?.map((move) => ({ reason: 'it keeps the books', ...move }))
    const body = { agent, payload: payload as JsonObject, mode, ...(declared && { moves: declared }) }
    const outcome = await this.#ledger.run(this.#id, { kind: 'envelope', body })
    if (outcome.ok) {
      const { findings, step } = outcome.body as unknown as { findings: Finding[]; step: number }
      return { verdict: 'accepted', findings, step }
    }
    assert.is(outcome.refusal.code, 'contradiction', JSON.stringify(outcome.refusal))
    return { verdict: 'refused', findings: outcome.refusal.evidence?.findings as unknown as Finding[], step: 0 }
  }

  rollback(toStep: number): Promise<unknown> {
    return this.#ledger.run(this.#id, { kind: 'rollback', body: { reason: 'back', toStep } })
  }

  async tool(tool: string, result: Json): Promise<void> {
    const claimed = await this.#ledger.run(this.#id, {
      kind: 'claim',
      body: { tool, args: {}, key: `${Math.random()}` },
    })
    assert.ok(claimed.ok)
    const { callId } = claimed.body as unknown as { callId: string }
    const settled = await this.#ledger.run(this.#id, { kind: 'settle', callId, body: { fence: 1, result } })
    assert.ok(settled.ok, JSON.stringify(settled))
  }
}

async function started(policy?: PolicyObject): Promise<Run & AsyncDisposable> {
  const ledger = await testLedger()
  const run = new Run(ledger)
  await run.start(policy)
  return Object.assign(run, { [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose]() })
}

const said = ({ verdict, findings }: Answer): string =>
  [verdict, ...findings.filter(({ severity }) => severity !== 'info').map(({ rule, path }) => `${rule} ${path}`)].join(
    ' ',
  )

test('a declaration stands in the accepted handoff and holds to the end of the run (JUD-45)', async () => {
  await using run = await started()
  const visits = { path: '/books/visits', as: 'counter' }
  assert.is(said(await run.handOver({ books: { visits: 1, price: 10 } }, { moves: [visits] })), 'accepted')
  assert.is(said(await run.handOver({ books: { visits: 2, price: 10 } })), 'accepted')
  assert.is(said(await run.handOver({ books: { visits: 9, price: 10 } }, { agent: 'b' })), 'accepted')
  assert.is(said(await run.handOver({ books: { visits: 3, price: 10 } })), 'refused contradicted /books/visits')
  assert.is(said(await run.handOver({ books: { visits: 10, price: 11 } })), 'refused contradicted /books/price')
})

test('a refused handoff declares nothing, and a rollback takes a declaration with its step (JUD-45)', async () => {
  await using run = await started()
  await run.handOver({ books: { next: 'x', price: 10 } })
  const next = { path: '/books/next', as: 'cursor' }
  assert.is(
    said(await run.handOver({ books: { next: 'y', price: 11 } }, { moves: [next] })),
    'refused contradicted /books/price',
  )
  assert.is(said(await run.handOver({ books: { next: 'y', price: 10 } })), 'refused contradicted /books/next')
  const { step } = await run.handOver({ books: { next: 'y', price: 10 } }, { moves: [next] })
  assert.is(said(await run.handOver({ books: { next: 'z', price: 10 } })), 'accepted')
  await run.rollback(step)
  assert.is(said(await run.handOver({ books: { next: 'v', price: 10 } })), 'accepted')
  await run.rollback(1)
  assert.is(said(await run.handOver({ books: { next: 'w', price: 10 } })), 'refused contradicted /books/next')
})

const REFUSED: readonly (readonly [
  why: string,
  move: { path: string; as: string; by?: string; reason?: string },
  says: RegExp,
])[] = [
  ['the whole context', { path: '', as: 'cursor' }, /no JSON Pointer/],
  ['all at any depth', { path: '/books/**', as: 'cursor' }, /one level at a time/],
  ['every top-level key', { path: '/*/at', as: 'cursor' }, /critical key/],
  ['an unknown kind', { path: '/books/at', as: 'anything' }, /moves as counter/],
  ['no reason', { path: '/books/at', as: 'cursor', reason: ' \u200b ' }, /reason/],
  ['free', { path: '/books/at', as: 'free' }, /only a policy/],
  ['state', { path: '/books/at', as: 'state' }, /only a policy/],
  ['an invariant that is not there', { path: '/books/at', as: 'derived', by: 'sum' }, /no invariant/],
  ['a critical key', { path: '/facts/at', as: 'cursor' }, /critical key/],
  ['what is immutable', { path: '/books/fixed', as: 'cursor' }, /does not change/],
  ['what is never superseded', { path: '/books/never/of', as: 'cursor' }, /superseded/],
  ['what the policy declares otherwise', { path: '/books/steps', as: 'gauge' }, /declares it as counter/],
  ['an object', { path: '/books/inner', as: 'cursor' }, /object/],
  ['a list as a cursor', { path: '/books/list', as: 'cursor' }, /list/],
  ['a text as a log', { path: '/books/at', as: 'log' }, /log is a list/],
  ['a text as a counter', { path: '/books/at', as: 'counter' }, /counter is a number/],
  ['a text as a clock', { path: '/books/at', as: 'clock' }, /clock is a time/],
  ['what another agent established', { path: '/books/others', as: 'gauge' }, /established by b/],
  ['what a tool answered', { path: '/books/flights/*/price', as: 'counter' }, /recorded result/],
]

test('who may declare what: each limit refuses, and says why; the place is judged as if nothing was declared (JUD-45)', async () => {
  for (const [why, move, says] of REFUSED) {
    await using run = await started({
      immutable: ['/books/fixed'],
      supersede: { never: ['/books/never'] },
      moves: [{ path: '/books/steps', as: 'counter' }],
    })
    await run.tool('search', {
      flights: [
        { id: 'F1', price: 120 },
        { id: 'F2', price: 90 },
      ],
    })
    const books = {
      at: 'here',
      fixed: 1,
      never: { of: 1 },
      steps: 1,
      inner: { a: 1 },
      list: [1],
      flights: [
        { id: 'F1', price: 120 },
        { id: 'F2', price: 90 },
      ],
    }
    await run.handOver({ books, facts: { at: 'x' } })
    await run.handOver({ books: { ...books, others: 3 }, facts: { at: 'x' } }, { agent: 'b' })
    const answer = await run.handOver({ books: { ...books, others: 3 }, facts: { at: 'x' } }, { moves: [move] })
    assert.is(said(answer), `accepted declaration-refused ${move.path}`, why)
    assert.match(answer.findings[0]?.message ?? '', says, why)
  }
})

test('declare: "none" lets no agent declare anything, and under suspect: "refuse" what may not be declared refuses (JUD-45)', async () => {
  await using none = await started({ declare: 'none' })
  const next = { path: '/books/next', as: 'cursor' }
  assert.is(
    said(await none.handOver({ books: { next: 'x' } }, { moves: [next] })),
    'accepted declaration-refused /books/next',
  )
  await using strict = await started()
  assert.is(
    said(await strict.handOver({ books: { next: 'x' } }, { moves: [{ ...next, as: 'free' }] })),
    'refused declaration-refused /books/next',
  )
})

test('a refused and a suspect place is offered as what it may be declared, for the members beside it as well (JUD-46)', async () => {
  await using run = await started({ suspect: 'record' })
  const beds = (reading: number, seen: string): Json => ({
    beds: [
      { bed: 'A', reading, seen: '2026-01-01T08:00:00Z' },
      { bed: 'B', reading: 4, seen },
    ],
  })
  await run.handOver(beds(7, 'x'))
  const { findings } = await run.handOver(beds(5, 'y'))
  assert.equal(
    findings.map(({ path, declare }) => [path, declare]),
    [
      ['/beds/0/reading', { path: '/beds/*/reading', as: 'gauge', reason: '' }],
      ['/beds/1/seen', { path: '/beds/*/seen', as: 'cursor', reason: '' }],
    ],
  )
  const offered = findings.map(
    ({ declare }) => ({ ...declare, reason: 'of the sensors' }) as { path: string; as: string },
  )
  assert.is(said(await run.handOver(beds(9, 'z'), { moves: offered })), 'accepted')
  assert.is(said(await run.handOver(beds(2, 'v'))), 'accepted')
})

test('a gauge moves with the place that it names, a text keeps the values and denials of its context (JUD-44)', async () => {
  await using run = await started({
    suspect: 'refuse',
    moves: [
      { path: '/soil/*/moisture', as: 'gauge', by: '/soil/*/sampled' },
      { path: '/says', as: 'text' },
      { path: '/sum', as: 'derived', by: 'sum' },
    ],
    invariants: [{ name: 'sum', expression: 'after.sum == after.a + after.b' }],
  })
  const context = (moisture: number, sampled: string, says: string): JsonObject => ({
    soil: { east: { moisture, sampled }, west: { moisture: 30, sampled: '2026-01-01' } },
    says,
    id: 'B-17',
    sum: 3,
    a: 1,
    b: 2,
  })
  await run.handOver(context(20, '2026-01-01', 'Bed B-17 is not dry.'))
  assert.is(
    said(await run.handOver(context(21, '2026-01-01', 'Bed B-17 is not dry.'))),
    'refused contradicted /soil/east/moisture',
  )
  assert.is(
    said(await run.handOver(context(21, '2026-01-02', 'Bed B-17 is not dry.'))),
    'refused contradicted /soil/east/sampled',
  )
  assert.is(said(await run.handOver(context(20, '2026-01-01', 'Of the bed B-17: it is not dry yet.'))), 'accepted')
  assert.is(said(await run.handOver(context(20, '2026-01-01', 'Bed B-17 is dry.'))), 'refused contradicted /says')
  assert.is(said(await run.handOver(context(20, '2026-01-01', 'Bed B-18 is not dry.'))), 'refused contradicted /says')
  const now = context(20, '2026-01-01', 'Of the bed B-17: it is not dry yet.')
  assert.is(said(await run.handOver({ ...now, sum: 4 })), 'refused invariant ')
})

test('what is in force holds under the policy of its agent, and brings no manifest of another along (JUD-45)', () => {
  const inForce = [{ path: '/n', as: 'counter' as const, reason: 'counts' }]
  const [before, after] = [
    { n: 1, order: { city: 'Bern' } },
    { n: 2, order: { city: 'Biel' } },
  ]
  const run = resolvePolicy({})
  const said = (policy: typeof run) => validateHandoff({ before, after, policy, inForce, agent: 'a' }).verdict
  const strict = withManifestPolicy(run, { immutable: ['/order/city'] })
  for (let turn = 0; turn < 2; turn += 1)
    assert.equal([said(run), said(strict), said(run)], ['accept', 'reject', 'accept'])
})

test.run()

void alice
