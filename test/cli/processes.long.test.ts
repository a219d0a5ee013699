import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { countersign } from '../support/command-line.ts'
import { foundLedger, runInProcess } from '../support/in-process-command.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: commands in a process of their own')

const TRANSCRIPT = JSON.stringify({
  id: 'chat-1',
  messages: [
    { role: 'user', content: 'hello' },
    { role: 'assistant', content: 'hello' },
  ],
})

/** Neither the rate nor the time that a command took is the same twice. */
const settled = (text: string): string => text.replace(/\([\d,.]+ (?:events\/s|s)\)|"elapsedMs":[\d.]+/g, '')

const COMMANDS: readonly (readonly string[])[] = [
  ['verify'],
  ['verify', '--json', '--data', 'nowhere'],
  ['verify', 'no-such-store'],
  ['replay', 'chat-1'],
  ['replay', 'nobody', '--json'],
  ['runs', 'list'],
  ['runs', 'show', 'chat-1', '--json'],
  ['audit', 'events', '--json'],
  ['tail', '--lines', '2'],
  ['report'],
  ['keys', 'list'],
  ['checkpoint', '--key'],
  ['proof', 'no-such-event'],
  ['store', 'check'],
  ['token', '--scope', 'runs:fly'],
  ['export', '--run', 'nobody'],
  ['import', '-', '--format', 'openai'],
  ['validate'],
  ['completions', 'bash'],
  ['help', 'verify'],
  ['version', '--json'],
]

test('each command says and ends the same in a process of its own as where the quick suites run it', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  await foundLedger(cwd)
  const filled = await countersign(['import', '-', '--format', 'openai'], { cwd, stdin: TRANSCRIPT })
  assert.is(filled.code, 0, filled.stderr)
  for (const args of COMMANDS) {
    const options = { cwd, stdin: args[0] === 'import' ? TRANSCRIPT : '{"before":{},"after":{}}\n' }
    const { code, stdout, stderr } = await countersign(args, options)
    const here = await runInProcess(args, options)
    assert.equal(
      [here.code, settled(here.stdout), settled(here.stderr)],
      [code, settled(stdout), settled(stderr)],
      args.join(' '),
    )
  }
})

test.run()
