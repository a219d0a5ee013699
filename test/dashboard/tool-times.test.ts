import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Span, SpanStatus } from '../../src/dashboard/story/story-parts.ts'
import { toolTimes } from '../../src/dashboard/story/tool-times.ts'

const test = suite('dashboard: the calls of a run by tool')

const START = Date.parse('2026-01-31T12:00:00.000Z')
let revision = 0

function span(tool: string, status: SpanStatus, ms?: number): Span {
  revision += 1
  const [fromTime, toTime] = [START, START + (ms ?? 0)].map((at) => new Date(at).toISOString())
  const base = { callId: `c${revision}`, tool, phase: 'forward', lane: '', attempt: 1, from: revision, status }
  return { ...base, fromTime: fromTime ?? '', ...(ms !== undefined && { toTime: toTime ?? '' }) }
}

test('what took longest in all comes first, with the median and the longest of calls that ended', () => {
  revision = 0
  const [slow, quick] = toolTimes([
    span('quick', 'succeeded', 10),
    span('slow', 'succeeded', 900),
    span('slow', 'failed', 100),
    span('slow', 'undone', 500),
    span('slow', 'succeeded', 700),
  ])
  assert.equal(
    [slow?.tool, slow?.calls, slow?.failed, slow?.undone, slow?.medianMs, slow?.longest],
    ['slow', 4, 1, 1, 500, { ms: 900, revision: 2 }],
  )
  assert.equal([quick?.tool, quick?.medianMs], ['quick', 10])
})

test('a call that is open or in doubt is counted, and no time is claimed for it', () => {
  const [row] = toolTimes([span('pay', 'open'), span('pay', 'in-doubt', 60_000)])
  assert.equal([row?.calls, row?.open, row?.inDoubt, row?.medianMs, row?.longest], [2, 1, 1, undefined, undefined])
  assert.equal(toolTimes([]), [])
})

test('a clock that was set back while a call ran makes no time below zero', () => {
  assert.is(toolTimes([span('pay', 'succeeded', -5_000)])[0]?.medianMs, 0)
})

test.run()
