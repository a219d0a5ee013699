import { readdirSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ANNOUNCED } from '../../schemas/events.ts'
import { CliCommand } from '../../src/cli/cli-command.ts'
import { offeredValues } from '../../src/cli/flag.ts'
import { createProgram } from '../../src/cli/program.ts'
import { QUICK_FLAGS, quickHook } from '../../src/cli/quick-hook.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: every command, by the table of the program itself')

const below = (command: CliCommand): readonly CliCommand[] =>
  command.commands.flatMap((each) => (each instanceof CliCommand ? [each, ...below(each)] : []))

const COMMANDS = below(createProgram())

function helpOf(command: CliCommand, columns: number): string {
  const parts: string[] = []
  command.configureOutput({ writeOut: (part) => parts.push(part), getOutHelpWidth: () => columns })
  command.outputHelp()
  return parts.join('')
}

const words = (text: string): string => text.replaceAll(/\s+/g, ' ')

test('a hook whose flags are plain is read without the table, as the table reads it, and everything else by the table (A530)', () => {
  const table = COMMANDS.find(({ path }) => path === 'hook')
  const settings = ['data', 'tenant']
  const flags = (table?.options ?? []).flatMap(({ long, required }) => (required && long ? [long.slice(2)] : []))
  const missing = flags.filter((flag) => !(QUICK_FLAGS as readonly string[]).includes(flag))
  assert.equal(
    QUICK_FLAGS.filter((flag) => !flags.includes(flag)),
    [],
  )
  assert.ok(
    settings.every((flag) => missing.includes(flag)),
    'the store and its settings take the whole command line',
  )
  const url = ['--url', 'http://127.0.0.1:7070']
  const quick = quickHook([...url, '--within', '5'], { COUNTERSIGN_TOKEN: 't' })
  assert.equal([quick?.text('url'), quick?.text('within'), quick?.text('run')], [url[1], '5', undefined])
  for (const words of [
    [],
    ['--within', '5'],
    [...url, ...url],
    [...url, '--wihtin', '5'],
    [...url, '--within'],
    [...url, '--run', '--agent'],
    [...url, '--data', 'd'],
    [...url, '--help'],
    [...url, '--when-ledger-is-away', 'perhaps'],
    ['--url=http://127.0.0.1:7070'],
  ])
    assert.is(quickHook(words, {}), undefined, words.join(' '))
  assert.is(quickHook(url, { COUNTERSIGN_TOKN: 't' }), undefined, 'a variable that is no setting is refused by name')
})

test('the help of every command fits 80 and 60 columns, says what each flag and argument is, and glues no two words together', () => {
  assert.ok(COMMANDS.length > 50)
  for (const columns of [80, 60]) {
    for (const command of [createProgram(), ...COMMANDS]) {
      const help = helpOf(command, columns)
      // An address and the form of a call are not broken: nobody could copy them.
      const wide = help.split('\n').filter((line) => line.length > columns && !/^Usage: |^ *https?:\S+$/.test(line))
      assert.equal(wide, [], `${command.path} at ${columns}`)
      const said = words(help)
      assert.ok(command.description() !== '' && said.includes(words(command.description())), command.path)
      for (const option of command.options.filter(({ hidden }) => !hidden)) {
        assert.ok(option.description !== '', `${command.path} ${option.flags}`)
        // Flag and text are apart, and the text stands there whole whatever its lines.
        assert.ok(said.includes(`${option.flags} ${words(option.description)}`), `${command.path} ${option.flags}`)
      }
      for (const argument of command.registeredArguments)
        assert.ok(
          argument.description !== '' && said.includes(words(argument.description)),
          `${command.path} ${argument.name()}`,
        )
    }
  }
})

/** What prints nothing that a program would read, or JSON and nothing else. */
const WITHOUT_JSON = ['hook', 'mcp', 'serve', 'tour', 'validate', 'completions', 'help']

test('every command that answers takes --json; the few that do not are named', () => {
  const without = COMMANDS.filter(
    ({ isRunnable, options }) => isRunnable && !options.some(({ long }) => long === '--json'),
  )
  assert.equal(without.map(({ path }) => path).sort(), [...WITHOUT_JSON].sort())
})

test('a flag that is not known ends every command with 2 and one line that names its help, and nothing was done', async () => {
  using folder = tempFolder()
  for (const { path, isRunnable } of COMMANDS) {
    if (!isRunnable) continue
    const { code, stdout, stderr } = await runInProcess([...path.split(' '), '--no-such-flag'], { cwd: folder.path })
    assert.is(code, 2, `${path}: ${stderr}`)
    assert.is(stdout, '', path)
    assert.match(stderr, /^countersign: [^\n]*no-such-flag[^\n]*\(countersign help [^\n]+ says more\)\n$/, path)
  }
  assert.equal(readdirSync(folder.path), [])
})

test('--help behind every command, and help before it, print the same help and end with 0', async () => {
  for (const command of COMMANDS) {
    const [behind, before] = [
      await runInProcess([...command.path.split(' '), '--help']),
      await runInProcess(['help', ...command.path.split(' ')]),
    ]
    assert.equal([behind.code, before.code, behind.stderr, before.stderr], [0, 0, '', ''], command.path)
    assert.is(behind.stdout, before.stdout, command.path)
    assert.match(behind.stdout, /^Usage: countersign /, command.path)
  }
})

test('a setting that takes names out of a list offers them to the shell', () => {
  const serve = COMMANDS.find(({ path }) => path === 'serve')
  const option = serve?.options.find(({ long }) => long === '--webhook-events')
  assert.ok(option !== undefined)
  assert.equal(offeredValues(option), ANNOUNCED)
})

test('every exit code that a command can end with is explained in the general help', async () => {
  const { EXIT } = await import('../../src/cli/failure.ts')
  const [, explained = ''] = words(helpOf(createProgram(), 80)).split('Exit code:')
  for (const code of new Set(Object.values(EXIT)))
    assert.match(explained, new RegExp(`(^| )${code} [a-z]`), String(code))
})

test.run()
