import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { EventQuery } from '../../../schemas/event-query.ts'
import type { LedgerEvent } from '../../../src/ledger/ledger-event.ts'
import { AnswerCount } from '../../../src/verify/bundle/answer-count.ts'
import type { Gathered } from '../../../src/verify/bundle/gathered.ts'
import { ReportFacts } from '../../../src/verify/bundle/report-facts.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { writeBundle } from '../../support/bundles.ts'
import { drive } from '../../support/run-driver.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { testLogs } from '../../support/test-logs.ts'

const test = suite('export: memory of a bundle')
const KIB = 1024

interface Body {
  readonly callId?: string
  readonly agent?: string
  readonly tool?: string
}

function event(type: string, run: string, data: Body = {}): LedgerEvent {
  const header = { type, stream: `run-acme.${run}`, time: '2026-01-01T00:00:00.000Z', id: 'e', actor: 'a' }
  return { header, data } as unknown as LedgerEvent
}

const QUERY = { agent: 'writer', tool: 'pay' }

function isAnswer({ data }: LedgerEvent, claim: { readonly agent?: string; readonly tool?: string }): boolean {
  return (data.agent ?? claim.agent) === QUERY.agent && (data.tool ?? claim.tool) === QUERY.tool
}

/** As many passes as it takes; answers how many, and the most bytes that were held. */
function gather(gathered: Gathered, events: readonly LedgerEvent[]): { passes: number; heldBytes: number } {
  let heldBytes = 0
  for (let passes = 1; ; passes += 1) {
    for (const each of events) {
      if (passes === 1) gathered.take(each)
      else gathered.takeAgain(each)
      heldBytes = Math.max(heldBytes, gathered.heldBytes)
    }
    if (!gathered.nextPass()) return { passes, heldBytes }
  }
}

/** The same with everything remembered by name. */
function answersByName(events: readonly LedgerEvent[]): number {
  const claims = new Map<string, LedgerEvent['data']>()
  return events.filter((each) => {
    const name = `${each.data.callId} ${each.header.stream}`
    if (each.header.type === 'ToolCallClaimed') claims.set(name, each.data)
    return isAnswer(each, claims.get(name) ?? {})
  }).length
}

function openByName(events: readonly LedgerEvent[]): { runs: string[]; calls: number } {
  const [runs, calls] = [new Set<string>(), new Set<string>()]
  for (const { header, data } of events) {
    const call = `${header.stream} ${data.callId}`
    if (header.type === 'RunStarted') runs.add(header.stream.slice('run-acme.'.length))
    if (header.type === 'RunCompleted') runs.delete(header.stream.slice('run-acme.'.length))
    if (header.type === 'ToolCallClaimed') calls.add(call)
    if (header.type === 'ToolCallSucceeded') calls.delete(call)
  }
  return { runs: [...runs], calls: calls.size }
}

const TYPES = [
  'RunStarted',
  'RunCompleted',
  'ToolCallClaimed',
  'ToolCallClaimed',
  'ToolCallSucceeded',
  'ReservationMade',
]

/** Thousands of events of hundreds of runs, in any order, by one number: a failure names it. */
function eventsOf(seed: number): readonly LedgerEvent[] {
  let state = seed
  const one = <T>(values: readonly T[]): T => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return values[(state >>> 8) % values.length] as T
  }
  const runs = Array.from({ length: 300 }, (_, at) => `r${at}`)
  return Array.from({ length: 1000 + (seed % 2000) }, () => {
    const [agent, tool] = [one(['writer', 'other', undefined]), one(['pay', 'ship', undefined])]
    const said = { ...(agent && { agent }), ...(tool && { tool }) }
    return event(one(TYPES), one(runs), { callId: one(['c1', 'c2', 'c3']), ...said })
  })
}

test('what a bundle counts and lists as open is the same however little may be remembered at once (F108)', () => {
  let most = 0
  const check = (seed: number) => {
    const all = eventsOf(seed)
    for (const maxBytes of [5 * KIB, 16 * KIB]) {
      const answers = new AnswerCount(QUERY as EventQuery, isAnswer, maxBytes)
      const facts = new ReportFacts(false, maxBytes)
      const passes = [gather(answers, all).passes, gather(facts, all).passes]
      most = Math.max(most, ...passes)
      assert.is(answers.count, answersByName(all))
      const { runs, calls } = openByName(all)
      assert.equal([facts.openRuns.total, facts.openCalls.total], [runs.length, calls])
      assert.equal(
        facts.openRuns.items.map((item) => (item as readonly string[])[0]),
        runs.slice(0, 200),
      )
    }
  }
  fc.assert(fc.property(fc.nat(), check), { numRuns: 3, endOnFailure: true })
  assert.ok(most > 2, `${most} passes`)
})

test('a tenant whose calls and runs would take more, by their names alone, is counted within the bound (F108)', () => {
  const maxBytes = 32 * KIB
  const count = 3000
  const all = Array.from({ length: count }, (_, at) => [
    event('RunStarted', `run-number-${at}`),
    event('ToolCallClaimed', `run-number-${at}`, { callId: `call-number-${at}`, agent: 'writer', tool: 'pay' }),
  ]).flat()
  const outcomes = Array.from({ length: count }, (_, at) =>
    event('ReservationMade', `run-number-${at}`, { callId: `call-number-${at}` }),
  )
  all.push(...outcomes)
  const names = outcomes.reduce((sum, { header, data }) => sum + `${data.callId} ${header.stream}`.length, 0)
  assert.ok(names > 2 * maxBytes)

  const answers = new AnswerCount(QUERY as EventQuery, isAnswer, maxBytes)
  const counted = gather(answers, all)
  assert.is(answers.count, 2 * count)
  assert.ok(counted.heldBytes <= maxBytes && counted.passes > 1, JSON.stringify(counted))

  const facts = new ReportFacts(false, maxBytes)
  const listed = gather(facts, all)
  assert.equal([facts.openRuns.total, facts.openCalls.total], [count, count])
  assert.ok(listed.heldBytes <= 2 * maxBytes && listed.passes > 1, JSON.stringify(listed))
})

test('a bundle whose open runs are known only after a second pass lists them, and verifies (F108)', async () => {
  using folder = tempFolder()
  await using home = await testLogs()
  const runs = Array.from({ length: 430 }, (_, at) => drive(home, `r${at}`, { tenant: 'acme', actor: 'alice' }))
  for (const run of runs) await run.start()
  for (const run of runs.slice(0, 300)) await run.do({ kind: 'complete', body: {} })
  const file = folder.file('all.tar')
  await writeBundle(home.ledger, file)
  const found = verifyBundle(file, { key: home.logs.verifierKey('acme') })
  assert.equal(found.faults, [])
  assert.is(found.verdict, 'VERIFIED')
})

test.run()
