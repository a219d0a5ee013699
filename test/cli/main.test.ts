import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { COMMANDS } from '../../src/cli/help.ts'
import { runCli } from '../support/cli.ts'
import { tempFolder } from '../support/temp-folder.ts'

const main = suite('cli: the command line as a whole')
const folder = tempFolder()
main.after(() => folder[Symbol.dispose]())
const cwd = folder.path

const oneLine = /^countersign: [^\n]+\n$/

main('help names every command, and each command has help of its own', async () => {
  const { code, stdout } = await runCli(['help'], { cwd })
  assert.is(code, 0)
  for (const [name, { usage, about }] of Object.entries(COMMANDS)) {
    assert.ok(stdout.includes(`  ${name} `), name)
    assert.ok(stdout.includes(about), name)
    assert.ok(usage.startsWith(name))
  }
  assert.ok((await runCli(['verify', '--help'], { cwd })).stdout.startsWith('usage: countersign verify'))
})

main('what is not known is refused with one line and exit code 2, never ignored', async () => {
  const wrong = [
    ['bogus'],
    ['help', 'bogus'],
    ['serve', '--nope'],
    ['serve', '--port', 'http'],
    ['serve', '--port', '70000'],
    ['serve', 'extra'],
    ['token'],
    ['token', '--scope', 'runs:fly'],
    ['token', '--scope', 'admin', '--ttl', '2 weeks'],
    ['token', '--scope', 'admin', '--tenant', 'system'],
    ['keys'],
    ['keys', 'sell'],
    ['validate', '--policy', 'no-such-file'],
    ['verify', 'no-such-store'],
    ['verify', '--keys', 'no-such-file', '.'],
    ['replay'],
    ['replay', 'no spaces'],
    ['import', 'no-such-file', '--format', 'openai'],
    ['import', '-', '--format', 'other'],
    ['import', '-', '--format', 'openai', '--url', 'http://127.0.0.1:1'],
    ['rebuild', '--store', 'mysql://x'],
    ['version', '--long'],
  ]
  const results = await Promise.all(wrong.map(async (args) => ({ args, ...(await runCli(args, { cwd })) })))
  for (const { args, code, stdout, stderr } of results) {
    assert.is(code, 2, args.join(' '))
    assert.is(stdout, '', args.join(' '))
    assert.match(stderr, oneLine)
    assert.not.match(stderr, /\bat .*:\d+:\d+/)
  }
})

main('a setting of the environment that cannot be used is named by its variable', async () => {
  const { code, stderr } = await runCli(['serve'], { cwd, env: { COUNTERSIGN_PORT: 'many' } })
  assert.is(code, 2)
  assert.match(stderr, /COUNTERSIGN_PORT/)
})

main('a reader that has seen enough ends the command without an error', async () => {
  const { code, stdout } = await runCli(['version'], { cwd })
  assert.is(code, 0)
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
})

main.run()
