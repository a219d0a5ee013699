import { closeSync, existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { CliCommand } from '../../src/cli/cli-command.ts'
import { createProgram } from '../../src/cli/program.ts'
import { BIN, cleanEnv, countersign, endOf, spawnTracked } from '../support/command-line.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { tempFolder } from '../support/temp-folder.ts'

const main = suite('cli: the command line as a whole')
const folder = tempFolder()
main.after(() => folder[Symbol.dispose]())
const cwd = folder.path

const oneLine = /^countersign: [^\n]+\n$/
const HELP_COLUMNS = 80
/** Of Linux: what is written to it finds no room. */
const FULL_DISK = '/dev/full'

function commandsBelow(command: CliCommand): readonly CliCommand[] {
  const below = command.commands as unknown as readonly CliCommand[]
  return below.flatMap((each) => [each, ...commandsBelow(each)])
}
const COMMANDS = commandsBelow(createProgram())
const words = (text: string): string => text.replace(/\s+/g, ' ')

main('the help of every command is whole: usage, what it does, every argument and flag, in 80 columns', async () => {
  assert.ok(COMMANDS.length > 40)
  for (const command of COMMANDS) {
    const path = command.path.split(' ')

    const { code, stdout, stderr } = await runInProcess([...path, '--help'])
    assert.equal([code, stderr], [0, ''], command.path)
    assert.is((await runInProcess(['help', ...path])).stdout, stdout, command.path)
    assert.ok(stdout.startsWith(`Usage: countersign ${command.path}`), command.path)
    const shown = words(stdout)
    for (const { flags, description } of command.options) {
      assert.ok(shown.includes(flags), `${command.path} ${flags}`)
      assert.ok(description.length > 3, `${command.path} ${flags} says what it does`)
      for (const word of description.split(/\s+/)) assert.ok(shown.includes(word), `${command.path}: ${word}`)
    }
    for (const { description } of command.registeredArguments) assert.ok(description.length > 3, command.path)
    assert.ok(shown.includes(words(command.description())), command.path)
    for (const line of stdout.split('\n')) assert.ok(line.length <= HELP_COLUMNS, `${command.path}: ${line}`)
  }
})

main('help names every command, and so does the program alone', async () => {
  const { code, stdout } = await countersign(['help'], { cwd })
  assert.is(code, 0)
  for (const { path } of COMMANDS) if (!path.includes(' ')) assert.match(stdout, new RegExp(`^ {2}${path} `, 'm'))
  for (const line of stdout.split('\n')) assert.ok(line.length <= HELP_COLUMNS, line)
  for (const args of [[], ['--help'], ['-h']]) assert.is((await runInProcess(args, { cwd })).stdout, stdout)
})

main(
  'a command whose error nobody can read still ends with the exit code that says it, never with that of another verdict (F106)',
  async () => {
    for (const [args, code] of [
      [['verify', join(cwd, 'no-such-store')], 2],
      [['serve', '--nope'], 2],
    ] as const) {
      const child = spawnTracked([process.execPath, BIN, ...args], {
        cwd,
        env: cleanEnv(),
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      // Before it says anything: its line is broken then.
      child.stderr?.destroy()
      assert.is((await endOf(child)).code, code, args.join(' '))
    }
  },
)

main(
  'a command whose output finds no room says so in one line, with an exit code that is no verdict (F283)',
  async () => {
    if (!existsSync(FULL_DISK)) return
    const full = openSync(FULL_DISK, 'w')
    for (const [args, code] of [
      [['--help'], 1],
      [['verify', '--help'], 3],
    ] as const) {
      const child = spawnTracked([process.execPath, BIN, ...args], {
        cwd,
        env: cleanEnv(),
        stdio: ['ignore', full, 'pipe'],
      })
      let stderr = ''
      child.stderr?.on('data', (part) => {
        stderr += String(part)
      })
      assert.is((await endOf(child)).code, code, args.join(' '))
      assert.is(stderr, 'countersign: the disk is full: make room and try again\n')
    }
    closeSync(full)
  },
)

main('what is not known is refused with one line and exit code 2, never ignored', async () => {
  const wrong = [
    ['bogus'],
    ['help', 'bogus'],
    ['help', 'keys', 'bogus'],
    ['--bogus'],
    ['serve', '--nope'],
    ['serve', '--port', 'http'],
    ['serve', '--port', '70000'],
    ['serve', 'extra'],
    ['token'],
    ['token', '--scope', 'runs:fly'],
    ['token', '--scope', 'admin', '--ttl', '2 weeks'],
    ['token', '--scope', 'admin metrics:read', '--ttl', '2d'],
    ['token', '--scope', 'metrics:read', '--ttl', '367d'],
    ['token', '--scope', 'admin', '--tenant', 'system'],
    ['token', '--scope', '--json'],
    ['keys'],
    ['keys', 'sell'],
    ['keys', 'list', 'extra'],
    ['keys', 'list', '--reset'],
    ['keys', 'disclose'],
    ['keys', 'pin'],
    ['store'],
    ['store', 'init'],
    ['projections', 'diff', '--reset', '--store', 'esdb://127.0.0.1:1'],
    ['validate', '--policy', 'no-such-file'],
    ['verify', 'no-such-store'],
    ['verify', '--keys', 'no-such-file', '.'],
    ['verify', '--key', 'a', '--key', 'b'],
    ['verify', '--json', '--json'],
    ['replay'],
    ['replay', 'no spaces'],
    ['runs'],
    ['audit', 'everything'],
    ['audit', 'spend', '--tool', 'x'],
    ['export', '--format', 'xml'],
    ['export', '--json'],
    ['import', 'no-such-file', '--format', 'openai'],
    ['import', '-', '--format', 'other'],
    ['import', '-'],
    ['import', '-', '--format', 'openai', '--url', 'http://127.0.0.1:1'],
    ['rebuild', '--store', 'mysql://x'],
    ['version', '--long'],
    ['completions', 'tcsh'],
  ]
  for (const args of wrong) {
    const { code, stdout, stderr } = await runInProcess(args)
    assert.is(code, 2, args.join(' '))
    assert.is(stdout, '', args.join(' '))
    assert.match(stderr, oneLine, args.join(' '))
    assert.not.match(stderr, /\bat .*:\d+:\d+/)
  }
})

main('the real program ends the same way: one line, its exit code, and nothing on standard output', async () => {
  const { code, stdout, stderr } = await countersign(['serve', '--nope'], { cwd })
  assert.equal([code, stdout], [2, ''])
  assert.match(stderr, oneLine)
})

main('a misspelt command or flag is named with the one that was meant, and with the help that says more', async () => {
  const said: readonly (readonly [string, ...string[]])[] = [
    ["unknown command 'exprt' (Did you mean export?) (countersign help says more)", 'exprt'],
    ["unknown option '--scpoe' (Did you mean --scope?) (countersign help token says more)", 'token', '--scpoe', 'x'],
    ["unknown option '--rest' (Did you mean --reset?)", 'projections', 'install', '--rest'],
    [
      '--json is there twice: say it once, lists with commas (countersign help verify says more)',
      'verify',
      '--json',
      '--json',
    ],
    ['the value of --scope is missing (or write --scope=--json)', 'token', '--scope', '--json'],
    [
      'keys: "lst" is unknown; it is followed by one of: create, list, rotate, wrap, unwrap, disclose, pin',
      'keys',
      'lst',
    ],
    ['Allowed choices are jsonl, csv, cloudevents', 'export', '--format', 'xml'],
    ["missing required argument 'run'", 'keys', 'disclose', '--tenant', 'acme'],
  ]
  for (const [line, ...args] of said) {
    const { stderr } = await runInProcess(args)
    assert.ok(stderr.includes(line), stderr)
  }
})

main('flags may stand before the action, and a value may begin with a dash behind an equals sign', async () => {
  const data = folder.file('early')
  const made = await runInProcess(['keys', '--data', data, '--json', 'create'])
  assert.equal([made.code, JSON.parse(made.stdout)], [0, { file: `${data}/keys.json` }])
  const tenant = await runInProcess(['token', '--data', data, '--scope', 'admin', '--sub=-dashed', '--json'])
  const { token, expires, ...goodFor } = JSON.parse(tenant.stdout)
  assert.equal(goodFor, { scopes: ['admin'], tenant: 'default', subject: '-dashed' })
  assert.is(token.split('.').length, 3)
  assert.ok(Date.parse(expires) > Date.now())
})

main('a setting of the environment that cannot be used is named by its variable', async () => {
  const { code, stderr } = await runInProcess(['serve'], { cwd, env: { COUNTERSIGN_PORT: 'many' } })
  assert.is(code, 2)
  assert.match(stderr, /COUNTERSIGN_PORT/)
})

main('version says the version, to people and to programs', async () => {
  const { code, stdout } = await runInProcess(['version'], { cwd })
  assert.is(code, 0)
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
  assert.is((await runInProcess(['--version'], { cwd })).stdout, stdout)
  assert.is(`${JSON.parse((await runInProcess(['version', '--json'])).stdout).version}\n`, stdout)
})

main.run()
