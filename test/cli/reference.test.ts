import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { completionScript } from '../../src/cli/completions.ts'
import { createProgram } from '../../src/cli/program.ts'
import { ROOT } from '../support/source-root.ts'

const test = suite('cli: the reference and the completions')

test('docs/cli.md is what the commands say now (node scripts/cli-reference.mjs)', async () => {
  const { cliReference } = await import(pathToFileURL(join(ROOT, 'scripts/cli-reference.mjs')).href)
  assert.is(readFileSync(join(ROOT, 'docs/cli.md'), 'utf8'), cliReference(createProgram()))
})

/** What bash offers behind these words; the last one is being typed. */
function offered(...words: readonly string[]): readonly string[] {
  const script = `${completionScript(createProgram(), 'bash')}
COMP_WORDS=(countersign ${words.map((word) => `'${word}'`).join(' ')})
COMP_CWORD=${words.length}
_countersign
printf '%s\\n' "\${COMPREPLY[@]}"`
  const printed = execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8' })
  return printed.trim().split('\n')
}

test('a shell is offered commands, actions, flags and values, where each may stand', () => {
  assert.equal(offered('ver'), ['verify', 'version'])
  assert.equal(offered('keys', 'r'), ['rotate'])
  assert.equal(offered('keys', 'rotate', '--to'), ['--tokens'])
  assert.equal(offered('export', '--format', 'cloud'), ['cloudevents', 'cloudevents-batch'])
  assert.equal(offered('audit', 'open-'), ['open-runs', 'open-calls', 'open-reservations', 'open-compensations'])
  assert.equal(offered('audit', 'events', '--order', ''), ['asc', 'desc'])
  assert.equal(offered('events', '--types', 'CheckpointS'), ['CheckpointSigned'])
  assert.equal(offered('serve', '--log-level', 'd'), ['debug'])
  assert.equal(offered('completions', ''), ['bash', 'zsh', 'fish'])
  assert.ok(offered('token', '--scope', 'runs:').includes('runs:read'))
  assert.equal(offered('verify', '--key', ''), [''], 'nothing of ours: files')
})

test('the scripts for every shell name every command, action and flag', () => {
  const program = createProgram()
  for (const shell of ['bash', 'zsh', 'fish']) {
    const script = completionScript(program, shell)
    for (const command of program.commands) {
      for (const each of [command, ...command.commands]) {
        assert.ok(script.includes(each.name()), `${shell} ${each.name()}`)
        for (const { long } of each.options) assert.ok(script.includes((long ?? '').slice(2)), `${shell} ${long}`)
      }
    }
  }
})

test.run()
