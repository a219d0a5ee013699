/** @module Each way in which a record may stand wrong is judged as what it is, and its followers as what they are. */
import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createKeyRing, createRunKeys, currentKey } from '../../src/signing/key-ring.ts'
import { sealEvents } from '../../src/signing/seal.ts'
import type { PlacedRecord } from '../../src/verify/source-item.ts'
import { type Judged, StreamChecks } from '../../src/verify/stream-check.ts'

const test = suite('verify: one stream')

const NOW = '2026-01-01T00:00:00.000Z'
const STREAM = 'run-acme.r'
const ring = createKeyRing(NOW, randomBytes)
const runKeys = createRunKeys(ring)
const { kid } = currentKey(ring)

/** Four events of a run, sealed; `place` says how whoever holds them knows where they stand. */
function sealed(place: 'columns' | 'headers'): PlacedRecord[] {
  const key = runKeys.keyFor(kid, 'acme', STREAM)
  if (key === undefined) throw new Error('no key')
  const drafts = Array.from({ length: 4 }, () => ({ type: 'RunCompleted', data: { v: 1 } }) as const)
  const how = {
    stream: STREAM,
    tenant: 'acme',
    actor: 'a',
    clock: NOW,
    kid,
    key,
    newId: v7,
    newSalt: () => randomBytes(16),
  }
  return sealEvents(drafts, { ...how, revision: 0, prev: undefined, prevTime: undefined }).map(
    ({ header, record }) => ({
      ...record,
      stream: STREAM,
      revision: header.revision,
      hasColumns: place === 'columns',
    }),
  )
}

const checks = (sealsChecked = true): StreamChecks => new StreamChecks({ ring, runKeys, sealsChecked })
const codes = ({ faults }: Judged): readonly string[] => faults.map(({ code }) => code)
const judgeAll = (under: StreamChecks, records: readonly (PlacedRecord | undefined)[]) =>
  records.map((each) => (each === undefined ? [] : codes(under.judge(each))))
const spoilt = (record: PlacedRecord | undefined): PlacedRecord => {
  if (record === undefined) throw new Error('there is none')
  return { ...record, data: '{"v":2}' }
}

test('an event that comes twice stands aside, and the stream goes on without it', () => {
  for (const place of ['columns', 'headers'] as const) {
    const [a, b, c, d] = sealed(place)
    assert.equal(judgeAll(checks(), [a, b, b, a, c, d]), [[], [], ['out-of-order'], ['out-of-order'], [], []], place)
  }
})

test('a record that cannot be read takes its place: its follower is not blamed, and nothing is missing', () => {
  const [a, b, c, d] = sealed('columns')
  const under = checks()
  assert.equal(judgeAll(under, [a]), [[]])
  under.skip(STREAM, 1)
  assert.equal(judgeAll(under, [c]), [[]])
  // One whose place has passed turns nothing back.
  under.skip(STREAM, 0)
  assert.equal(judgeAll(under, [d, b]), [[], ['out-of-order']])
})

test('events that are not there are named once, with their number', () => {
  const [a, , , d] = sealed('columns')
  const under = checks()
  under.judge(a as PlacedRecord)
  const { faults } = under.judge(d as PlacedRecord)
  assert.equal(
    faults.map(({ code, missing }) => ({ code, missing })),
    [{ code: 'missing', missing: { revision: 1, count: 2 } }],
  )
})

test('an event of an answer to a query is judged by itself: its seal and place, not its links; without keys it is never sealed', () => {
  const [, , c] = sealed('headers')
  const alone = { ...(c as PlacedRecord), alone: true }
  for (const isChecked of [true, false]) {
    const under = checks(isChecked)
    const genuine = under.judge(alone)
    assert.equal([codes(genuine), genuine.sealed, under.streams], [[], isChecked, 1])
    const altered = under.judge(spoilt(alone))
    assert.equal([codes(altered), altered.sealed], [['data-digest'], false])
  }
})

test('a key that nobody has is a fault where seals are checked, and none where they are not', () => {
  const foreign = createRunKeys(createKeyRing(NOW, randomBytes))
  const [record] = sealed('headers')
  const without = (sealsChecked: boolean) =>
    new StreamChecks({ ring: { keys: [] } as never, runKeys: foreign, sealsChecked })
  for (const alone of [true, false]) {
    const placed = { ...(record as PlacedRecord), alone }
    assert.ok(codes(without(true).judge(placed)).includes('unknown-key'), `alone: ${alone}`)
    assert.not.ok(codes(without(false).judge(placed)).includes('unknown-key'), `alone: ${alone}`)
  }
})

test('of a number that was altered in an export only its own event is at fault: without its seal it is not believed', () => {
  const [a, b, c] = sealed('headers')
  const header = (b as PlacedRecord).header.replace('"revision":1', '"revision":3')
  const moved = { ...(b as PlacedRecord), header, revision: 3 }
  const [first, second, third] = judgeAll(checks(), [a, moved, c])
  assert.equal([first, third], [[], []])
  assert.ok(second?.includes('mac') && !second.includes('missing'), String(second))
  // Nobody can tell where no seal is checked: it is taken at its word.
  assert.ok(judgeAll(checks(false), [a, moved])[1]?.includes('missing'))
})

test('a column that was altered is believed no more than the header that fits', () => {
  const [a, b, c] = sealed('columns')
  const moved = { ...(b as PlacedRecord), revision: 3 }
  assert.equal(judgeAll(checks(), [a, moved, c]), [[], ['wrong-revision'], []])
  const both = { ...moved, header: moved.header.replace('"revision":1', '"revision":3') }
  assert.ok(judgeAll(checks(), [a, both])[1]?.includes('missing'), 'a store says by its columns what is gone')
})

test('a record whose header nobody can read, or whose column names another stream, is at fault alone', () => {
  const [a, b, c, d] = sealed('columns')
  const unreadable = { ...(b as PlacedRecord), header: '{', revision: 2 }
  const [first, second] = judgeAll(checks(), [a, unreadable])
  assert.equal(first, [])
  assert.ok(second?.includes('header-not-json'), String(second))
  const elsewhere = { ...(b as PlacedRecord), stream: 'run-acme.other' }
  assert.equal(judgeAll(checks(), [a, elsewhere, c, d]), [[], ['wrong-stream'], [], []])
})

test('a line of an export that names, under no seal, a stream of nobody, makes none', () => {
  const [a, b] = sealed('headers')
  const stray = {
    ...(a as PlacedRecord),
    stream: 'run-acme.q',
    header: (a as PlacedRecord).header.replace(STREAM, 'run-acme.q'),
  }
  const under = checks()
  const judged = under.judge(stray)
  assert.equal([codes(judged).includes('mac'), judged.sealed, under.streams], [true, false, 0])
  assert.equal(judgeAll(under, [a, b]), [[], []])
})

test('without keys bodies and links are checked all the same', () => {
  const [a, b, c] = sealed('columns')
  assert.equal(judgeAll(checks(false), [a, spoilt(b), c]), [[], ['data-digest'], []])
  const [, , foreign] = sealed('columns')
  assert.equal(judgeAll(checks(false), [a, b, foreign]), [[], [], ['prev']])
})

test('time never goes back within a stream, whoever sealed it', () => {
  const key = runKeys.keyFor(kid, 'acme', STREAM)
  if (key === undefined) throw new Error('no key')
  const sealedAt = (clock: string, place: { revision: number; prev: string | undefined }) => {
    const how = {
      stream: STREAM,
      tenant: 'acme',
      actor: 'a',
      clock,
      kid,
      key,
      newId: v7,
      newSalt: () => randomBytes(16),
    }
    const drafts = [{ type: 'RunCompleted', data: { v: 1 } }] as const
    const [made] = sealEvents(drafts, { ...how, ...place, prevTime: undefined })
    if (made === undefined) throw new Error('nothing was sealed')
    return made
  }
  const first = sealedAt('2026-01-02T00:00:00.000Z', { revision: 0, prev: undefined })
  const second = sealedAt(NOW, { revision: 1, prev: first.digest })
  const placed = [first, second].map(({ header, record }) => ({ ...record, stream: STREAM, revision: header.revision }))
  assert.equal(judgeAll(checks(), placed), [[], ['time-order']])
})

test.run()
