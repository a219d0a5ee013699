import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readKeysFromText } from '../../src/signing/key-file.ts'
import { textLines } from '../support/forged-bundle.ts'
import { checkpointOf, headerOf } from '../support/forgery.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { ROOT } from '../support/source-root.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'

interface Context {
  /** A data folder as version 0.1.0 left it, and beside it what it exported. */
  folder: TempFolder
  key: string
}

const test = suite<Context>('cli: what version 0.1.0 wrote')
const VECTORS = join(ROOT, 'test/vectors/0.1.0')
const RUNS = ['order-8', 'trip-1', 'report-1', 'chat-1']

test.before.each((context) => {
  context.folder = tempFolder()
  const place = (name: string): string => context.folder.file(name)
  for (const name of ['store.db', 'order-8.tar', 'tenant.jsonl'])
    writeFileSync(place(name), gunzipSync(readFileSync(join(VECTORS, `${name}.gz`))))
  for (const name of ['order-8.csv', 'order-8.jsonl', 'checkpoint.txt']) copyFileSync(join(VECTORS, name), place(name))
  copyFileSync(join(VECTORS, 'store.db.checkpoints.json'), place('store.db.checkpoints'))
  writeFileSync(place('keys.json'), readFileSync(join(VECTORS, 'test-keys.json')), { mode: 0o600 })
  context.key = readFileSync(join(VECTORS, 'verifier-key.txt'), 'utf8').trim()
})
test.after.each(({ folder }) => folder[Symbol.dispose]())

async function verdict(args: readonly string[]): Promise<readonly [number | null, string, string]> {
  const { code, stdout, stderr } = await runInProcess(['verify', ...args, '--json'])
  assert.is(stderr, '')
  const { verdict: word, faults } = JSON.parse(stdout)
  return [code, word, [...new Set(faults.map((fault: { code: string }) => fault.code))].join()]
}

test('its store verifies, each of its runs replays, and it goes on under the same checkpoints (A91)', async ({
  folder,
}) => {
  const data = ['--data', folder.path]
  assert.equal(await verdict(data), [0, 'VERIFIED', ''])
  for (const run of RUNS) {
    const { code, stdout } = await runInProcess(['replay', run, ...data])
    assert.equal([code, stdout.includes('VERIFIED')], [0, true], stdout)
  }
  const chat = { id: 'chat-2', model: 'm', messages: [{ role: 'user', content: 'And now?' }] }
  writeFileSync(folder.file('chats.jsonl'), `${JSON.stringify(chat)}\n`)
  const imported = await runInProcess(['import', folder.file('chats.jsonl'), '--format', 'openai', ...data])
  assert.is(imported.code, 0, imported.stderr)
  assert.equal(await verdict(data), [0, 'VERIFIED', ''])
  assert.equal(await verdict([...data, '--checkpoint', folder.file('checkpoint.txt')]), [0, 'VERIFIED', ''])
  const out = folder.file('now.tar')
  assert.is((await runInProcess(['export', '--bundle', out, '--run', 'trip-1', '--whole-log', ...data])).code, 0)
  assert.equal(await verdict([out, ...data, '--checkpoint', folder.file('checkpoint.txt')]), [0, 'VERIFIED', ''])
})

test('its bundle verifies under the key of the log, and is held against later checkpoints (A91)', async ({
  folder,
  key,
}) => {
  const tar = folder.file('order-8.tar')
  assert.equal(await verdict([tar, '--key', key]), [0, 'VERIFIED', ''])
  assert.equal(await verdict([tar, '--data', folder.path]), [0, 'VERIFIED', ''])
  const later = await verdict([tar, '--key', key, '--checkpoint', folder.file('checkpoint.txt')])
  assert.equal(later, [3, 'INCOMPLETE', 'log-behind-checkpoint'])
  const nobody = await verdict([tar, '--known-keys', folder.file('none')])
  assert.equal(nobody, [3, 'CONSISTENT, NOT AUTHENTICATED', 'not-authenticated'])
  const bytes = readFileSync(tar)
  bytes[bytes.indexOf('Atlantis')] = 0x42
  writeFileSync(folder.file('changed.tar'), bytes)
  assert.equal((await verdict([folder.file('changed.tar'), '--key', key])).slice(0, 2), [1, 'TAMPERED'])
})

test('its exports, whose trailers are unsigned, are sound and not proved complete but by a checkpoint of their size (A91)', async ({
  folder,
  key,
}) => {
  const ring = ['--keys', folder.file('keys.json')]
  const all = folder.file('tenant.jsonl')
  assert.equal(await verdict([all, ...ring]), [3, 'INCOMPLETE', 'completeness-unproven'])
  assert.equal(await verdict([folder.file('order-8.jsonl'), ...ring]), [3, 'INCOMPLETE', 'completeness-unproven'])
  assert.equal(await verdict([folder.file('order-8.csv'), ...ring]), [3, 'UNVERIFIABLE', 'view'])
  const { checkpointKey } = readKeysFromText(readFileSync(join(VECTORS, 'test-keys.json'), 'utf8'))
  const lines = textLines(new Map([['all', readFileSync(all)]]), 'all').slice(0, -1)
  const note = checkpointOf(lines.map(headerOf), { name: key.split('+')[0] ?? '', key: checkpointKey })
  writeFileSync(folder.file('same.txt'), note)
  assert.equal(await verdict([all, ...ring, '--checkpoint', folder.file('same.txt')]), [0, 'VERIFIED', ''])
  writeFileSync(folder.file('cut.jsonl'), lines.slice(0, -3).join(''))
  assert.is((await verdict([folder.file('cut.jsonl'), ...ring]))[0], 3)
  const altered = readFileSync(all, 'utf8').replace('"city":"Oslo"', '"city":"Rome"')
  writeFileSync(folder.file('altered.jsonl'), altered)
  assert.equal((await verdict([folder.file('altered.jsonl'), ...ring])).slice(0, 2), [1, 'TAMPERED'])
})

test.run()
