/** @module The command line behind its first module: runs a command, and turns every end into an exit code and at most one line. */
import { describeFailure, EXIT, FINDS } from './failure.ts'
import { runsInOwnProcess } from './give-way.ts'
import { runCommandLine } from './program.ts'

const command = process.argv[2] ?? ''
/** Set once what was printed found no room, as on a full disk: then the command has not done its work. */
let lostCode: number | undefined

// A reader such as `head` that has seen enough is no error. A command whose exit code says what it found goes on to that without its output.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  const isLeft = error.code === 'EPIPE'
  if (!FINDS.includes(command)) process.exit(isLeft ? EXIT.ok : failed(error))
  if (isLeft || lostCode !== undefined) return
  lostCode = failed(error)
  if (process.exitCode === EXIT.ok) process.exitCode = lostCode
})

// What cannot be written to a closed pipe is still in the exit code.
process.stderr.on('error', () => undefined)
process.on('uncaughtException', (error) => {
  // A ledger that serves has its own last word.
  if (process.listenerCount('uncaughtException') === 1) process.exit(failed(error))
})

runsInOwnProcess()
try {
  const exitCode = await runCommandLine(process.argv.slice(2))
  process.exitCode = exitCode === EXIT.ok ? (lostCode ?? exitCode) : exitCode
} catch (error) {
  process.exitCode = failed(error)
}

/** Says why, and gives the exit code. */
function failed(error: unknown): number {
  const { message, exitCode } = describeFailure(error, command)
  process.stderr.write(`countersign: ${message}\n`)
  return exitCode
}
