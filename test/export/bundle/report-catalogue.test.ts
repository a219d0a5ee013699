import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import type { EventType } from '../../../schemas/event-type.ts'
import { EVENTS } from '../../../schemas/events.ts'
import type { JsonObject } from '../../../schemas/json.ts'
import { ReportFacts } from '../../../src/verify/bundle/report-facts.ts'

const test = suite('export: the lists of event types in verify.mjs')
const CATALOGUE = Object.entries<EventType>(EVENTS)

/** A body for each value of each member that takes one of a few words, one with a word that none takes, and one without any. */
function bodiesOf({ schema }: EventType): readonly JsonObject[] {
  const few = Object.entries(schema.shape).flatMap(([name, member]) =>
    wordsOf(member).map((word) => ({ [name]: word })),
  )
  const names = [...new Set(few.flatMap((body) => Object.keys(body)))]
  return [{}, ...few, ...names.map((name) => ({ [name]: 'none of them' }))]
}

function wordsOf(member: unknown): readonly string[] {
  if (member instanceof z.ZodOptional) return wordsOf(member.unwrap())
  if (member instanceof z.ZodEnum) return member.options.map(String)
  return member instanceof z.ZodLiteral ? [...member.values].map(String) : []
}

const header = (type: string, revision: number) => ({
  type,
  stream: 'run-acme.one',
  id: `${revision}`,
  time: '2026-01-01T00:00:00.000Z',
  actor: 'a',
})

function factsOf(...events: readonly (readonly [string, JsonObject])[]): InstanceType<typeof ReportFacts> {
  const facts = new ReportFacts()
  for (const [index, [type, data]] of events.entries())
    facts.take({ header: header(type, index), data: type === 'UsageRecorded' ? { usage: {}, ...data } : data } as never)
  facts.nextPass()
  return facts
}

test('a report lists what the catalogue calls a failure or notable, for every type and every value that decides (A92)', () => {
  for (const [type, { rating, notable = false, ...declared }] of CATALOGUE) {
    for (const body of bodiesOf({ rating, ...declared })) {
      const { outcome } = typeof rating === 'function' ? rating(body) : rating
      const isListed = factsOf([type, body]).notable.total === 1
      assert.is(isListed, notable || outcome === 'failure', `${type} ${JSON.stringify(body)}`)
    }
  }
})

test('a report ends runs and calls with the types that the catalogue says end them, and with no other (A92)', () => {
  for (const [type, { changes }] of CATALOGUE) {
    const run = factsOf(['RunStarted', {}], [type, {}])
    const endsRun = changes.run !== undefined && changes.run !== 'open'
    assert.is(run.openRuns.total, endsRun ? 0 : 1, type)
    assert.is(run.ends.entries().length, endsRun ? 1 : 0, type)
    if (type === 'ToolCallClaimed') continue
    const call = factsOf(['ToolCallClaimed', { callId: 'c' }], [type, { callId: 'c' }])
    const endsCall = changes.call === 'settled' || changes.undoing === 'succeeded' || changes.undoing === 'failed'
    assert.is(call.openCalls.total, endsCall ? 0 : 1, type)
  }
})

test('the words that decide are found in the schemas: the test above sees both sides of them', () => {
  // Of usage the body decides how soon somebody should look, and nothing else.
  const decided = CATALOGUE.filter(([type, { rating }]) => typeof rating === 'function' && type !== 'UsageRecorded')
  assert.ok(decided.length >= 3)
  for (const [type, declared] of decided) {
    const { rating } = declared
    const outcomes = bodiesOf(declared).map((body) => (typeof rating === 'function' ? rating(body).outcome : ''))
    assert.equal([...new Set(outcomes)].sort(), ['failure', 'success'], type)
  }
})

test.run()
