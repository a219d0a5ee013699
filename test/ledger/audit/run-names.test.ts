import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type EventType, typesThat } from '../../../schemas/events.ts'
import { runGroup, runNames } from '../../../src/ledger/audit/sliced-groups.ts'
import type { AuditIndex, RunGroup } from '../../../src/store/audit-index.ts'
import { openSqliteAudit } from '../../../src/store/sqlite/sqlite-audit.ts'
import { auditEntry } from '../../support/audit-entry.ts'

const test = suite('audit: runs by their names')

const ENDS = typesThat(({ changes }) => changes.run !== undefined && changes.run !== 'open')

interface Event {
  readonly run: string
  readonly revision: number
  readonly leaf: number
  readonly time: string
  readonly type: EventType
}

const drawnEvents = fc.array(
  fc.record({
    run: fc.constantFrom('a', 'aa', 'a-b', 'b', 'Ä', 'r1', 'r10', 'r2', '~'),
    type: fc.constantFrom<EventType>('RunCompleted', 'RunFailed', 'EnvelopeRejected', 'EnvelopeAccepted'),
    /** A revision that is not there. */
    hole: fc.boolean(),
  }),
  { maxLength: 40 },
)

/** Times of one run rise with its revisions, as they are sealed. */
function logOf(drawn: readonly { readonly run: string; readonly type: EventType; readonly hole: boolean }[]) {
  const revisions = new Map<string, number>()
  return drawn.map(({ run, type, hole }, leaf): Event => {
    const revision = (revisions.get(run) ?? -1) + (hole ? 2 : 1)
    revisions.set(run, revision)
    return { run, revision, leaf, time: `2024-01-${String(10 + Math.floor(leaf / 2)).padStart(2, '0')}`, type }
  })
}

function groupOf(run: string, events: readonly Event[]): RunGroup {
  const own = events.filter((event) => event.run === run)
  const end = own.filter(({ type }) => ENDS.includes(type)).at(-1)
  return {
    run,
    events: own.length,
    firstRevision: own[0]?.revision ?? 0,
    lastRevision: own.at(-1)?.revision ?? 0,
    firstTime: own[0]?.time ?? '',
    lastTime: own.at(-1)?.time ?? '',
    rejections: own.filter(({ type }) => type === 'EnvelopeRejected').length,
    ...(end && { end: { leaf: end.leaf, type: end.type } }),
  }
}

const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

test('runs are listed by their names as of any size of the log, none twice and none halved, however few are looked at a time (F79, F181)', async () => {
  const asked = fc.record({
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    few: fc.integer({ min: 1, max: 7 }),
    openOnly: fc.boolean(),
    since: fc.constantFrom(undefined, '2024-01-15'),
    until: fc.constantFrom(undefined, '2024-01-20'),
    run: fc.constantFrom(undefined, 'a', 'r1', 'none'),
  })
  await fc.assert(
    fc.asyncProperty(drawnEvents, asked, async (drawn, { share, few, openOnly, since, until, run }) => {
      using index = openSqliteAudit({ path: ':memory:' })
      const log = logOf(drawn)
      const entries = log.map(({ leaf, ...event }) => auditEntry(leaf, event))
      index.save({ entries, states: new Map(), foreign: [], progress: { position: '9', digest: 'd' } }, undefined)
      const size = Math.floor(share * log.length)
      const view = { tenant: 'acme', size }
      const slow: Pick<AuditIndex, 'runStarts' | 'runPart'> = {
        runStarts: (of, walk) => index.runStarts(of, { ...walk, runs: few }),
        runPart: (of, name, walk) => index.runPart(of, name, { ...walk, rows: few }),
      }
      const filter = { ...(since && { since }), ...(until && { until }), ...(run && { run }) }
      const names: string[] = []
      for await (const some of runNames(slow, view, { filter, pace: undefined, openOnly })) names.push(...some)
      const there = log.slice(0, size)
      const wanted = [...new Set(there.map((event) => event.run))]
        .sort(compareBytes)
        .map((name) => groupOf(name, there))
        .filter((group) => run === undefined || group.run === run)
        .filter(
          ({ firstTime }) => (since === undefined || firstTime >= since) && (until === undefined || firstTime < until),
        )
        .filter(({ end }) => !(openOnly && end !== undefined))
      assert.equal(
        names,
        wanted.map((group) => group.run),
      )
      for (const group of wanted) assert.equal(await runGroup(slow, view, { run: group.run, pace: undefined }), group)
    }),
    { numRuns: 100 },
  )
})

test.run()
