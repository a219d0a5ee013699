import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Header } from '../../schemas/header.ts'
import { formatCheckpoint } from '../../src/merkle/checkpoint.ts'
import { CompactTree } from '../../src/merkle/compact-tree.ts'
import { leafHash } from '../../src/merkle/hashes.ts'
import { noteSigner } from '../../src/merkle/note-key.ts'
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

test.run()
