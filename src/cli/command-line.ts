/** @module The command line after the version check in `main.ts`. A hook is run without the other commands where its arguments are plain. */
import { asOwnProcess } from './own-process.ts'
import { quickHook } from './quick-hook.ts'

const [command = '', ...rest] = process.argv.slice(2)
const hookArguments = command === 'hook' ? quickHook(rest, process.env) : undefined

await asOwnProcess(command, async () => {
  if (hookArguments !== undefined) return (await import('./hook.ts')).hook(hookArguments)
  return (await import('./program.ts')).runCommandLine(process.argv.slice(2))
})
