/** @module A command of the command line in this process: quicker than one of its own, where nothing but its answer is looked at. */
import { describeFailure } from '../../src/cli/failure.ts'
import { runCommandLine } from '../../src/cli/program.ts'
import type { CommandResult } from './command-line.ts'

/** One at a time: what it prints is caught. */
export async function runInProcess(
  command: string,
  args: readonly string[],
): Promise<Pick<CommandResult, 'code' | 'stdout' | 'stderr'>> {
  const output = { stdout: '', stderr: '' }
  const kept = { stdout: process.stdout.write, stderr: process.stderr.write }
  for (const name of ['stdout', 'stderr'] as const) {
    process[name].write = (text: string | Uint8Array): boolean => {
      output[name] += String(text)
      return true
    }
  }
  try {
    return { code: await runCommandLine([command, ...args]), ...output }
  } catch (error) {
    const { message, exitCode } = describeFailure(error)
    return { code: exitCode, stdout: output.stdout, stderr: `countersign: ${message}\n` }
  } finally {
    process.stdout.write = kept.stdout
    process.stderr.write = kept.stderr
  }
}
