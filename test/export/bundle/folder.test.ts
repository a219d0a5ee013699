/** @module A bundle that somebody unpacked: what lies in its folder is held to the same as an archive. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { unpackTar, writeBundle } from '../../support/bundles.ts'
import { type Files, type LogKey, predicateOf, signedAgain } from '../../support/forgery.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { testLogs } from '../../support/test-logs.ts'

interface Context {
  files: Files
  key: string
  log: LogKey
}

const test = suite<Context>('export: a bundle in a folder')

test.before(async (context) => {
  using folder = tempFolder()
  await using home = await testLogs()
  await home.fill('acme', 'one', 2)
  await writeBundle(home.ledger, folder.file('b.tar'), { query: { run: 'one' } })
  context.files = await unpackTar(readFileSync(folder.file('b.tar')))
  context.key = home.logs.verifierKey('acme')
  context.log = { name: context.key.slice(0, context.key.indexOf('+')), key: home.keys.checkpointKey }
})

/** What is found in the folder of the bundle after `change`. */
function found({ files, key }: Context, change: (path: string) => void): readonly [string, ...string[]] {
  using folder = tempFolder()
  for (const [name, content] of files) {
    mkdirSync(dirname(folder.file(name)), { recursive: true })
    writeFileSync(folder.file(name), content)
  }
  change(folder.path)
  const { verdict, faults } = verifyBundle(folder.path, { key })
  return [verdict, ...new Set(faults.map(({ code }) => code))]
}

test('nothing was touched: VERIFIED, as in its archive', (context) => {
  assert.equal(
    found(context, () => undefined),
    ['VERIFIED'],
  )
})

test('a file, a folder or a link that does not belong there is TAMPERED, however it is called (A75)', (context) => {
  const [proof = ''] = [...context.files.keys()].filter((name) => name.startsWith('proofs/'))
  const changes: Readonly<Record<string, (path: string) => void>> = {
    'a foreign file': (path) => writeFileSync(join(path, 'notes.txt'), 'x'),
    'a foreign proof': (path) => writeFileSync(join(path, 'proofs', 'x'), 'x'),
    'a folder of another name': (path) => mkdirSync(join(path, 'more')),
    'a file called as the folder': (path) => {
      rmSync(join(path, 'proofs'), { recursive: true })
      writeFileSync(join(path, 'proofs'), 'x')
    },
    'a link in place of a file': (path) => {
      rmSync(join(path, proof))
      symlinkSync('../README.txt', join(path, proof))
    },
    'a folder in place of a file': (path) => {
      rmSync(join(path, proof))
      mkdirSync(join(path, proof))
    },
  }
  for (const [what, change] of Object.entries(changes)) {
    const [verdict, ...codes] = found(context, change)
    assert.is(verdict, 'TAMPERED', what)
    assert.ok(codes.includes('foreign-file'), `${what}: ${codes}`)
  }
})

test('a manifest of another tenant, size or root than the checkpoint, signed by the holder of the key, is TAMPERED (A78)', (context) => {
  const predicate = predicateOf(context.files)
  const { checkpoint } = predicate
  for (const other of [
    { tenant: 'other' },
    { checkpoint: { ...checkpoint, size: checkpoint.size + 1 } },
    { checkpoint: { ...checkpoint, root: `sha256:${'0'.repeat(64)}` } },
  ]) {
    const files = signedAgain(context.files, context.log, { ...predicate, ...other } as never)
    const [verdict, ...codes] = found({ ...context, files }, () => undefined)
    assert.is(verdict, 'TAMPERED')
    assert.ok(codes.includes('other-checkpoint'), `${JSON.stringify(other)}: ${codes}`)
  }
})

test('a verdict says what it is about: the period, and the checkpoint that was kept', (context) => {
  using folder = tempFolder()
  for (const [name, content] of context.files) {
    mkdirSync(dirname(folder.file(name)), { recursive: true })
    writeFileSync(folder.file(name), content)
  }
  const checkpoint = context.files.get('checkpoint')?.toString() ?? ''
  const { verdict, about } = verifyBundle(folder.path, { key: context.key, checkpoint })
  const { kept, period } = about as unknown as { kept: number; period: readonly string[] }
  assert.equal([verdict, kept], ['VERIFIED', about?.size])
  assert.equal(period?.length, 2)
  for (const time of period) assert.match(time, /^\d{4}-\d\d-\d\dT/)
})

test('no file stays open, whatever was found', (context) => {
  if (!existsSync('/proc/self/fd')) return
  const before = readdirSync('/proc/self/fd').length
  found(context, () => undefined)
  found(context, (path) => writeFileSync(join(path, 'checkpoint'), 'x'))
  using folder = tempFolder()
  writeFileSync(folder.file('b.tar'), 'x')
  assert.is(verifyBundle(folder.file('b.tar'), { key: context.key }).verdict, 'INCOMPLETE')
  assert.is(readdirSync('/proc/self/fd').length, before)
})

test.run()
