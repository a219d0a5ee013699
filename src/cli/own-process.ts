/** @module Runs a command as a process of its own: turns every outcome into an exit code and at most one line. */
import { describeFailure, EXIT, FINDS } from './failure.ts'

let hasOwnProcess = false

/** Whether this process runs one command and nothing else. */
export function isOwnProcess(): boolean {
  return hasOwnProcess
}

/** Sets the exit code of this process to that of `work`. */
export async function asOwnProcess(command: string, work: () => Promise<number>): Promise<void> {
  hasOwnProcess = true
  /** Set if the output could not be written, for example to a full disk: the command has then failed. */
  let lostCode: number | undefined
  // A closed pipe, as after `head`, is not an error. A command whose exit code is its result continues without its output.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    const isLeft = error.code === 'EPIPE'
    if (!FINDS.includes(command)) process.exit(isLeft ? EXIT.ok : failed(error, command))
    if (isLeft || lostCode !== undefined) return
    lostCode = failed(error, command)
    if (process.exitCode === EXIT.ok) process.exitCode = lostCode
  })

  // If standard error is a closed pipe, the exit code still reports the failure.
  process.stderr.on('error', () => undefined)
  process.on('uncaughtException', (error) => {
    // A ledger that serves has its own handler.
    if (process.listenerCount('uncaughtException') === 1) process.exit(failed(error, command))
  })
  try {
    const exitCode = await work()
    process.exitCode = exitCode === EXIT.ok ? (lostCode ?? exitCode) : exitCode
  } catch (error) {
    process.exitCode = failed(error, command)
  }
}

/** Prints the reason and returns the exit code. */
function failed(error: unknown, command: string): number {
  const { message, exitCode } = describeFailure(error, command)
  process.stderr.write(`countersign: ${message}\n`)
  return exitCode
}
