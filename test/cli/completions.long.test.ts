import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { CliCommand } from '../../src/cli/cli-command.ts'
import { offeredValues } from '../../src/cli/flag.ts'
import { createProgram } from '../../src/cli/program.ts'
import { SHELLS } from '../support/shell-completions.ts'

const test = suite('cli: completions, in the shells themselves')

const below = (command: CliCommand): readonly CliCommand[] =>
  command.commands.flatMap((each) => (each instanceof CliCommand ? [each, ...below(each)] : []))

const sorted = (texts: readonly string[]): readonly string[] => [...new Set(texts)].sort()

for (const { name, program, offered } of SHELLS) {
  if (program === undefined) console.log(`skipped: no ${name} on PATH`)
  const claim = program === undefined ? test.skip : test

  claim(
    `${name} offers every command, each command's actions and flags, and the values of each flag that has some`,
    () => {
      const root = createProgram()
      const commands = below(root)
      const names = commands.map((command) => {
        const words = command.path.split(' ')
        const beginning = words.at(-1) ?? ''
        return { words: [...words.slice(0, -1), beginning], expected: beginning }
      })
      const flags = commands.flatMap((command) =>
        command.options
          .filter(({ hidden }) => !hidden)
          .map(({ long }) => ({ words: [...command.path.split(' '), long ?? ''], expected: long ?? '' })),
      )
      const values = commands.flatMap((command) =>
        command.options
          .filter(({ hidden, required }) => !hidden && required)
          .map((option) => ({
            words: [...command.path.split(' '), option.long ?? '', ''],
            values: offeredValues(option),
          }))
          .filter((each) => each.values.length > 0),
      )
      assert.ok(names.length > 50 && flags.length > 300 && values.length > 20)
      const found = offered([...names, ...flags, ...values].map(({ words }) => words))
      const missing = [...names, ...flags].flatMap(({ words, expected }, index) =>
        found[index]?.includes(expected) ? [] : [words.join(' ')],
      )
      assert.equal(missing, [])
      for (const [index, each] of values.entries()) {
        const own = found[names.length + flags.length + index] ?? []
        assert.equal(sorted(own), sorted(each.values), `${name}: ${each.words.join(' ')}`)
      }
    },
  )
}

test.run()
