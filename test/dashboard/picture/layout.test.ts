import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runStream } from '../../../schemas/names.ts'
import { bucketsOf } from '../../../src/dashboard/picture/buckets.ts'
import { layoutBudget } from '../../../src/dashboard/picture/budget-strip.ts'
import { MarkShape } from '../../../src/dashboard/picture/draw-mark.tsx'
import { BAR_LABEL_PX, BAR_PX, layoutPicture } from '../../../src/dashboard/picture/layout.ts'
import { packRows } from '../../../src/dashboard/picture/pack-rows.ts'
import { createScale } from '../../../src/dashboard/picture/scale.ts'
import { emptyStory, foldStory } from '../../../src/dashboard/story/run-story.ts'
import type { MarkKind, RunStory } from '../../../src/dashboard/story/story-parts.ts'
import type { Caller } from '../../../src/ledger/ledger.ts'
import type { LedgerEvent } from '../../../src/ledger/ledger-event.ts'
import { ledgerEvent } from '../../../src/ledger/read/parse-record.ts'
import { FORKED_RUN, REFUSED_RUN, seedDashboard } from '../../support/dashboard-seed.ts'
import { RUN, storeOfEveryEvent, TENANT } from '../../support/every-event.ts'
import { testLedger } from '../../support/test-ledger.ts'

const test = suite('dashboard: the picture of a run')

const acme: Caller = { tenant: 'acme', actor: 'tester' }

async function seededEvents(run: string): Promise<readonly LedgerEvent[]> {
  await using inner = await testLedger()
  await seedDashboard({ ledger: inner.ledger, wait: (ms) => (inner.clock.nowMs += ms) })
  const found = await inner.ledger.runEvents(acme, run, { from: 0 })
  if (!found.ok) throw new Error(found.refusal.detail)
  const events: LedgerEvent[] = []
  for await (const page of found.value) events.push(...page)
  return events
}

const events = await seededEvents(REFUSED_RUN)
const storyOf = (some: readonly LedgerEvent[], first = 0): RunStory => {
  const story = emptyStory(first)
  foldStory(story, some)
  return story
}
const whole = { from: 0, to: events.length - 1 }
const LIMITS = { cost: '1.00', currency: 'USD' }

test('what was spent never counts what is merely reserved; both stand beside the cap', () => {
  const at = { revision: 1, time: '2026-01-01T00:00:01.000Z' }
  const point = { ...at, tokens: 0, cost: '0.25', reservedTokens: 0, reservedCost: '0.5' }
  const strip = (limits: { cost?: string }) =>
    layoutBudget([point], { limits, y: 0, height: 10, scale: createScale('steps', [at]) })
  const { spent, held, cap } = strip({}) ?? {}
  assert.equal([spent, held, cap], ['0.25', '0.5', undefined])
  assert.equal(strip({ cost: '1' })?.cap, '1')
})

test('a story folded in portions is the story folded at once', () => {
  const once = storyOf(events)
  fc.assert(
    fc.property(fc.array(fc.nat(events.length), { maxLength: 5 }), (cuts) => {
      const story = emptyStory()
      const places = [0, ...cuts.sort((a, b) => a - b), events.length]
      for (let i = 1; i < places.length; i += 1) foldStory(story, events.slice(places[i - 1], places[i]))
      assert.equal(story, once)
    }),
    { numRuns: 30 },
  )
})

test('the story\u2019s spending is the sum of its steps, and that of its models', () => {
  const story = storyOf(events)
  const models = [...story.models.values()]
  assert.is(story.budget.spend.cost, '0.2694')
  assert.equal(
    models.map(({ name, cost, calls }) => [name, cost, calls]),
    [['anthropic/claude-sonnet-4-5', '0.2694', 4]],
  )
})

test('the refusal, its rewind and the compensations stand where they belong', () => {
  const picture = layoutPicture(storyOf(events), { window: whole, scale: 'steps', limits: LIMITS })
  const lane = (name: string) => picture.lanes.find((each) => each.name === name)
  const rejected = picture.marks.find(({ mark }) => mark.kind === 'rejected')
  const target = picture.marks.find(({ mark }) => mark.kind === 'accepted' && mark.step === 2)
  const [arc] = picture.rewinds
  assert.equal([arc?.x2, arc?.y2], [target?.x, target?.y])
  assert.ok(arc !== undefined && rejected !== undefined && arc.x1 > rejected.x && arc.x2 < rejected.x)
  const writer = lane('writer')
  assert.ok(writer && rejected && rejected.y > writer.y && rejected.y < writer.y + writer.height)
  assert.is(picture.undos.length, 2)
  for (const undo of picture.undos) assert.ok(undo.x1 > undo.x2, 'a compensation points back')
  assert.equal(
    picture.lanes.map(({ name }) => name),
    ['', 'intake', 'assessor', 'payments', 'writer'],
  )
})

test('nothing of the picture lies outside it, and no two bars or names of a lane cover each other, by step and by clock', () => {
  const story = storyOf(events)
  const window = fc
    .tuple(fc.nat(whole.to), fc.nat(whole.to))
    .map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) }))
  fc.assert(
    fc.property(window, fc.constantFrom('steps' as const, 'time' as const), (shown, scale) => {
      const picture = layoutPicture(story, { window: shown, scale, limits: LIMITS })
      for (const { x, y } of picture.marks) {
        assert.ok(x >= 0 && x <= picture.width && y >= 0 && y <= picture.height, JSON.stringify({ x, y }))
      }
      for (const bar of picture.bars) {
        assert.ok(bar.x >= 0 && bar.width > 0 && bar.y + BAR_LABEL_PX + BAR_PX <= picture.height)
        assert.ok(bar.label.x >= 0 && bar.label.x + bar.label.width <= picture.width)
        const covers = (a: { x: number; width: number }, b: { x: number; width: number }) =>
          a.x < b.x + b.width && b.x < a.x + a.width
        const covering = picture.bars.filter(
          (other) => other !== bar && other.y === bar.y && (covers(other, bar) || covers(other.label, bar.label)),
        )
        assert.equal(covering, [])
      }
      for (const { y } of picture.budget?.line ?? []) {
        assert.ok(picture.budget && y >= picture.budget.y && y <= picture.budget.y + picture.budget.height)
      }
    }),
    { numRuns: 100 },
  )
})

test('a window shows its own events alone; what reaches beyond it is cut, and an arc to before it leads out on the left', () => {
  const story = storyOf(events)
  const rewind = story.marks.find(({ kind }) => kind === 'rewind')
  const window = { from: (rewind?.revision ?? 0) - 1, to: whole.to }
  const picture = layoutPicture(story, { window, scale: 'steps', limits: LIMITS })
  assert.ok(picture.marks.every(({ mark }) => mark.revision >= window.from))
  assert.is(picture.rewinds[0]?.x2, 0)
})

test('a part of a long run takes its totals from the first snapshot in it', () => {
  const from = events.findIndex(({ header }) => header.type === 'EnvelopeAccepted')
  const part = storyOf(events.slice(from), from)
  assert.is(part.budget.spend.cost, storyOf(events).budget.spend.cost)
})

test('packed intervals of one row never overlap, and each is packed once', () => {
  const interval = fc
    .tuple(fc.nat(1000), fc.integer({ min: 1, max: 200 }))
    .map(([from, length]) => ({ from, to: from + length }))
  fc.assert(
    fc.property(fc.array(interval, { maxLength: 60 }), (items) => {
      const packed = packRows(items, (item) => item)
      assert.is(packed.length, items.length)
      for (const a of packed) {
        for (const b of packed) {
          if (a === b || a.row !== b.row) continue
          assert.ok(a.item.to <= b.item.from || b.item.to <= a.item.from)
        }
      }
    }),
  )
})

test('an overview counts every mark and call once, in at most as many buckets as fit', () => {
  const story = storyOf(events)
  for (const window of [1, 7, 200]) {
    const buckets = bucketsOf(story, { most: 10, window })
    assert.ok(buckets.length <= 10)
    assert.is(
      buckets.reduce((sum, each) => sum + each.events, 0),
      story.marks.length + story.spans.length,
    )
    assert.is(buckets[0]?.from, 0)
    assert.is(buckets.at(-1)?.to, events.length - 1)
  }
})

test('a fork leads to each of its branches, only the merged ones lead into the join, and the next handoff starts there', async () => {
  const forked = await seededEvents(FORKED_RUN)
  const window = { from: 0, to: forked.length - 1 }
  const { forks, marks, handoffs } = layoutPicture(storyOf(forked), { window, scale: 'steps', limits: {} })
  const at = (kind: string) => marks.find(({ mark }) => mark.kind === kind)
  const [fork, join] = [at('fork'), at('join')]
  assert.is(forks.filter(({ x1, y1 }) => x1 === fork?.x && y1 === fork.y).length, 3)
  assert.is(forks.filter(({ x2, y2 }) => x2 === join?.x && y2 === join.y).length, 2)
  assert.is(forks.filter(({ merged }) => !merged).length, 1)
  const merged = marks.find(({ mark }) => mark.kind === 'accepted' && mark.step === 2)
  assert.ok(handoffs.some(({ x1, y1, x2 }) => x1 === join?.x && y1 === join.y && x2 === merged?.x))
})

test('an event type that this build does not know is shown, not lost', () => {
  const [first] = events
  if (first === undefined) throw new Error('no events')
  const { position, data, digest, headerText, texts } = first
  const later = {
    position,
    data,
    digest,
    headerText,
    texts,
    header: { ...first.header, type: 'SomethingNew', revision: 1 },
  }
  const story = storyOf([first, later])
  assert.equal(
    story.marks.map(({ kind, type }) => [kind, type]),
    [
      ['start', 'RunStarted'],
      ['other', 'SomethingNew'],
    ],
  )
})

/** What bars and the line of the budget show, and what nobody did or decided: snapshots, and that a run is still carried. */
const DRAWN_OTHERWISE =
  /^(ToolCall|Compensation(Succeeded|Failed|InDoubt)|Budget(Reserved|Released)|UsageRecorded|ReservationExpired|SnapshotTaken|RunCarried)/

test('every type of event of a run has a sign of its kind, drawn otherwise than one that this build does not know', async () => {
  const sealed: LedgerEvent[] = []
  for await (const page of (await storeOfEveryEvent()).readStream(runStream(TENANT, RUN))) {
    for (const record of page) sealed.push(ledgerEvent(record))
  }
  const kinds = new Map<string, MarkKind>(storyOf(sealed).marks.map(({ type, kind }) => [type, kind]))
  const shapeOf = (kind: MarkKind) => String(MarkShape({ x: 14, y: 14, mark: { kind } }))
  for (const type of new Set(sealed.map(({ header }) => header.type))) {
    if (DRAWN_OTHERWISE.test(type)) continue
    const kind = kinds.get(type) ?? 'other'
    assert.is.not(kind, 'other', type)
    assert.is.not(shapeOf(kind), shapeOf('other'), type)
  }
  assert.equal(
    ['ApprovalRequested', 'ApprovalGranted', 'ApprovalDenied', 'WaitStarted', 'SignalReceived'].map((type) =>
      kinds.get(type),
    ),
    ['approval', 'granted', 'denied', 'wait', 'signal'],
  )
})

test.run()
