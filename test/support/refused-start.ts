/** @module A `serve` that must not start: it ends by itself, with one line that says why. */
import * as assert from 'uvu/assert'
import { type CommandOptions, type CommandResult, countersign } from './command-line.ts'
import { within } from './within.ts'

/** Runs `serve`, which must end by itself. */
export function serveToEnd(data: string, options: CommandOptions = {}): Promise<CommandResult> {
  return within(countersign(['serve', '--port', '0', '--data', data], options), 'the end of the start')
}

export function assertOneLine({ code, stdout, stderr }: Omit<CommandResult, 'signal'>, pattern: RegExp): void {
  assert.is(code, 1, stdout + stderr)
  const lines = stderr.trimEnd().split('\n')
  assert.is(lines.length, 1, stderr)
  assert.match(stderr, pattern)
  assert.not.match(stderr, /^\s+at /m)
  assert.not.match(stdout, /listening/)
}
