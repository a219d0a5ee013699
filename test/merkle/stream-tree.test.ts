import { createHash } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Groups, groupOf, groupSubtree, pathFrom, rootOfGroups } from '../../src/merkle/grouped-streams.ts'
import {
  grownDigest,
  NO_EVENTS,
  provesHead,
  type StreamHead,
  streamKey,
  streamsLine,
  streamsRoot,
  subtreeOf,
} from '../../src/merkle/stream-tree.ts'
import { seededRandom, testSeed } from '../support/random.ts'

const test = suite('merkle: the tree of streams')

const sha256 = (...parts: readonly (string | Uint8Array)[]): Buffer =>
  parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest()

function headOf(stream: string, events: number): StreamHead {
  let digest = NO_EVENTS
  for (let n = 0; n < events; n += 1) digest = grownDigest(digest, sha256(`${stream} ${n}`))
  return { key: streamKey(stream), events, digest }
}

const headsOf = (count: number): readonly StreamHead[] =>
  Array.from({ length: count }, (_, n) => headOf(`run-acme.${n}`, 1 + (n % 5)))

function grouped(heads: readonly StreamHead[]): { groups: Groups; of: (key: Uint8Array) => readonly StreamHead[] } {
  const byGroup = new Map<number, StreamHead[]>()
  for (const head of heads) byGroup.set(groupOf(head.key), [...(byGroup.get(groupOf(head.key)) ?? []), head])
  const groups = new Map([...byGroup].map(([group, members]) => [group, groupSubtree(members)]))
  return { groups, of: (key) => byGroup.get(groupOf(key)) ?? [] }
}

test('the root is the one of its definition, in whatever order and groups the streams are met (LOG-27)', () => {
  assert.equal(Buffer.from(subtreeOf([], 0).hash), Buffer.alloc(32))
  const one = headOf('run-acme.0', 2)
  const count = Buffer.alloc(8)
  count.writeUInt32BE(2, 4)
  const digest = sha256(
    Buffer.of(0x12),
    sha256(Buffer.of(0x12), Buffer.alloc(32), sha256('run-acme.0 0')),
    sha256('run-acme.0 1'),
  )
  const alone = sha256(Buffer.of(0x10), sha256('run-acme.0'), count, digest)
  assert.equal(Buffer.from(subtreeOf([one], 0).hash), alone)
  for (const size of [0, 1, 2, 3, 10, 5_000]) {
    const heads = headsOf(size)
    const { hash } = subtreeOf(heads, 0)
    assert.equal(subtreeOf([...heads].reverse(), 0).hash, hash)
    assert.equal(rootOfGroups(grouped(heads).groups), hash, `${size} streams`)
  }
})

test('each stream has a path to the root, and no path shows another count, digest or name (LOG-27)', () => {
  const random = seededRandom(testSeed(24))
  for (const size of [1, 2, 3, 17, 4_000]) {
    const heads = headsOf(size)
    const { groups, of } = grouped(heads)
    const root = rootOfGroups(groups)
    for (const head of size > 100 ? heads.filter(() => random() < 0.02) : heads) {
      const path = pathFrom(groups, of(head.key), head.key)
      assert.ok(path.length < 64)
      assert.ok(provesHead({ head, path, root }))
      const forged: readonly StreamHead[] = [
        { ...head, events: head.events + 1 },
        { ...head, events: head.events - 1 },
        { ...head, digest: grownDigest(head.digest, NO_EVENTS) },
        { ...head, key: streamKey('run-acme.other') },
      ]
      for (const each of forged) assert.not(provesHead({ head: each, path, root }))
      assert.not(provesHead({ head, path: [...path, NO_EVENTS], root }))
      if (path.length > 0) assert.not(provesHead({ head, path: path.slice(1), root }))
      if (path.length > 0) assert.not(provesHead({ head, path: path.slice(0, -1), root }))
    }
    assert.throws(() => pathFrom(groups, of(streamKey('run-acme.x')), streamKey('run-acme.x')), RangeError)
  }
})

test('an inner node cannot be passed off as a head, nor a path be longer than a key (LOG-27)', () => {
  const heads = headsOf(2)
  const root = subtreeOf(heads, 0).hash
  const [head] = heads
  if (head === undefined) throw new Error('no head')
  const path = Array.from({ length: 257 }, () => NO_EVENTS)
  assert.not(provesHead({ head, path, root }))
  assert.not(provesHead({ head, path: [new Uint8Array(31)], root }))
})

test('a checkpoint names one root of streams, or none that counts', () => {
  const root = sha256('root')
  assert.equal(streamsRoot([streamsLine(root)]), root)
  assert.equal(streamsRoot(['other line', streamsLine(root)]), root)
  for (const lines of [
    [],
    ['streams/v1'],
    ['streams/v1 '],
    ['streams/v2 abc'],
    [`${streamsLine(root)} `],
    [streamsLine(root), streamsLine(root)],
  ])
    assert.is(streamsRoot(lines), undefined, JSON.stringify(lines))
})

test('a hash of another length than 32 bytes is no part of a tree, and a head with one is not shown (LOG-27)', () => {
  const head = headOf('run-acme.0', 2)
  for (const length of [0, 31, 33]) {
    const other = new Uint8Array(length)
    assert.throws(() => grownDigest(head.digest, other), RangeError)
    assert.throws(() => grownDigest(other, head.digest), RangeError)
    for (const odd of [
      { ...head, key: other },
      { ...head, digest: other },
    ]) {
      assert.throws(() => subtreeOf([odd], 0), RangeError)
      assert.is(provesHead({ head: odd, path: [], root: head.key }), false)
    }
  }
})

test.run()
