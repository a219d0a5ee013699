import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Header } from '../../schemas/header.ts'
import { valueStream } from '../../schemas/names.ts'
import { formatCheckpoint } from '../../src/merkle/checkpoint.ts'
import { CompactTree } from '../../src/merkle/compact-tree.ts'
import { leafHash } from '../../src/merkle/hashes.ts'
import { noteSigner, noteVerifier } from '../../src/merkle/note-key.ts'
import { signNote } from '../../src/merkle/signed-note.ts'
import { streamsLine } from '../../src/merkle/stream-tree.ts'
import { StreamTreeBuilder } from '../../src/merkle/stream-tree-builder.ts'
import { digestText } from '../../src/signing/digests.ts'
import { RecordedCheckpoints } from '../../src/verify/recorded-checkpoints.ts'
import { collect } from '../support/records.ts'
import { testLogs } from '../support/test-logs.ts'

const test = suite('verify: checkpoints on record')

/** The events of a log, and what is wrong with a checkpoint behind them that names these lines. */
async function judged(linesOf: (streams: StreamTreeBuilder) => readonly string[]): Promise<string | undefined> {
  await using at = await testLogs()
  await at.fill('acme', 'one', 4)
  await at.fill('acme', 'two', 2)
  const [tree, streams, recorded] = [new CompactTree(), new StreamTreeBuilder(), new RecordedCheckpoints({})]
  const records = await collect(at.store.readAll({ tenant: 'acme' }))
  for (const { header: text, data } of records) {
    const header = JSON.parse(text) as Header
    const leaf = leafHash(text)
    assert.is(recorded.take(header, data, digestText(leaf)), undefined)
    tree.append(leaf)
    streams.take(header.stream, leaf)
  }
  const origin = 'ledger.example/acme'
  const { size } = tree
  const text = formatCheckpoint({ origin, size, root: tree.root(), extensions: linesOf(streams) })
  const note = signNote(text, [noteSigner(origin, at.keys.checkpointKey)])
  const data = JSON.stringify({ v: 1, origin, size, root: digestText(tree.root()), note })
  const last = JSON.parse(records.at(-1)?.header ?? '') as Header
  const header = { ...last, stream: 'ledger-acme', revision: 0, type: 'CheckpointSigned' } as Header
  return recorded.take(header, data, digestText(leafHash('its own')))
}

test('a checkpoint that names other streams than the events before it make is found, whoever signed it (LOG-27)', async () => {
  assert.is(await judged((streams) => [streamsLine(streams.root())]), undefined)
  const less = await judged(() => [streamsLine(new StreamTreeBuilder().root())])
  assert.match(less ?? '', /the streams that it names are not those of the 14 events before it/)
})

test('a checkpoint without a line for its streams, as earlier releases signed it, is as good (LOG-27)', async () => {
  assert.is(await judged(() => []), undefined)
  assert.is(await judged(() => ['a line of somebody else']), undefined)
})

test('a checkpoint by the key that was succeeded in its log is found, whoever has it still (A213)', async () => {
  const { privateKey: successor } = generateKeyPairSync('ed25519')
  const early = await logOfTwoRuns({ successor })
  assert.is(early.judge({}, {}), undefined, 'announced, and not used yet: another process may not know of it')
  const { judge } = await logOfTwoRuns({ successor })
  assert.is(judge({}, {}, successor), undefined)
  assert.match(judge({}, {}) ?? '', /a key that was succeeded before it/)
})

interface Made {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
  readonly extensions?: readonly string[]
}

interface LogOfTwoRuns {
  /** Of which the events are. */
  readonly made: Made
  /** Of the first events alone. */
  readonly madeAt: (size: number) => Made
  readonly recorded: RecordedCheckpoints
  /** What is wrong with a checkpoint on record that names this in its body, and that in its note. */
  readonly judge: (body?: Partial<Made>, note?: Partial<Made> | string, key?: KeyObject) => string | undefined
  /** What is wrong with a time-stamp of this text, of the size and root of all events. */
  readonly stamp: (text: string) => string | undefined
}

/** The events of a log, taken, others `before` them; checkpoints come behind. Signatures are checked where `signed`. */
async function logOfTwoRuns({
  signed = true,
  before = [],
  successor,
}: {
  /** Announced as the next key of the logs. */
  readonly successor?: KeyObject
  readonly signed?: boolean
  readonly before?: readonly Partial<Header>[]
} = {}): Promise<LogOfTwoRuns> {
  await using at = await testLogs()
  await at.fill('acme', 'one', 4)
  await at.fill('acme', 'two', 2)
  const announced = [at.keys.checkpointKey, ...(successor ? [successor] : [])]
  const logKeys = () => announced.map((key) => noteVerifier('ledger.example', key))
  const [tree, recorded] = [new CompactTree(), new RecordedCheckpoints(signed ? { logKeys } : {})]
  const records = await collect(at.store.readAll({ tenant: 'acme' }))
  const last = JSON.parse(records.at(-1)?.header ?? '') as Header
  for (const shape of before) recorded.take({ ...last, ...shape }, '{}', digestText(leafHash('another event')))
  const roots: Uint8Array[] = []
  for (const { header: text, data } of records) {
    recorded.take(JSON.parse(text) as Header, data, digestText(leafHash(text)))
    tree.append(leafHash(text))
    roots.push(tree.root())
  }
  const madeAt = (size: number): Made => {
    return { origin: 'ledger.example/acme', size, root: roots[size - 1] ?? new Uint8Array(0) }
  }
  const made = madeAt(tree.size)
  const signedNote = (of: Made, key: KeyObject): string =>
    signNote(formatCheckpoint({ extensions: [], ...of }), [noteSigner(of.origin, key)])
  let revision = -1
  const take = (type: string, body: object): string | undefined => {
    revision += 1
    const header = { ...last, stream: 'ledger-acme', revision, type } as Header
    return recorded.take(header, JSON.stringify(body), digestText(leafHash(`${type} ${revision}`)))
  }
  return {
    made,
    madeAt,
    recorded,
    judge: (body = {}, note = {}, key = at.keys.checkpointKey) => {
      const { origin, size, root } = { ...made, ...body }
      const text = typeof note === 'string' ? note : signedNote({ ...made, ...note }, key)
      return take('CheckpointSigned', { v: 1, origin, size, root: digestText(root), note: text })
    },
    stamp: (text) => {
      const token = { authority: 'time.example', policy: '1.2.3', serial: '2a', reply: 'MAA=' }
      const { size, root } = made
      const body = { v: 1, size, root: digestText(root), text, time: '2026-07-14T09:30:00.000Z', ...token }
      return take('CheckpointTimestamped', body)
    },
  }
}

test('what was time-stamped is the very text of the recorded checkpoint of its size (A370, LOG-32)', async () => {
  const { made, judge, stamp } = await logOfTwoRuns()
  assert.is(judge(), undefined)
  const text = formatCheckpoint({ extensions: [], ...made })
  assert.is(stamp(text), undefined)
  const other = formatCheckpoint({ ...made, extensions: ['another line'] })
  assert.match(stamp(other) ?? '', /another checkpoint of 14 events than the recorded one/)
  for (const wrong of [
    formatCheckpoint({ extensions: [], ...made, origin: 'ledger.example/beta' }),
    'no checkpoint\n',
  ]) {
    const again = await logOfTwoRuns()
    assert.match(again.stamp(wrong) ?? '', /no checkpoint of the log, size and root that it names/)
  }
})

const OTHER_ROOT = new Uint8Array(32)

test('a checkpoint on record whose note says another origin, size or root than its body is found (A177)', async () => {
  assert.is((await logOfTwoRuns()).judge(), undefined)
  const wrong = /not of the log, size and root that it names/
  const beta = { origin: 'ledger.example/beta' }
  for (const [body, note] of [
    [{}, { size: 13 }],
    [{ size: 13 }, {}],
    [{}, { root: OTHER_ROOT }],
    [{ root: OTHER_ROOT }, {}],
    [{}, beta],
    [beta, {}],
    [beta, beta],
    [{}, 'no note'],
  ] as const)
    assert.match((await logOfTwoRuns()).judge(body, note) ?? '', wrong, JSON.stringify([body, note]))
})

test('a checkpoint on record that the key of its log did not sign is found, where there are keys (A177)', async () => {
  const { privateKey } = generateKeyPairSync('ed25519')
  assert.match(
    (await logOfTwoRuns()).judge({}, {}, privateKey) ?? '',
    /not signed by a key of the log that the ledger had announced/,
  )
  assert.is((await logOfTwoRuns({ signed: false })).judge({}, {}, privateKey), undefined)
})

test('a checkpoint on record covers more than the one before it, no more than came before it, and just that (A177)', async () => {
  const log = await logOfTwoRuns()
  const { size } = log.made
  const more = { size: size + 1 }
  assert.match(
    (await logOfTwoRuns()).judge(more, more) ?? '',
    new RegExp(`covers ${size + 1} events of the log, and only ${size} `),
  )
  const other = { root: OTHER_ROOT }
  assert.match((await logOfTwoRuns()).judge(other, other) ?? '', /are not those that come before it/)
  assert.is(log.judge(), undefined)
  assert.match(log.judge({}, { extensions: ['another line'] }) ?? '', /no more than the checkpoint before it/)
})

test('a checkpoint that is on record twice, byte for byte, is harmless, also behind a later one; two of one size that differ are found (A177, F310)', async () => {
  const log = await logOfTwoRuns()
  const early = log.madeAt(6)
  assert.is(log.judge(early, early), undefined)
  assert.is(log.judge(), undefined)
  assert.is(log.judge(), undefined)
  assert.is(log.judge(early, early), undefined)
  const line = { extensions: ['a line of another signer'] }
  assert.match(log.judge({}, line) ?? '', /no more than the checkpoint before it/)
  const smaller = await logOfTwoRuns()
  assert.is(smaller.judge(), undefined)
  assert.match(smaller.judge(early, early) ?? '', /no more than the checkpoint before it/)
})

test('what is wrong with a log is said once, and of a log that was abandoned nothing (A177)', async () => {
  const log = await logOfTwoRuns()
  const other = { root: OTHER_ROOT }
  assert.ok(log.judge(other, other))
  assert.is(log.judge(other, other), undefined)
  for (const [stream, isGivenUp] of [
    ['run-acme.one', true],
    [undefined, true],
    ['run-beta.one', false],
    [valueStream('acme', '0'.repeat(64)), false],
  ] as const) {
    const given = await logOfTwoRuns()
    given.recorded.giveUp(stream)
    assert.is(given.judge(other, other) === undefined, isGivenUp, String(stream))
  }
})

test('values and streams without a first event are no leaves of the log that a checkpoint on record covers (A177)', async () => {
  const value = { stream: valueStream('acme', '0'.repeat(64)), revision: 0 }
  const foreign = { stream: 'run-acme.foreign', revision: 3 }
  for (const shape of [value, foreign]) {
    const log = await logOfTwoRuns({ before: [shape] })
    assert.is(log.judge(), undefined, shape.stream)
  }
  // A leaf like any other, on the other hand, is missed by the checkpoint.
  const run = await logOfTwoRuns({ before: [{ stream: 'run-acme.more', revision: 0 }] })
  assert.match(run.judge() ?? '', /are not those that come before it/)
})

test.run()
