/** @module The command line behind its first module: runs a command, and turns every end into an exit code and at most one line. */
import { describeFailure, EXIT, PROVES } from './failure.ts'
import { runsInOwnProcess } from './give-way.ts'
import { runCommandLine } from './program.ts'

// A reader such as `head` that has seen enough is no error; but a verdict that nobody could read is none.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.exit(failed(error))
  process.exit(PROVES.includes(process.argv[2] ?? '') ? EXIT.unproven : EXIT.ok)
})

// What cannot be written to a closed pipe is still in the exit code.
process.stderr.on('error', () => undefined)
process.on('uncaughtException', (error) => {
  // A ledger that serves has its own last word.
  if (process.listenerCount('uncaughtException') === 1) process.exit(failed(error))
})

runsInOwnProcess()
try {
  process.exitCode = await runCommandLine(process.argv.slice(2))
} catch (error) {
  process.exitCode = failed(error)
}

/** Says why, and gives the exit code. */
function failed(error: unknown): number {
  const { message, exitCode } = describeFailure(error, process.argv[2])
  process.stderr.write(`countersign: ${message}\n`)
  return exitCode
}
