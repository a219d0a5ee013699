#!/usr/bin/env node
/** @module The command line: runs a command, and turns every end into an exit code and at most one line. */
import { describeFailure, EXIT } from './failure.ts'
import { runCommandLine } from './program.ts'

/** Of these, exit code 1 says "tampered", or that two states differ: a breakdown of their own must not. */
const PROVES = ['verify', 'replay', 'proof', 'checkpoint', 'copy', 'projections']

// A reader such as `head` that has seen enough is no error; but a verdict that nobody could read is none.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (PROVES.includes(process.argv[2] ?? '')) process.exit(EXIT.unproven)
  process.exit(error.code === 'EPIPE' ? EXIT.ok : EXIT.failed)
})

try {
  process.exitCode = await runCommandLine(process.argv.slice(2))
} catch (error) {
  const { message, exitCode } = describeFailure(error)
  process.stderr.write(`countersign: ${message}\n`)
  process.exitCode = exitCode === EXIT.failed && PROVES.includes(process.argv[2] ?? '') ? EXIT.unproven : exitCode
}
