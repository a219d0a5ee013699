import { readFileSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { pack } from 'tar-stream'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { BundleVerdict } from '../../../src/verify/bundle/verdict.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { unpackTar, writeBundle } from '../../support/bundles.ts'
import { rounds } from '../../support/rounds.ts'
import { type TempFolder, tempFolder } from '../../support/temp-folder.ts'
import { testLogs } from '../../support/test-logs.ts'

type Files = ReadonlyMap<string, Buffer>

interface Context {
  folder: TempFolder
  /** The whole tar, and its files. */
  tar: Buffer
  files: Files
  /** The same of another ledger with the same run. */
  foreign: Files
  key: string
  /** A checkpoint from before the last handoffs. */
  earlier: string
}

const test = suite<Context>('export: spoiled bundles')

test.before(async (context) => {
  context.folder = tempFolder()
  const make = async (name: string): Promise<{ tar: Buffer; key: string; earlier: string }> => {
    await using home = await testLogs()
    await home.fill('acme', 'one', 4)
    await home.logs.publish()
    const earlier = home.logs.checkpoint('acme')
    await home.fill('acme', 'two', 2)
    await home.fill('acme', 'three', 3)
    await writeBundle(home.ledger, context.folder.file(name), { query: { run: 'one' } })
    const key = home.logs.verifierKey('acme')
    return { tar: readFileSync(context.folder.file(name)), key, earlier: earlier.ok ? earlier.value : '' }
  }
  const own = await make('own.tar')
  Object.assign(context, own)
  context.files = await unpackTar(own.tar)
  context.foreign = await unpackTar((await make('foreign.tar')).tar)
})
test.after(({ folder }) => folder[Symbol.dispose]())

interface Entry {
  readonly name: string
  readonly type?: 'file' | 'symlink' | 'link' | 'directory' | 'fifo'
  readonly linkname?: string
  readonly content?: Buffer
}

async function packed(entries: Iterable<Entry>): Promise<Buffer> {
  const writing = pack()
  for (const { content = Buffer.alloc(0), ...header } of entries)
    writing.entry({ mtime: new Date(0), ...header }, content)
  writing.finalize()
  const chunks: Buffer[] = []
  for await (const chunk of writing) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

function judged({ folder, key }: Context, tar: Buffer): BundleVerdict {
  const file = folder.file('spoiled.tar')
  writeFileSync(file, tar)
  return verifyBundle(file, { key })
}

const entriesOf = (files: Files): Entry[] => [...files].map(([name, content]) => ({ name, content }))
const withFile = (files: Files, name: string, content: Buffer): Files => new Map(files).set(name, content)
const linesOf = (files: Files, name: string): string[] => (files.get(name) ?? '').toString().split('\n').slice(0, -1)
const textOf = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(''))

function mustFail(found: BundleVerdict, what: string): void {
  assert.ok(['TAMPERED', 'INCOMPLETE'].includes(found.verdict), `${what}: ${JSON.stringify(found)}`)
  assert.ok(found.faults.length > 0 && found.faults.every(({ message }) => message !== ''), what)
}

test('a bundle that was packed again by another tool still verifies', async (context) => {
  const found = judged(context, await packed(entriesOf(context.files)))
  assert.equal(found.faults, [])
})

test('one changed byte anywhere in the archive is seen', (context) => {
  fc.assert(
    fc.property(fc.nat(context.tar.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
      const tar = Buffer.from(context.tar)
      tar[at] = (tar[at] ?? 0) ^ change
      mustFail(judged(context, tar), `byte ${at}`)
    }),
    { numRuns: rounds(40, 150) },
  )
})

test('one changed byte in any file is seen, and the archive around it is sound', async (context) => {
  for (const [name, content] of context.files) {
    for (const at of [0, Math.floor(content.length / 2), content.length - 1]) {
      const changed = Buffer.from(content)
      changed[at] = (changed[at] ?? 0) ^ 1
      mustFail(judged(context, await packed(entriesOf(withFile(context.files, name, changed)))), `${name} ${at}`)
    }
  }
})

test('an archive that was cut at any length is INCOMPLETE or worse (F30)', (context) => {
  fc.assert(
    fc.property(fc.nat(context.tar.length - 1), (length) => {
      mustFail(judged(context, context.tar.subarray(0, length)), `cut at ${length}`)
    }),
    { numRuns: rounds(40, 150) },
  )
})

test('a file that is gone is INCOMPLETE, one that does not belong is TAMPERED, and each is named', async (context) => {
  for (const name of context.files.keys()) {
    const files = new Map(context.files)
    files.delete(name)
    const found = judged(context, await packed(entriesOf(files)))
    assert.ok(found.verdict !== 'VERIFIED')
    assert.ok(
      found.faults.some(({ message }) => message.includes(name)),
      name,
    )
  }
  const more = judged(
    context,
    await packed([...entriesOf(context.files), { name: 'more.txt', content: Buffer.from('x') }]),
  )
  assert.is(more.verdict, 'TAMPERED')
})

test('an event that was dropped, doubled, swapped, added or altered is named, whatever the digests say', async (context) => {
  const lines = linesOf(context.files, 'events.jsonl')
  const others = linesOf(context.foreign, 'events.jsonl')
  const [a = '', b = ''] = [lines[2], lines[3]]
  const spoiled: Record<string, readonly string[]> = {
    dropped: lines.filter((_, index) => index !== 2),
    'dropped at the end': lines.filter((_, index) => index !== lines.length - 2),
    doubled: [...lines.slice(0, 3), a, ...lines.slice(3)],
    swapped: [...lines.slice(0, 2), b, a, ...lines.slice(4)],
    added: [...lines.slice(0, 2), others[2] ?? '', ...lines.slice(2)],
    'altered body': lines.map((line) => line.replace('step 2', 'step 7')),
    'altered header': lines.map((line, index) => (index === 2 ? line.replace('"tester"', '"nobody"') : line)),
    'without its trailer': lines.slice(0, -1),
  }
  for (const [what, changed] of Object.entries(spoiled)) {
    const found = judged(context, await packed(entriesOf(withFile(context.files, 'events.jsonl', textOf(changed)))))
    mustFail(found, what)
    const named = found.faults.filter(({ code }) => code !== 'file-digest')
    assert.ok(
      named.some(({ message }) => /run-acme\.one|trailer/.test(message)),
      `${what}: ${JSON.stringify(named)}`,
    )
  }
})

test('a log from which another run was left out, or to which one was added, does not make the signed root (A30, LOG-15)', async (context) => {
  const lines = linesOf(context.files, 'log.jsonl')
  for (const changed of [lines.filter((line) => !line.includes('run-acme.two')), [...lines, lines[0] ?? '']]) {
    const found = judged(context, await packed(entriesOf(withFile(context.files, 'log.jsonl', textOf(changed)))))
    mustFail(found, 'log')
    assert.ok(found.faults.some(({ code }) => code === 'root' || code === 'log-behind-checkpoint'))
  }
})

test('the checkpoint, manifest, key or whole bundle of another log is TAMPERED under the key of this one', async (context) => {
  for (const name of ['checkpoint', 'manifest.json', 'manifest.dsse.json', 'log.jsonl', 'events.jsonl']) {
    const files = withFile(context.files, name, context.foreign.get(name) ?? Buffer.alloc(0))
    assert.is(judged(context, await packed(entriesOf(files))).verdict, 'TAMPERED', name)
  }
  assert.is(judged(context, await packed(entriesOf(context.foreign))).verdict, 'TAMPERED')
})

test('an earlier checkpoint is held against the log: ours fits, what is none of this log says nothing (A31, LOG-95, A567)', (context) => {
  const file = context.folder.file('own.tar')
  const { key, earlier, foreign } = context
  assert.is(verifyBundle(file, { key, checkpoint: earlier }).verdict, 'VERIFIED')
  for (const checkpoint of [foreign.get('checkpoint')?.toString() ?? '', '', 'no checkpoint'])
    assert.is(verifyBundle(file, { key, checkpoint }).verdict, 'UNVERIFIABLE')
})

test('a key file in which a bit was flipped is TAMPERED, whether the key is given, looked up by it, or absent (LOG-95, A567)', async (context) => {
  const flipped = Buffer.from(context.files.get('verifier-key.txt') ?? '')
  flipped[20] = (flipped[20] ?? 0) ^ 1
  const bundle = await packed(entriesOf(withFile(context.files, 'verifier-key.txt', flipped)))
  for (const key of [context.key, () => undefined, undefined])
    assert.is(verifyBundle(bundle, key === undefined ? {} : { key }).verdict, 'TAMPERED')
})

test('links, paths that climb, doubles, odd types and sizes that lie are refused; nothing is unpacked (A46)', async (context) => {
  const events = context.files.get('events.jsonl') ?? Buffer.alloc(0)
  const hostile: Entry[] = [
    { name: '../events.jsonl', content: events },
    { name: '/tmp/events.jsonl', content: events },
    { name: 'proofs/../../x.tlog-proof', content: events },
    { name: 'events.jsonl', type: 'symlink', linkname: '/etc/passwd' },
    { name: 'events.jsonl', type: 'link', linkname: 'checkpoint' },
    { name: 'proofs', type: 'directory' },
    { name: 'checkpoint', type: 'fifo' },
    { name: 'events.jsonl', content: events },
    { name: `proofs/${'a'.repeat(200)}.tlog-proof`, content: events },
    { name: 'a\u001b[2Jb', content: events },
  ]
  for (const entry of hostile) {
    const found = judged(context, await packed([...entriesOf(context.files), entry]))
    assert.is(found.verdict, 'TAMPERED', entry.name)
    assert.not.ok(JSON.stringify(found.faults).includes('\u001b'))
  }
  const tar = Buffer.from(context.tar)
  tar.write('77777777777 ', 124, 'latin1')
  mustFail(judged(context, tar), 'a size beyond the end')
  tar.writeUInt8(0x80, 124)
  mustFail(judged(context, tar), 'a size in base 256')
})

test('random bytes, an empty file and files that are no JSON never make it throw', async (context) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 3_000 }), (bytes) => {
      mustFail(judged(context, Buffer.from(bytes)), 'random')
    }),
    { numRuns: rounds(15, 50) },
  )
  for (const content of [
    '',
    'null',
    '[]',
    '{}',
    '{"signatures":[null]}',
    '\ufeff{}',
    '{"payload":1,"signatures":[{}]}',
  ]) {
    for (const name of ['manifest.json', 'manifest.dsse.json', 'log.jsonl', 'events.jsonl', 'checkpoint']) {
      const files = withFile(context.files, name, Buffer.from(`${content}\n`))
      mustFail(judged(context, await packed(entriesOf(files))), `${name} ${content}`)
    }
  }
})

test.run()
