import { generateKeyPairSync } from 'node:crypto'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { formatCheckpoint } from '../../src/merkle/checkpoint.ts'
import { CompactTree } from '../../src/merkle/compact-tree.ts'
import { leafHash } from '../../src/merkle/hashes.ts'
import { noteSigner, noteVerifier } from '../../src/merkle/note-key.ts'
import { signNote } from '../../src/merkle/signed-note.ts'
import { readLogCheckpoint, withCheckpoints } from '../../src/verify/checkpoint-check.ts'
import { ExportTree } from '../../src/verify/export-tree.ts'
import type { PlacedRecord, SourceItem } from '../../src/verify/source-item.ts'

const test = suite('verify: a checkpoint that was kept')

const { privateKey } = generateKeyPairSync('ed25519')
const ORIGIN = 'ledger.example/acme'
const LOG = noteVerifier(ORIGIN, privateKey)

const headers = Array.from({ length: 5 }, (_, revision) => `{"revision":${revision}}`)
const records = headers.map((header, revision) => ({
  stream: 'run-acme.one',
  revision,
  header,
})) as never as SourceItem[]

function noteOf(size: number, { origin = ORIGIN, key = privateKey, name = ORIGIN, of = headers } = {}): string {
  const tree = new CompactTree()
  for (const header of of.slice(0, size)) tree.append(leafHash(header))
  return signNote(formatCheckpoint({ origin, size, root: tree.root() }), [noteSigner(name, key)])
}

/** Codes of what is found in pages of these items. */
async function found(items: readonly SourceItem[], ...notes: readonly string[]): Promise<readonly string[]> {
  const held = notes.map((note) => {
    const read = readLogCheckpoint(note, [LOG])
    if (!read.ok) throw new Error(read.message)
    return read
  })
  const pages = (async function* () {
    for (const item of items) yield [item]
  })()
  const codes: string[] = []
  for await (const page of withCheckpoints(pages, held))
    for (const item of page) if ('fault' in item) codes.push(item.fault.code)
  return codes
}

test('a checkpoint is read under the key of its log alone, and as what it is (A178)', () => {
  assert.is(readLogCheckpoint(noteOf(3), [LOG]).ok, true)
  const other = generateKeyPairSync('ed25519').privateKey
  for (const [note, message] of [
    ['no note', 'it is no signed note'],
    [noteOf(3, { key: other }), 'the key of this log did not sign it'],
    [noteOf(3).replace('acme\n3\n', 'acme\n4\n'), 'its signature does not fit'],
    [noteOf(3, { origin: 'ledger.example/beta' }), 'what was signed is no checkpoint of this log'],
    [signNote('hello\n', [noteSigner(ORIGIN, privateKey)]), 'what was signed is no checkpoint of this log'],
  ] as const)
    assert.equal(readLogCheckpoint(note, [LOG]), { ok: false, message })
})

test('a history is held against each checkpoint that was saved, at its own size (A178)', async () => {
  assert.equal(await found(records, noteOf(5), noteOf(3), noteOf(0)), [])
  const [first, second, ...rest] = records as [SourceItem, SourceItem, ...SourceItem[]]
  const altered = [first, { ...second, header: '{"revision":"1"}' } as never as SourceItem, ...rest]
  assert.equal(await found(altered, noteOf(5), noteOf(1)), ['checkpoint-mismatch'])
  assert.equal(await found(records.slice(0, 4), noteOf(5), noteOf(4)), ['log-behind-checkpoint'])
  assert.equal(await found([], noteOf(1)), ['log-behind-checkpoint'])
  assert.equal(await found([], noteOf(0, { of: [] })), [])
})

test('a recorded checkpoint, or another that was kept, of the size of one that was kept is the same text, in a store and in an export (A370)', async () => {
  const recording = (note: string): SourceItem => {
    const data = JSON.stringify({ v: 1, origin: ORIGIN, size: 3, root: `sha256:${'0'.repeat(64)}`, note })
    const header = '{"revision":0,"type":"CheckpointSigned"}'
    return { stream: 'ledger-acme', revision: 0, header, data } as never as SourceItem
  }
  const tree = new CompactTree()
  for (const header of headers.slice(0, 3)) tree.append(leafHash(header))
  const text = formatCheckpoint({ origin: ORIGIN, size: 3, root: tree.root(), extensions: ['streams/v1 other'] })
  const other = signNote(text, [noteSigner(ORIGIN, privateKey)])
  for (const [recorded, kept, codes] of [
    [noteOf(3), noteOf(3), []],
    [other, other, []],
    [other, noteOf(2), []],
    [other, noteOf(3), ['checkpoint-mismatch']],
    [noteOf(3), other, ['checkpoint-mismatch']],
  ] as const) {
    assert.equal(await found([...records, recording(recorded)], kept), codes)
    const read = readLogCheckpoint(kept, [LOG])
    const exported = new ExportTree(read.ok ? read.checkpoint : undefined)
    for (const record of [...records, recording(recorded)]) exported.take(record as PlacedRecord)
    assert.is(exported.isForked, codes.length > 0)
  }
  assert.equal(await found(records, noteOf(3), other), ['checkpoint-mismatch'])
})

test('what cannot be read, and what is in no log, is passed on and is no leaf (A178)', async () => {
  const unread: SourceItem = { fault: { code: 'unreadable', message: 'no record' } } as never
  const foreign = [
    { stream: 'run-beta.one', revision: 0, header: '{}' },
    { stream: 'run-acme.foreign', revision: 2, header: '{}' },
  ] as never as SourceItem[]
  assert.equal(await found([unread, ...foreign, ...records], noteOf(5)), ['unreadable'])
})

test.run()
