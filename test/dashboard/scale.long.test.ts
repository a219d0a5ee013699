import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { BatchItem } from '../../src/ledger/ledger.ts'
import { type TestEdge, testEdge } from '../support/test-edge.ts'
import { alice } from '../support/test-ledger.ts'
import { signedIn } from '../support/ui-client.ts'

const test = suite('dashboard: ten thousand of everything')

const HANDOFFS = 10_000
const RUNS = 10_000
const PAGE_MAX_BYTES = 700_000
const BATCH = 250

async function send(edge: TestEdge, items: readonly BatchItem[]): Promise<void> {
  for (let from = 0; from < items.length; from += BATCH) {
    const outcomes = await edge.inner.ledger.executeBatch(alice, items.slice(from, from + BATCH), {})
    const refused = outcomes.find((outcome) => !outcome.ok)
    if (refused !== undefined && !refused.ok) throw new Error(refused.refusal.detail)
  }
}

test('a run of ten thousand events is shown window by window: each event once, no page large, the whole at a glance', async () => {
  await using edge = await testEdge()
  await edge.started('long')
  const handoff = (step: number): BatchItem => ({
    runId: 'long',
    command: { kind: 'envelope', body: { agent: `agent-${step % 7}`, payload: { note: `step ${step}` } } },
  })
  await send(
    edge,
    Array.from({ length: HANDOFFS }, (_, step) => handoff(step)),
  )
  const client = await signedIn(edge)
  const seen: number[] = []
  let next: string | undefined = '/ui/runs/long?from=0'
  while (next !== undefined) {
    const html: string = await client.html(next)
    assert.ok(html.length < PAGE_MAX_BYTES, `${next}: ${html.length}`)
    seen.push(...[...html.matchAll(/<tr class="event[^"]*" id="event-(\d+)"/g)].map(([, revision]) => Number(revision)))
    assert.is([...html.matchAll(/<rect class="overview-bar"/g)].length <= 100, true)
    next = /<a href="([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&')
  }
  assert.equal(
    seen,
    Array.from({ length: HANDOFFS + 1 }, (_, revision) => revision),
  )
  const diff = await client.html(`/ui/runs/long/diff?from=1&to=${HANDOFFS}`)
  assert.match(diff, /9999/)
})

test('a list of ten thousand runs is walked page by page, each run once', async () => {
  await using edge = await testEdge()
  const start = (index: number): BatchItem => {
    const id = `run-${String(index).padStart(5, '0')}`
    return { runId: id, command: { kind: 'start', body: { id, name: 'many' } } }
  }
  await send(
    edge,
    Array.from({ length: RUNS }, (_, index) => start(index)),
  )
  const client = await signedIn(edge)
  const seen = new Set<string>()
  let next: string | undefined = '/ui/runs'
  while (next !== undefined) {
    const html: string = await client.html(next)
    for (const [, run = ''] of html.matchAll(/<tr id="run-([^"]+)"/g)) seen.add(run)
    next = /<a href="([^"]+)" rel="next"/.exec(html)?.[1]?.replaceAll('&amp;', '&')
  }
  assert.is(seen.size, RUNS)
})

test.run()
