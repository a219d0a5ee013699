import { readdirSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runInProcess } from '../support/in-process-command.ts'
import { servedLedger } from '../support/served-ledger.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: exit codes by the documented table')

const ID = '0190f0f0-0000-7000-8000-000000000000'

/** What is asked for is not there: 3, over the store as at a running ledger. */
const NOT_FOUND: readonly (readonly string[])[] = [
  ['runs', 'show', 'nope'],
  ['runs', 'forks', 'nope'],
  ['runs', 'rollback', 'nope', '--reason', 'x'],
  ['replay', 'nope'],
  ['report', 'nope'],
  ['proof', ID],
  ['export', '--run', 'nope'],
  ['keys', 'disclose', 'nope'],
  ['signals', 'send', 'nope', 'x'],
  ['calls', 'resolve', 'nope', ID, '--executed', '--reason', 'x'],
]

test('what is not found ends with 3, a wrong question with 2, whichever way the ledger is asked (LOG-18)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const store = ['--tenant', 'acme', '--data', data]
  {
    await using served = await servedLedger(data, 'acme')
    for (const args of NOT_FOUND) {
      const { code, stdout, stderr } = await runInProcess([...args, ...served.there])
      assert.equal([args.join(' '), code], [args.join(' '), 3], stderr + stdout)
    }
    const wrong = await runInProcess(['export', '--since', 'soon', ...served.there])
    assert.is(wrong.code, 2, wrong.stderr)
  }
  for (const args of NOT_FOUND) {
    const { code, stderr } = await runInProcess([...args, ...store])
    assert.equal([args.join(' '), code], [args.join(' '), 3], stderr)
  }
})

/** Each needs a ledger that is there, and founds none. */
const WRITING: readonly (readonly string[])[] = [
  ['rebuild'],
  ['token', 'revoke', 'x'],
  ['runs', 'rollback', 'r', '--reason', 'x'],
  ['signals', 'send', 'r', 'x'],
  ['holds', 'place', '--run', 'r', '--reason', 'x', '--as', 'a'],
  ['reviews', 'sign', 'events', '--as-of', '1', '--findings', 'x', '--as', 'a'],
  ['export'],
  ['audit', 'runs', '--export', 'rows.csv'],
  ['keys', 'disclose', 'r'],
]

test('a folder without a ledger ends with 2 and is left as it was by every command that needs one', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  for (const args of WRITING) {
    const { code, stdout, stderr } = await runInProcess([...args, '--data', 'none'], { cwd })
    assert.equal([args.join(' '), code, stdout], [args.join(' '), 2, ''], stderr)
    assert.match(stderr, /there is no ledger in this store yet: name the store with --data or --store/)
  }
  assert.equal(readdirSync(cwd), [])
})

test('a checkpoint that cannot be read is wrong usage, one that is none proves nothing, and each is named (LOG-18)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  await (await servedLedger(data, 'acme'))[Symbol.asyncDispose]()
  const [none, text] = [folder.file('none'), folder.file('text')]
  writeFileSync(text, 'root:x:0:0:root:/root:/bin/sh\n')
  for (const [path, expected] of [
    [none, 2],
    [folder.path, 2],
    [text, 3],
  ] as const) {
    for (const args of [
      ['verify', '--data', data, '--checkpoint', path],
      ['consistency', path, path, '--data', data],
    ]) {
      const { code, stdout, stderr } = await runInProcess(args)
      assert.equal([args[0], code, stdout], [args[0], expected, ''], stderr)
      assert.match(stderr, new RegExp(`^countersign: ${path} `))
    }
  }
})

test.run()
